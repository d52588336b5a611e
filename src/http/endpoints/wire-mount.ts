import type { Context, Hono } from "hono";
import type { App } from "../../app/app.ts";
import { toFailure } from "../grammar/failure.ts";
import { refuseForeign } from "../safety/refuse-foreign.ts";

/** The OpenAI wire protocol below `/openai` and `/openai/v1`. Bodies pass through as streams, whatever their size. */
export function mountWire(http: Hono, wire: App["wire"], logError: (about: string, error: unknown) => void): void {
  http.all("/openai/*", async (c) => {
    if (wire === null) {
      return refuse(
        c,
        404,
        "The OpenAI protocol is served here only with the embedded backend; this server uses a remote one.",
      );
    }
    try {
      if (c.req.method !== "GET" && c.req.method !== "HEAD") refuseForeign(c.req.raw);
      return await wire(withoutPrefix(c.req.raw));
    } catch (error) {
      const { status, message } = toFailure(error);
      if (status >= 500) logError(`${c.req.method} ${c.req.path}`, error);
      return refuse(c, status, message);
    }
  });
}

function refuse(c: Context, status: ReturnType<typeof toFailure>["status"], message: string): Response {
  const type = status >= 500 ? "server_error" : "invalid_request_error";
  return c.json({ error: { message, type, param: null, code: null } }, status);
}

function withoutPrefix(request: Request): Request {
  const url = new URL(request.url);
  url.pathname = url.pathname.replace(/^\/openai(\/v1(?=\/|$))?/, "") || "/";
  const { method, headers, body, signal } = request;
  return new Request(url, { method, headers, signal, ...(body ? { body, duplex: "half" } : {}) });
}
