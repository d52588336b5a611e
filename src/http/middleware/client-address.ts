import { isIP } from "node:net";
import { getConnInfo } from "@hono/node-server/conninfo";
import type { Context, MiddlewareHandler } from "hono";
import type { HttpEnv } from "../http-env.ts";

/**
 * Sets the client's address, and the address by which it reaches us. Forwarded headers count only behind our own proxy, because anybody can write them; in a chain, the
 * last entry is our proxy's.
 */
export function identifyClient({
  access: { behindProxy },
  publicUrl,
}: {
  readonly access: { readonly behindProxy: boolean };
  readonly publicUrl: string;
}): MiddlewareHandler<HttpEnv> {
  return async (c, next) => {
    const named = (header: string): string => (c.req.header(header) ?? "").split(",").at(-1)?.trim() ?? "";
    const forwarded = behindProxy ? plainAddress(named("x-forwarded-for")) : "";
    const https = behindProxy && named("x-forwarded-proto").toLowerCase() === "https";
    c.set("client", { address: forwarded || peerOf(c), https });
    // The Host header was checked before, so a client cannot make us name another server.
    const { protocol, host } = new URL(c.req.url);
    c.set("origin", publicUrl || `${https ? "https:" : protocol}//${host}`);
    await next();
  };
}

export function clientAddress(c: Context<HttpEnv>): string {
  return c.get("client").address;
}

/** A client has a whole IPv6 network (/64), so its addresses count as one. */
export function clientNetwork(c: Context<HttpEnv>): string {
  const address = clientAddress(c);
  if (isIP(address) !== 6) return address;
  const [head = "", tail] = address.replace(/%.*$/, "").split("::");
  const before = head === "" ? [] : head.split(":");
  const left = tail === undefined ? 0 : 8 - before.length - tail.split(":").length;
  const groups = [...before, ...Array.from({ length: Math.max(0, left) }, () => "0"), ...(tail ?? "").split(":")];
  return `${groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group || "0", 16).toString(16))
    .join(":")}::/64`;
}

/** Removes a port, as Azure writes it. "" if it is no address. */
function plainAddress(text: string): string {
  const bare = /^\[(.+)\](?::\d+)?$/.exec(text)?.[1] ?? /^([\d.]+):\d+$/.exec(text)?.[1] ?? text;
  const address = bare.replace(/^::ffff:(?=[\d.]+$)/i, "");
  return isIP(address) ? address : "";
}

function peerOf(c: Context): string {
  try {
    return plainAddress(getConnInfo(c).remote.address ?? "");
  } catch {
    return "";
  }
}
