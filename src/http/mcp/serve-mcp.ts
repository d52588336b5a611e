import type { AuthInfo, JSONRPCMessage, McpServerFactory, Server, Transport } from "@modelcontextprotocol/server";
import { createMcpHandler, readRequestBody } from "@modelcontextprotocol/server";
import { StdioServerTransport, serveStdio } from "@modelcontextprotocol/server/stdio";
import type { App } from "../../app/app.ts";
import { ownerOf } from "../../contracts/access.ts";
import { explain } from "../../contracts/errors.ts";
import { isJsonObject } from "../../lib/json-object.ts";
import { logLine } from "../../lib/text.ts";
import { RefusedError } from "../routing/failure.ts";
import { createDocumentChanges } from "./document-changes.ts";
import { createMcpServer, MAX_SUBSCRIPTIONS, type Notices } from "./mcp-server.ts";
import type { Caller, McpFace } from "./mount-mcp.ts";

/** As for other requests that upload nothing. */
const MAX_BODY_BYTES = 1024 * 1024;
/** Open subscriptions. */
const MAX_STREAMS = { ofOne: 16, ofAll: 1024 };

/** The handler has the subscriptions: each is a stream of its own. */
const STREAMED: Notices = { subscriptions: new Set(), catchUp: async () => undefined };

interface ServeOptions {
  readonly logError: (about: string, error: unknown) => void;
  readonly pollEveryMs?: number | undefined;
}

/** The protocol over HTTP. No sessions are kept: each request has a server of its own. */
export function createMcpFace(app: App, { logError, pollEveryMs }: ServeOptions): McpFace {
  const factory: McpServerFactory = ({ era, authInfo }) =>
    createMcpServer(app, {
      call: callerIn(authInfo),
      // A client of 2025 would wait for notices on a stream that its requests do not have.
      notices: era === "modern" ? STREAMED : "none",
      logError,
    });
  const handler = createMcpHandler(factory, {
    maxRequestBodySize: MAX_BODY_BYTES,
    maxSubscriptions: MAX_STREAMS.ofAll,
  });
  const listener = {
    listChanged: () => handler.notify.resourcesChanged(),
    updated: (uri: string) => handler.notify.resourceUpdated(uri),
  };
  const changes = createDocumentChanges(app, listener, { logError, everyMs: pollEveryMs });
  const streams = new Map<string, number>();

  /** Opens the stream of a subscription: changes are noticed from before its acknowledgement until it ends. */
  async function listen(request: Request, owner: string, authInfo: AuthInfo): Promise<Response> {
    const open = streams.get(owner) ?? 0;
    if (open >= MAX_STREAMS.ofOne) {
      throw new RefusedError(429, `Too many subscriptions: ${MAX_STREAMS.ofOne} are open for this key. End one first.`);
    }
    const uris = await readUris(request.clone());
    streams.set(owner, open + 1);
    const listening = await changes.listen(uris);
    const end = once(() => {
      listening.stop();
      const left = (streams.get(owner) ?? 1) - 1;
      if (left > 0) streams.set(owner, left);
      else streams.delete(owner);
    });
    try {
      const response = await handler.fetch(request, { authInfo });
      if (response.body && isEventStream(response)) return new Response(untilOver(response.body, end), response);
      end();
      return response;
    } catch (error) {
      end();
      throw error;
    }
  }

  return {
    async fetch(request, by) {
      const owner = ownerOf(by.principal);
      const authInfo: AuthInfo = { token: "", clientId: owner, scopes: [], extra: { by } };
      // The handler refuses a request whose header names another method than its body.
      const isListen = request.headers.get("mcp-method") === "subscriptions/listen";
      return isListen ? listen(request, owner, authInfo) : handler.fetch(request, { authInfo });
    },
    close: () => handler.close(),
  };
}

/** The handler passes on what `fetch` gave it. */
function callerIn(authInfo: AuthInfo | undefined): Caller {
  const by = authInfo?.extra?.["by"];
  if (by === undefined) throw new Error("serve MCP: nobody was admitted");
  return by as Caller;
}

