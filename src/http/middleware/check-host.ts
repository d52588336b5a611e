import { isIP } from "node:net";
import type { MiddlewareHandler } from "hono";
import { isLoopbackHost } from "../../lib/loopback.ts";

/**
 * A name that another site made point here (DNS rebinding) would make its pages ours; only names we know are answered.
 * A server on all addresses is also reached by their numbers, which nobody can make point elsewhere.
 */
export function checkHost(configured: readonly string[]): MiddlewareHandler {
  const known = new Set(configured.map((name) => name.toLowerCase()));
  const anyAddress = known.has("0.0.0.0") || known.has("::");
  const isKnown = (name: string): boolean =>
    isLoopbackHost(name) || known.has(name) || (anyAddress && isIP(name) !== 0);
  return async (c, next) => {
    const host = c.req.header("host") ?? new URL(c.req.url).host;
    // An address of no machine, such as 127.999.1.1, can be made sense of by nobody behind this.
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

/** Lower-case, without port and brackets; undefined when it is no host at all. */
function hostName(host: string): string | undefined {
  const match = /^(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+))(?::\d{1,5})?$/i.exec(host);
  return (match?.[1] ?? match?.[2])?.toLowerCase();
}
