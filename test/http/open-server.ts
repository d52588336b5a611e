import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import OpenAI from "openai";
import type { App } from "../../src/app/app.ts";
import { type ComposePace, compose } from "../../src/app/compose.ts";
import { readConfig } from "../../src/app/config.ts";
import { serveHttp } from "../../src/http/serve-http.ts";

/** The product as it is, behind a real port, with a storage folder of its own. */
export interface OpenServer {
  readonly app: App;
  readonly url: string;
  /** The official client, as an application would use it. */
  readonly client: OpenAI;
  close(): Promise<void>;
}

export async function openServer(
  settings: Readonly<Record<string, string>> = {},
  pace: ComposePace = {},
): Promise<OpenServer> {
  const folder = await mkdtemp(join(tmpdir(), "lockstep-server-"));
  const app = await compose(readConfig({ PERSISTENT_STORAGE_PATH: folder, ...settings }), {
    searchesHere: true,
    ...pace,
  });
  const server = await serveHttp(app, { host: "127.0.0.1", port: 0, log: () => undefined });
  return {
    app,
    url: server.url,
    client: new OpenAI({ baseURL: `${server.url}/openai/v1`, apiKey: "any", maxRetries: 0 }),
    async close() {
      await server.close();
      await app.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** A server that passes everything on to another one. */
export function openProxyTo({ url }: Pick<OpenServer, "url">): Promise<OpenServer> {
  const service = { OPENAI_SERVICE_TYPE: "openai", OPENAI_API_KEY: "sk-between", OPENAI_BASE_URL: `${url}/openai/v1` };
  return openServer(service);
}
