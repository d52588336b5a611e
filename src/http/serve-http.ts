import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import type { App } from "../app/app.ts";
import { BadInputError, explain } from "../contracts/errors.ts";
import { isErrno } from "../lib/atomic-file.ts";
import { countRepeats } from "../lib/count-repeats.ts";
import { isLoopbackHost } from "../lib/loopback.ts";
import { createHttpApp, type HttpOptions } from "./http-app.ts";
import {
  answerUnreadable,
  endSlowBodies,
  REQUEST_TIMEOUTS,
  type RequestTimeouts,
} from "./middleware/request-timeouts.ts";

const CLOSE_GRACE_MS = 1000;
/** The same failure is logged this often. */
const LOG_AGAIN_MS = 60_000;
const MAX_HEADER_BYTES = 16 * 1024;
const IN_USE = "it is in use by another process. Choose another PORT, or 0 for any free one, or end that process.";

export interface ServeOptions extends HttpOptions {
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  readonly timeouts?: RequestTimeouts;
}

export interface RunningServer {
  readonly url: string;
  /** Stops listening and, after a grace period, ends open connections. Closing the app ends the jobs, not this. */
  close(): Promise<void>;
}

/** Starts the server. BadInputError if it can be reached from the network without any authentication. */
export async function serveHttp(app: App, options: ServeOptions): Promise<RunningServer> {
  const { host, port } = options;
  await refuseWithoutAuthentication(app, host);
  const hosts = [host, ...app.config.access.allowedHosts, ...(options.hosts ?? [])];
  const write = options.log ?? ((line: string) => void process.stderr.write(`${line}\n`));
  const log = countRepeats(write, { everyMs: LOG_AGAIN_MS });
  const closing = new AbortController();
  const http = createHttpApp(app, { ...options, hosts, log: log.say, closing: closing.signal });
  const server = createHttpServer(http.fetch, options.timeouts ?? REQUEST_TIMEOUTS);
  await listen(server, host, port);
  const address = server.address() as AddressInfo;
  const name = host.includes(":") ? `[${host.replace(/^\[|\]$/g, "")}]` : host;
  return {
    url: `http://${name}:${address.port}`,
    close() {
      closing.abort();
      return close(server).finally(log.end);
    },
  };
}

async function refuseWithoutAuthentication({ access, config }: App, host: string): Promise<void> {
  if (config.access.withoutKeys !== "nobody" || (await access.hasWayIn())) return;
  throw new BadInputError(
    `Others can reach this server (${whereby(config, host)}), and there is no authentication yet. Make a key with 'lockstep keys add NAME --role admin', ` +
      "set ADMIN_API_KEY, or set ENTRA_TENANT_ID and ENTRA_AUDIENCE. Otherwise use 127.0.0.1 without ALLOWED_HOSTS and BEHIND_PROXY, or set " +
      "ALLOW_UNAUTHENTICATED_NETWORK_ACCESS=true if something in front of the server keeps strangers out.",
  );
}

function whereby({ access, host: configured }: App["config"], host: string): string {
  const open = [host, configured].find((name) => !isLoopbackHost(name));
  if (open !== undefined) return `HOST is ${open}`;
  return access.behindProxy ? "BEHIND_PROXY is true" : `ALLOWED_HOSTS is ${access.allowedHosts.join(",")}`;
}

function createHttpServer(fetch: Parameters<typeof getRequestListener>[0], timeouts: RequestTimeouts): Server {
  const listener = getRequestListener(fetch, {
    overrideGlobalObjects: false,
    // Only for an invalid address or Host header: the app answers everything else.
    errorHandler: () =>
      Response.json({ ok: false, error: "The address or the Host header is not valid.", data: {} }, { status: 400 }),
  });
  const server = createServer(
    {
      maxHeaderSize: MAX_HEADER_BYTES,
      headersTimeout: timeouts.headersMs,
      connectionsCheckingInterval: Math.min(timeouts.headersMs, 5000),
      requestTimeout: 0,
      // Node would answer with an empty 400.
      requireHostHeader: false,
    },
    listener,
  );
  endSlowBodies(server, timeouts);
  answerUnreadable(server);
  return server;
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (error) => {
      const reason = isErrno(error, "EADDRINUSE") ? IN_USE : explain(error);
      reject(new BadInputError(`Listen on ${host}:${port}: ${reason}`, { cause: error }));
    });
    server.listen({ host: host.replace(/^\[|\]$/g, ""), port }, resolve);
  });
}

/** Gives streams that were just ended time to send their last event. */
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
