import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { getRequestListener } from "@hono/node-server";
import { createExtractor } from "../../src/extract/extractor.ts";
import { createNgramEmbedder } from "../../src/index/embedding/ngram-embedder.ts";
import { createFixedModel } from "../../src/index/embedding/vector-model.ts";
import { openSqliteStores } from "../../src/index/sqlite/open-sqlite-stores.ts";
import { createFaults, type Faults } from "./faults/faults.ts";
import { createFaultyBackend } from "./faults/faulty-backend.ts";
import { isDropped } from "./faults/with-faults.ts";

export interface WireService {
  readonly url: string;
  /** What it does besides what it promises. */
  readonly faults: Faults;
  close(): Promise<void>;
}

/** What a search over files takes at OpenAI and Azure OpenAI. */
const FILE_TYPES = ".c .cs .cpp .css .doc .docx .html .java .js .json .md .pdf .php .pptx .py .rb .sh .tex .ts .txt";

/** The embedded backend behind a real port: a service that speaks the wire protocol and really searches. */
export async function startWireService(folder: string, { azure = false } = {}): Promise<WireService> {
  const faults = createFaults();
  const parts = {
    provider: openSqliteStores(join(folder, "index"), { model: createFixedModel(createNgramEmbedder()) }),
    folder: join(folder, "files"),
    extractor: createExtractor(),
    embedder: async () => createNgramEmbedder(),
  };
  const backend = await createFaultyBackend(parts, faults, { fileTypes: new Set(FILE_TYPES.split(" ")) });
  const answer = azure ? asAzure(backend.wire) : backend.wire;
  const listener = getRequestListener(async (request, { incoming }) => {
    const response = await answer(request);
    if (isDropped(response)) incoming.socket.destroy();
    return response;
  });
  const server = createServer((incoming, outgoing) => void listener(incoming, outgoing));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    faults,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await backend.close();
    },
  };
}

/** Below `/openai`, with the key in a header of its own, files called `assistant-…`, and batches only of ids. */
function asAzure(wire: (request: Request) => Promise<Response>) {
  return async (request: Request): Promise<Response> => {
    if (!request.headers.has("api-key") || request.headers.has("authorization")) return refuse(401, "Access denied.");
    const path = request.url.replace("/openai/", "/").replaceAll("assistant-", "file-");
    const isJson = request.headers.get("content-type")?.includes("json") ?? false;
    const text = isJson ? (await request.text()).replaceAll("assistant-", "file-") : undefined;
    if (path.includes("/file_batches") && text?.includes('"files"')) return refuse(400, "Unknown parameter: 'files'.");
    const { method, headers, body } = request;
    const content = isJson ? { body: text ?? "" } : body ? { body, duplex: "half" } : {};
    const response = await wire(new Request(path, { method, headers, ...content } as RequestInit));
    const renamed = (await response.text()).replaceAll('"file-', '"assistant-');
    return new Response(renamed, { status: response.status, headers: { "content-type": "application/json" } });
  };
}

function refuse(status: number, message: string): Response {
  return Response.json({ error: { code: String(status), message } }, { status });
}