/** Returns the documents that a subscription is about. What is wrong with the request, the handler says. */
async function readUris(request: Request): Promise<ReadonlySet<string>> {
  const body = await readRequestBody(request, MAX_BODY_BYTES);
  return body.tooLarge ? new Set() : subscribedIn(parsed(body.text));
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Throws RefusedError if there are too many. */
function subscribedIn(message: unknown): ReadonlySet<string> {
  const params = isJsonObject(message) ? message["params"] : undefined;
  const wanted = isJsonObject(params) ? params["notifications"] : undefined;
  const uris = isJsonObject(wanted) ? wanted["resourceSubscriptions"] : undefined;
  const found = new Set((Array.isArray(uris) ? uris : []).filter((uri) => typeof uri === "string"));
  if (found.size <= MAX_SUBSCRIPTIONS) return found;
  throw new RefusedError(413, `A subscription may ask about ${MAX_SUBSCRIPTIONS} documents at most.`);
}

function isEventStream({ headers }: Response): boolean {
  return headers.get("content-type")?.startsWith("text/event-stream") ?? false;
}

function once(work: () => void): () => void {
  let isDone = false;
  return () => {
    if (isDone) return;
    isDone = true;
    work();
  };
}

/** Passes a stream on; calls `end` when either side has ended it. */
function untilOver(body: ReadableStream<Uint8Array>, end: () => void): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read();
          if (!done) return controller.enqueue(value);
          end();
          controller.close();
        } catch (error) {
          end();
          controller.error(error);
        }
      },
      async cancel(reason) {
        end();
        await reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}

export interface StdioOptions {
  /** Where a server of this storage would be, for addresses of documents that only its pages show. */
  readonly origin: string;
  readonly pollEveryMs?: number | undefined;
}

/** The protocol on standard input and output: one connection. Resolves when the client has closed it, or `signal` aborts. */
export async function serveMcpOnStdio(
  app: App,
  { origin, pollEveryMs }: StdioOptions,
  signal: AbortSignal,
): Promise<void> {
  const say = (line: string): void => void process.stderr.write(`lockstep: ${logLine(line)}\n`);
  const logError = (about: string, error: unknown): void => say(`${about}: ${explain(error)}`);
  const subscriptions = new Set<string>();
  let server: Server | undefined;
  const listener = {
    listChanged: () => void server?.sendResourceListChanged().catch((error: unknown) => say(explain(error))),
    updated: (uri: string) => void server?.sendResourceUpdated({ uri }).catch((error: unknown) => say(explain(error))),
  };
  const changes = createDocumentChanges(app, listener, { logError, everyMs: pollEveryMs });
  let listening: Promise<{ stop(): void }> | undefined;
  const listen = (): Promise<unknown> => {
    listening ??= changes.listen(subscriptions);
    return listening;
  };
  const transport = new WatchedTransport(async (message) => {
    const method = "method" in message ? message.method : "";
    if (method === "subscriptions/listen") for (const uri of subscribedIn(message)) subscriptions.add(uri);
    // From here on changes are noticed, before the client is told that they will be.
    if (method === "subscriptions/listen" || method === "notifications/initialized") await listen();
    if (method === "subscriptions/listen") await changes.catchUp();
  });
  const handle = serveStdio(
    () => {
      server = createMcpServer(app, {
        call: { origin, principal: undefined },
        notices: { subscriptions, catchUp: changes.catchUp },
        logError,
      });
      return server;
    },
    { transport, maxSubscriptions: MAX_STREAMS.ofOne },
  );
  const aborted = new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
  await Promise.race([transport.closed, aborted]);
  await handle.close();
  await listening?.then(({ stop }) => stop());
}

/** Standard input and output, with a look at each message before it is handled, in their order. */
class WatchedTransport implements Transport {
  readonly closed: Promise<void>;
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #inner = new StdioServerTransport();
  readonly #before: (message: JSONRPCMessage) => Promise<void>;
  #handled: Promise<void> = Promise.resolve();

  constructor(before: (message: JSONRPCMessage) => Promise<void>) {
    this.#before = before;
    this.closed = new Promise((resolve) => {
      this.#inner.onclose = () => {
        this.onclose?.();
        resolve();
      };
    });
    this.#inner.onerror = (error) => this.onerror?.(error);
    this.#inner.onmessage = (message) => {
      this.#handled = this.#handled
        .then(() => this.#before(message))
        .catch((error: unknown) => this.onerror?.(error instanceof Error ? error : new Error(String(error))))
        .then(() => this.onmessage?.(message));
    };
  }

  start(): Promise<void> {
    return this.#inner.start();
  }

  send(message: JSONRPCMessage): Promise<void> {
    return this.#inner.send(message);
  }

  close(): Promise<void> {
    return this.#inner.close();
  }
}
