import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import type { OpenAiOptions } from "../../src/backends/openai/connection.ts";
import { createProxy, type ProxyLimits } from "../../src/backends/openai/proxy.ts";
import { type Served, serveScripted } from "./scripted-app.ts";

export const SERVICE_KEY = "sk-of-the-server";

export interface Seen {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A service that does what the test says, behind a real port. */
export interface ScriptedService {
  readonly url: string;
  /** What arrived, unless `answer` took the request itself. */
  readonly seen: Seen[];
  /** Takes the place of the plain answer: 200 and an empty object. */
  answer: ((incoming: IncomingMessage, outgoing: ServerResponse) => void | Promise<void>) | undefined;
  close(): Promise<void>;
}

export async function startScriptedService(): Promise<ScriptedService> {
  const seen: Seen[] = [];
  const server = createServer(async (incoming, outgoing) => {
    if (service.answer) return service.answer(incoming, outgoing);
    const { method = "", url = "", headers } = incoming;
    seen.push({ method, url, headers, body: (await buffer(incoming)).toString("utf8") });
    outgoing.writeHead(200, { "content-type": "application/json" }).end("{}");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const service: ScriptedService = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    answer: undefined,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
  return service;
}

/** The server of the product, with a service behind it. */
export interface ProxiedServer extends Served {
  readonly service: ScriptedService;
  /** The same server, as if it were set up for another service. */
  point(options: Partial<OpenAiOptions>, limits?: ProxyLimits): void;
}

export async function serveProxied(): Promise<ProxiedServer> {
  const service = await startScriptedService();
  const served = await serveScripted();
  const opened: { close(): Promise<void> }[] = [];
  const point: ProxiedServer["point"] = (options, limits) => {
    const proxy = createProxy(
      { kind: "openai", apiKey: SERVICE_KEY, baseUrl: `${service.url}/v1`, ...options },
      limits,
    );
    opened.push(proxy);
    served.script.wire = (one, call) => proxy.forward(one, call?.tell);
  };
  point({});
  return {
    ...served,
    service,
    point,
    async close() {
      await served.close();
      for (const proxy of opened) await proxy.close();
      await service.close();
    },
  };
}

/** As it is written, without a client that would tidy up the path or the headers first. */
export async function sendRaw(
  server: string,
  path: string,
  {
    method = "GET",
    headers = {},
    body = "",
  }: { method?: string; headers?: Record<string, string>; body?: string } = {},
): Promise<{ status: number; headers: IncomingHttpHeaders; text: string }> {
  const { hostname, port } = new URL(server);
  const sent = request({ hostname, port, path, method, headers });
  sent.end(body);
  const [answer] = (await once(sent, "response")) as [IncomingMessage];
  const text = (await buffer(answer)).toString("utf8");
  return { status: answer.statusCode ?? 0, headers: answer.headers, text };
}
