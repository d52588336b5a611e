import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";

/** What happens to the requests it matches instead of plain forwarding. */
export interface Fault {
  /** Method and path, `POST /files`; a `:word` stands for any one path segment, and the query is not looked at. */
  readonly on: string;
  /** How many matching requests it meets; afterwards it is spent. */
  readonly times: number;
  readonly act:
    | {
        readonly kind: "answer";
        readonly status: number;
        readonly headers?: Record<string, string>;
        readonly body: unknown;
      }
    /** The connection breaks before the service has seen the request. */
    | { readonly kind: "reset" }
    /** The service carries the request out, and the connection breaks before the answer. */
    | { readonly kind: "reset-after" }
    | { readonly kind: "rewrite"; readonly rewrite: (body: Record<string, unknown>) => unknown | Promise<unknown> };
}

export interface FaultProxy {
  readonly url: string;
  /** `METHOD /path?query` of everything that arrived, in order. */
  readonly log: string[];
  readonly headers: IncomingMessage["headers"][];
  /** The largest number of requests that were open together. */
  mostAtOnce(): number;
  inject(...faults: Fault[]): void;
  /** No more faults than those injected from now on. */
  calm(): void;
  close(): Promise<void>;
}

/** A real HTTP server between client and service that breaks what it is told to break. */
export async function startFaultProxy(upstream?: string): Promise<FaultProxy> {
  const faults: { fault: Fault; left: number }[] = [];
  const log: string[] = [];
  const headers: IncomingMessage["headers"][] = [];

  async function handle(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    log.push(`${incoming.method} ${incoming.url}`);
    headers.push(incoming.headers);
    const path = (incoming.url ?? "").split("?")[0] ?? "";
    const found = faults.find(({ fault, left }) => left > 0 && matches(fault.on, incoming.method ?? "", path));
    if (found) found.left--;
    const act = found?.fault.act;
    if (act?.kind === "reset") {
      incoming.once("data", () => incoming.socket.destroy());
      incoming.once("end", () => incoming.socket.destroy());
      incoming.resume();
      return;
    }
    if (act?.kind === "answer") {
      await buffer(incoming);
      return send(outgoing, act.status, act.headers ?? {}, act.body);
    }
    if (!upstream)
      return send(outgoing, 404, {}, { error: { message: "Nothing here.", type: "x", param: null, code: null } });
    const answer = await forward(upstream, incoming);
    if (act?.kind === "reset-after") {
      incoming.socket.destroy();
      return;
    }
    const rewritten = act ? JSON.stringify(await act.rewrite(JSON.parse(answer.body.toString("utf8")))) : answer.body;
    const { "content-length": _length, "transfer-encoding": _encoding, ...kept } = answer.headers;
    outgoing.writeHead(answer.status, kept).end(rewritten);
  }

  let open = 0;
  let most = 0;
  const server = createServer((incoming, outgoing) => {
    most = Math.max(most, ++open);
    outgoing.once("close", () => open--);
    handle(incoming, outgoing).catch((error: unknown) => outgoing.destroy(error as Error));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    log,
    headers,
    mostAtOnce: () => most,
    inject: (...more) => faults.push(...more.map((fault) => ({ fault, left: fault.times }))),
    calm: () => {
      faults.length = 0;
    },
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

function matches(pattern: string, method: string, path: string): boolean {
  const [wantedMethod, wantedPath = ""] = pattern.split(" ");
  const wanted = wantedPath.split("/");
  const given = path.replace(/^\/v1/, "").split("/");
  return (
    wantedMethod === method &&
    wanted.length === given.length &&
    wanted.every((w, i) => w.startsWith(":") || w === given[i])
  );
}

function send(outgoing: ServerResponse, status: number, headers: Record<string, string>, body: unknown): void {
  const isText = typeof body === "string";
  outgoing.writeHead(status, { "content-type": isText ? "text/html" : "application/json", ...headers });
  outgoing.end(isText ? body : JSON.stringify(body));
}

async function forward(upstream: string, incoming: IncomingMessage) {
  const { host: _host, ...headers } = incoming.headers;
  const outgoing = request(new URL(incoming.url ?? "/", upstream), { method: incoming.method ?? "GET", headers });
  incoming.pipe(outgoing);
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    outgoing.once("response", resolve).once("error", reject);
  });
  return { status: response.statusCode ?? 500, headers: response.headers, body: await buffer(response) };
}

/** An error body as the service sends it. */
export function errorBody(message: string, code: string | null = null, type = "invalid_request_error"): unknown {
  return { error: { message, type, param: null, code } };
}
