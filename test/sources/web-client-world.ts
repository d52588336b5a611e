import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo, Server as NetServer } from "node:net";
import type { WebClient, WebRequest, WebResponse, WebResult } from "../../src/contracts/web.ts";
import { createWebClient, type WebClientOptions } from "../../src/sources/web/web-client.ts";

export const forever = new AbortController().signal;

const opened: (() => unknown)[] = [];

/** For `after` of each file: what was opened here since the last time. */
export async function closeOpened(): Promise<void> {
  for (const close of opened.splice(0)) await close();
}

const IMPATIENT: WebClientOptions = {
  userAgent: "lockstep/0 (+https://example.com/bot)",
  allowPrivateNetworks: true,
  requestsPerHost: 8,
  hostDelayMs: 0,
  timeoutMs: 120_000,
  restMs: 0,
};

/** May ask this machine, and takes no rests. Closed, like the servers, by `closeOpened`. */
export function openClient(options: Partial<WebClientOptions> = {}): WebClient {
  const client = createWebClient({ ...IMPATIENT, ...options });
  opened.push(() => client.close());
  return client;
}

export function get(url: string, more: Partial<WebRequest> = {}): WebRequest {
  return { url, method: "GET", maxBytes: 1_000_000, signal: forever, ...more };
}

export interface TestSite {
  /** `http://127.0.0.1:<port>` */
  readonly origin: string;
  readonly port: number;
  /** Paths asked for, in their order. */
  readonly asked: string[];
  connections(): number;
}

/** `listener` answers all but robots.txt, for which there is none unless `robots` answers. */
export async function startSite(listener: RequestListener, robots?: RequestListener): Promise<TestSite> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? "");
    const isRobots = request.url === "/robots.txt";
    if (!isRobots) return listener(request, response);
    return robots ? robots(request, response) : response.writeHead(404).end();
  });
  let connections = 0;
  server.on("connection", () => {
    connections += 1;
  });
  return { ...(await listenOn(server)), asked, connections: () => connections };
}

export async function listenOn(server: Server | NetServer): Promise<{ origin: string; port: number }> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  opened.push(() => {
    if ("closeAllConnections" in server) server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { origin: `http://127.0.0.1:${port}`, port };
}

export function asResponse(answer: WebResult): WebResponse {
  if (answer.kind !== "response") assert.fail(answer.reason);
  return answer;
}
