import { isIPv4 } from "node:net";

/** Tells whether a host name or address of a URL or setting is this machine. */
export function isLoopbackHost(host: string): boolean {
  const name = host.toLowerCase().replace(/^\[(.*)\]$/, "$1");
  return name === "localhost" || name === "::1" || (name.startsWith("127.") && isIPv4(name));
}
