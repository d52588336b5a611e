import type { EnvHttpProxyAgent } from "undici";
import { later } from "./later.ts";

const undici = later<typeof import("undici")>("undici");

const LOOPBACK_NAMES = "localhost,127.0.0.1,::1";

/** Honours HTTPS_PROXY, HTTP_PROXY and NO_PROXY, but never sends this machine's own addresses through a proxy. */
export function createProxyAgent(options: EnvHttpProxyAgent.Options): EnvHttpProxyAgent {
  const noProxy = process.env["no_proxy"] ?? process.env["NO_PROXY"];
  return new (undici().EnvHttpProxyAgent)({
    ...options,
    noProxy: noProxy ? `${noProxy},${LOOPBACK_NAMES}` : LOOPBACK_NAMES,
  });
}
