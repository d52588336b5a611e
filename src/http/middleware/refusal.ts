import type { Context } from "hono";
import type { ContentfulStatusCode } from "hono/utils/http-status";

const OPENAI_CODES: { readonly [status: number]: string } = {
  401: "invalid_api_key",
  403: "insufficient_permissions",
  429: "rate_limit_exceeded",
};

/** The body of a refusal in the format of the address: OpenAI's below `/openai`, JSON-RPC at `/mcp`, the older one at `/query`, `/describe` and `/api`. */
export function refusalBody(path: string, status: number, message: string): object {
  if (/^\/openai(\/|$)/.test(path)) {
    const type = status === 429 ? "requests" : status >= 500 ? "server_error" : "invalid_request_error";
    return { error: { message, type, param: null, code: OPENAI_CODES[status] ?? null } };
  }
  // What is refused before it is read has no id.
  if (/^\/mcp\/?$/.test(path)) return { jsonrpc: "2.0", error: { code: -32_000, message }, id: null };
  if (/^\/(query|describe)2?\/?$|^\/api\//.test(path)) return { error: message };
  return { ok: false, error: message, data: {} };
}

export function refuse(c: Context, status: ContentfulStatusCode, message: string): Response {
  return c.json(refusalBody(c.req.path, status, message), status);
}

/** Answers 429 with `Retry-After`. */
export function refuseForNow(c: Context, waitMs: number, message: string): Response {
  const seconds = Math.max(1, Math.ceil(waitMs / 1000));
  c.header("retry-after", String(seconds));
  return refuse(c, 429, `${message} Try again in ${seconds} ${seconds === 1 ? "second" : "seconds"}.`);
}
