import type { Context, Hono } from "hono";
import type { App } from "../../app/app.ts";
import type { Principal } from "../../contracts/access.ts";
import type { HttpEnv } from "../http-env.ts";
import { refuseCrossSite } from "../middleware/check-origin.ts";
import { refusalBody, refuse } from "../middleware/refusal.ts";
import { RefusedError, requireRole, toFailure } from "../routing/failure.ts";

/** Who asks, and where they reach this server. */
export interface Caller {
  readonly principal: Principal;
  readonly origin: string;
}

/** The protocol as one handler of requests whose caller was admitted. */
export interface McpFace {
  fetch(request: Request, by: Caller): Promise<Response>;
  close(): Promise<void>;
}

interface MountOptions {
  readonly logError: (about: string, error: unknown) => void;
  /** Aborted when the server stops: streams then end as the protocol wants it. */
  readonly closing?: AbortSignal | undefined;
  readonly pollEveryMs?: number | undefined;
}

/** Mounts the Model Context Protocol (Streamable HTTP) at `/mcp`. Its packages are loaded with the first request. */
export function mountMcp(http: Hono<HttpEnv>, app: App, { logError, closing, pollEveryMs }: MountOptions): void {
  let face: Promise<McpFace> | undefined;
  const open = (): Promise<McpFace> => {
    face ??= import("./serve-mcp.ts").then(({ createMcpFace }) => createMcpFace(app, { logError, pollEveryMs }));
    return face;
  };
  closing?.addEventListener("abort", () => void face?.then((opened) => opened.close()), { once: true });
  http.all("/mcp", async (c) => {
    if (c.req.method === "TRACE") return refuse(c, 400, "HTTP method 'TRACE' not supported.");
    if (isRead(c)) return c.text(describeMcp(c.get("origin")));
    try {
      refuseCrossSite(c.req.raw);
      const principal: Principal | undefined = c.get("principal");
      if (principal === undefined)
        throw new RefusedError(401, "Send a key of this server as 'Authorization: Bearer …'.");
      // Every tool reads only, so nothing of this is in the audit log, as with other searches.
      requireRole(principal, "read");
      return await (await open()).fetch(c.req.raw, { principal, origin: c.get("origin") });
    } catch (error) {
      const { status, message } = toFailure(error);
      if (status >= 500 && !c.req.raw.signal.aborted) logError(`${c.req.method} ${c.req.path}`, error);
      return c.json(refusalBody(c.req.path, status, message), status);
    }
  });
}

/** A person who opens the address; clients of 2025 ask for a stream, which is refused as their protocol wants it. */
function isRead(c: Context<HttpEnv>): boolean {
  const isGet = c.req.method === "GET" || c.req.method === "HEAD";
  return isGet && !/text\/event-stream/i.test(c.req.header("accept") ?? "");
}

/** Returns the documentation for a GET of the address itself. */
function describeMcp(origin: string): string {
  return `/mcp

The Model Context Protocol over Streamable HTTP, for AI clients: revisions 2026-07-28 and 2025-11-25.
Tools: search, fetch, list_domains, explain; all of them only read, and need the role read. Documents are resources.
The same on standard input and output: lockstep mcp. The guide docs/guides/mcp.md has what to paste into which client.

Examples
  claude mcp add --transport http lockstep ${origin}/mcp --header "Authorization: Bearer a key of this server"
  {"servers": {"lockstep": {"type": "http", "url": "${origin}/mcp"}}}
`;
}
