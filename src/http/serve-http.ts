import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createAdaptorServer } from "@hono/node-server";
import type { App } from "../app/app.ts";
import { BadInputError, explain } from "../contracts/errors.ts";
import { createHttpApp, type HttpOptions } from "./http-app.ts";

const CLOSE_GRACE_MS = 1000;

export interface ServeOptions extends HttpOptions {
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
}

export interface RunningServer {
  readonly url: string;
  /** Stops listening and, after a moment of grace, ends open connections. Jobs are not touched: closing the app ends those. */
  close(): Promise<void>;
}

/** Whether an address that others can reach is allowed was settled when the configuration was read. */
export async function serveHttp(app: App, options: ServeOptions): Promise<RunningServer> {
  const { host, port } = options;
  const http = createHttpApp(app, { ...options, hosts: [host, ...(options.hosts ?? [])] });
  const server = createAdaptorServer({ fetch: http.fetch, overrideGlobalObjects: false }) as Server;
  await listen(server, host, port);
  const address = server.address() as AddressInfo;
  const name = host.includes(":") ? `[${host.replace(/^\[|\]$/g, "")}]` : host;
  return { url: `http://${name}:${address.port}`, close: () => close(server) };
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (error) => {
      reject(new BadInputError(`Listen on ${host}:${port}: ${explain(error)}`, { cause: error }));
    });
    server.listen({ host: host.replace(/^\[|\]$/g, ""), port }, resolve);
  });
}

/** Streams that have just been told their end get the moment it takes to send it. */
function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    const cut = setTimeout(() => server.closeAllConnections(), CLOSE_GRACE_MS);
    server.close(() => {
      clearTimeout(cut);
      resolve();
    });
    server.closeIdleConnections();
  });
}
