import { isIP } from "node:net";
import type { MiddlewareHandler } from "hono";
import { isLoopbackHost } from "../../lib/loopback.ts";
import { refuse } from "./refusal.ts";

const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** Forbids inline scripts and styles, so that text from documents cannot become either even if escaping fails. */
export const securityHeaders: MiddlewareHandler = async (c, next) => {
  await next();
  c.header("content-security-policy", CONTENT_SECURITY_POLICY);
  c.header("x-content-type-options", "nosniff");
  c.header("referrer-policy", "same-origin");
  c.header("cross-origin-opener-policy", "same-origin");
  c.header("cross-origin-resource-policy", "same-origin");
  if (!c.res.headers.has("cache-control")) c.header("cache-control", "no-store");
};

/**
 * Answers only to known host names: with DNS rebinding another site makes its name point here. A server on all addresses is
 * also reached by IP addresses, which cannot be rebound.
 */
export function checkHost(configured: readonly string[]): MiddlewareHandler {
  const known = new Set(configured.map((name) => name.toLowerCase()));
  const anyAddress = known.has("0.0.0.0") || known.has("::");
  const isKnown = (name: string): boolean =>
    isLoopbackHost(name) || known.has(name) || (anyAddress && isIP(name) !== 0);
  return async (c, next) => {
    const host = c.req.header("host") ?? new URL(c.req.url).host;
    // A host such as 127.999.1.1 is no valid URL for anything behind this.
    if (!URL.canParse(`http://${host}/`)) {
      return c.json({ ok: false, error: "The Host header is not valid.", data: {} }, 400);
    }
    const name = hostName(host);
    if (name === undefined || !isKnown(name)) {
      return c.json(
        { ok: false, error: "Request refused: this server is not known by that host name.", data: {} },
        403,
      );
    }
    return next();
  };
}

/** Lower-case, without port and brackets; undefined if it is no host. */
function hostName(host: string): string | undefined {
  const match = /^(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+))(?::\d{1,5})?$/i.exec(host);
  return (match?.[1] ?? match?.[2])?.toLowerCase();
}

const MAX_URL = 8192;

/** Refuses requests that no well-behaved client sends. */
export const refuseMalformed: MiddlewareHandler = async (c, next) => {
  const { pathname, search } = new URL(c.req.url);
  if (pathname.length + search.length > MAX_URL) {
    return refuse(c, 414, `The address is longer than ${MAX_URL} characters. Send long values in the body.`);
  }
  if (!isText(pathname))
    return refuse(c, 400, "The path is not valid: '%' must be followed by two hexadecimal digits of UTF-8 text.");
  if (/%00/.test(search)) return refuse(c, 400, "The query holds a NUL character (%00), which is no text.");
  return next();
};

function isText(path: string): boolean {
  try {
    return !decodeURIComponent(path).includes("\0");
  } catch {
    return false;
  }
}
