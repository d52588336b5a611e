import type { LookupFunction } from "node:net";
import { promisify } from "node:util";
import { Agent, buildConnector, type Dispatcher } from "undici";
import { createProxyAgent } from "../../../lib/proxy-agent.ts";
import { AddressRefused, isLiteralAddress, mayBePublicHost, onlyPublic, refuseAddress } from "./address-filter.ts";

export interface LineOptions {
  readonly allowPrivateNetworks: boolean;
  readonly connectionsPerOrigin: number;
  readonly connectMs: number;
  readonly lookup?: LookupFunction | undefined;
}

/** The way to all servers: one dispatcher, which connects to public addresses only unless others are allowed. */
export interface Line {
  /** Its requests fail with AddressRefused where the address that would be connected to is not public. */
  readonly dispatcher: Dispatcher;
  /**
   * To be called before a request; throws AddressRefused. What a proxy connects to cannot be seen from here, so with one
   * the host is looked up, too; a host without addresses fails, because nobody could tell where it leads.
   */
  check(hostname: string): Promise<void> | undefined;
}

const PROXY_SETTINGS = ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY"];
const MAX_HEADER_BYTES = 64 * 1024;

export function openLine({ allowPrivateNetworks, connectionsPerOrigin, connectMs, lookup }: LineOptions): Line {
  const isProxied = PROXY_SETTINGS.some((name) => process.env[name]);
  const guarded = onlyPublic(lookup);
  const used = allowPrivateNetworks ? lookup : guarded;
  const connector = buildConnector({ timeout: connectMs, allowH2: false, ...(used && { lookup: used }) });
  const options: Agent.Options = {
    // Literal addresses are not looked up, so they are judged here.
    connect: (target, callback) =>
      allowPrivateNetworks || mayBePublicHost(target.hostname)
        ? connector(target, callback)
        : callback(refuseAddress(target.hostname), null),
    connections: connectionsPerOrigin,
    maxHeaderSize: MAX_HEADER_BYTES,
    // Exchange has a clock of its own.
    headersTimeout: 0,
    bodyTimeout: 0,
    // Over HTTP/1.1 a cut body is always recognisable by its length or its last chunk.
    allowH2: false,
  };
  return {
    dispatcher: isProxied ? createProxyAgent(options) : new Agent(options),
    check(hostname) {
      if (allowPrivateNetworks) return undefined;
      if (!mayBePublicHost(hostname)) throw refuseAddress(hostname);
      return isProxied && !isLiteralAddress(hostname) ? lookUp(guarded, hostname) : undefined;
    },
  };
}

async function lookUp(guarded: LookupFunction, hostname: string): Promise<void> {
  try {
    await promisify(guarded)(hostname, { all: true });
  } catch (error) {
    if (error instanceof AddressRefused) throw error;
    const way = "WEB_ALLOW_PRIVATE_NETWORKS=true leaves that to the proxy";
    throw new Error(`it cannot be looked up here, so nobody can tell whether its address is a public one; ${way}`, {
      cause: error,
    });
  }
}
