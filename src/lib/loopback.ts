import { isIPv4 } from "node:net";

/** Is it this machine itself, as a host name or address is written in a URL or a setting? */
export function isLoopbackHost(host: string): boolean {
  const name = host.toLowerCase().replace(/^\[(.*)\]$/, "$1");
  return name === "localhost" || name === "::1" || (name.startsWith("127.") && isIPv4(name));
}
