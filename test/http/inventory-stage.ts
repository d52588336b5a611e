import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import OpenAI, { toFile } from "openai";
import type { App } from "../../src/app/app.ts";
import { compose } from "../../src/app/compose.ts";
import { readConfig } from "../../src/app/config.ts";
import { parseDomainId } from "../../src/contracts/ids.ts";
import { serveHttp } from "../../src/http/serve-http.ts";
import { parseDomain } from "../kinds.ts";
import { type AskInit, ask, type Reading, type Reply } from "./ask.ts";

export interface InventoryReply extends Reply {
  readonly json: Reading & { readonly data: Reading };
}

/** The product with its server, and nothing in it. */
export interface InventoryStage {
  readonly app: App;
  readonly url: string;
  readonly folder: string;
  /** What the server said of unexpected errors. */
  readonly logged: readonly string[];
  /** Over `/openai/v1` of this server. */
  readonly client: OpenAI;
  /** `await stage.ask("GET files?format=json")`, below `/v2/inventory/`. */
  ask(what: string, init?: AskInit): Promise<InventoryReply>;
  upload(name: string, text?: string): Promise<string>;
  /** A vector store with these files, embedded. */
  store(name: string, fileIds?: readonly string[]): Promise<string>;
  /** The ids that the store holds, sorted. */
  held(storeId: string): Promise<string[]>;
  useInDomain(storeId: string): Promise<void>;
  close(): Promise<void>;
}

export async function openInventoryStage(settings: Readonly<Record<string, string>> = {}): Promise<InventoryStage> {
  const folder = await mkdtemp(join(tmpdir(), "lockstep-inventory-"));
  const logged: string[] = [];
  const app = await compose(readConfig({ PERSISTENT_STORAGE_PATH: folder, ...settings }), { searchesHere: true });
  const server = await serveHttp(app, { host: "127.0.0.1", port: 0, log: (line) => logged.push(line) });
  const client = new OpenAI({ baseURL: `${server.url}/openai/v1`, apiKey: "any", maxRetries: 0 });
  return {
    app,
    url: server.url,
    folder,
    logged,
    client,
    ask: (what, init) => ask(server.url, what.replace(" ", " /v2/inventory/"), init) as Promise<InventoryReply>,
    async upload(name, text = `What ${name} says.`) {
      const file = await toFile(Buffer.from(text), name);
      return (await client.files.create({ file, purpose: "assistants" })).id;
    },
    async store(name, fileIds = []) {
      const { id } = await client.vectorStores.create({ name });
      if (fileIds.length > 0) await client.vectorStores.fileBatches.createAndPoll(id, { file_ids: [...fileIds] });
      return id;
    },
    async held(storeId) {
      const ids: string[] = [];
      for await (const file of client.vectorStores.files.list(storeId, { limit: 100 })) ids.push(file.id);
      return ids.sort();
    },
    async useInDomain(storeId) {
      const json = { name: "Handbook", description: "", vector_store_name: "", vector_store_id: storeId };
      await app.domains.create(parseDomain(json, parseDomainId("HANDBOOK")));
    },
    async close() {
      await app.close();
      await server.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** A server whose backend is another one, over the proxy. */
export async function openRemoteStage(backend: InventoryStage): Promise<InventoryStage> {
  return openInventoryStage({
    OPENAI_SERVICE_TYPE: "openai",
    OPENAI_BASE_URL: `${backend.url}/openai/v1`,
    OPENAI_API_KEY: "sk-proj-topsecret0123456789",
  });
}
