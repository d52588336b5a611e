import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { createEmbeddedBackend } from "../../src/backends/embedded/embedded-backend.ts";
import { createExtractor } from "../../src/extract/extractor.ts";
import { createNgramEmbedder } from "../../src/index/embed/ngram-embedder.ts";

export interface WireService {
  readonly url: string;
  close(): Promise<void>;
}

/** The embedded backend behind a real port: a service that speaks the wire protocol and really searches. */
export async function startWireService(folder: string): Promise<WireService> {
  const backend = createEmbeddedBackend({ folder, extractor: createExtractor(), embedder: createNgramEmbedder() });
  const listener = getRequestListener((request) => backend.wire(request));
  const server = createServer((incoming, outgoing) => void listener(incoming, outgoing));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await backend.close();
    },
  };
}
