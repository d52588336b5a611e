import { lookup as systemLookup } from "node:dns";
import { isIP, type LookupFunction } from "node:net";
import ipaddr from "ipaddr.js";
import { trimEnd } from "../../../lib/trim-end.ts";

/** A public address that leads to the machinery of the cloud the process runs in: Azure's host answers there, with credentials. */
const INNER_ADDRESSES: ReadonlySet<string> = new Set(["168.63.129.16"]);

/** The address is not one that everybody can reach. The message is for people. */
export class AddressRefused extends Error {
  override readonly name: string = "AddressRefused";
}

export function refuseAddress(host: string): AddressRefused {
  return new AddressRefused(
    `${host} is not a public address of the internet, and only those are asked; WEB_ALLOW_PRIVATE_NETWORKS=true permits the others`,
  );
}

/** May everybody reach it? Addresses that carry another one inside are judged by that. What is in doubt is not public. */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.parse(address);
  if (parsed.kind() === "ipv4") return parsed.range() === "unicast" && !INNER_ADDRESSES.has(parsed.toString());
  const bytes = parsed.toByteArray();
  switch (parsed.range()) {
    case "unicast":
      // 2000::/3 is all that has been given out; IPv4-compatible addresses, for one, lie outside.
      return (bytes[0] ?? 0) >> 5 === 1;
    case "ipv4Mapped":
      return isPublicAddress(bytes.slice(12).join("."));
    case "rfc6052":
      // 64:ff9b:1::/48 is for networks of one's own.
      return parsed.match(ipaddr.parseCIDR("64:ff9b::/96")) && isPublicAddress(bytes.slice(12).join("."));
    case "6to4":
      return isPublicAddress(bytes.slice(2, 6).join("."));
    default:
      return false;
  }
}

/** As it stands in an address of the web: IPv6 in brackets. */
export function isLiteralAddress(hostname: string): boolean {
  return isIP(withoutBrackets(hostname)) !== 0;
}

/** What can be said of a host without asking for its addresses: false for literal addresses that are not public, and for this machine. */
export function mayBePublicHost(hostname: string): boolean {
  const name = trimEnd(hostname.toLowerCase(), ".");
  if (name === "localhost" || name.endsWith(".localhost")) return false;
  return !isLiteralAddress(name) || isPublicAddress(withoutBrackets(name));
}

function withoutBrackets(hostname: string): string {
  return hostname.startsWith("[") && hostname.endsWith("]") ? hostname.slice(1, -1) : hostname;
}

/** Looks a host up and hands on its addresses only if all of them are public: which one is connected to is chosen later. */
export function onlyPublic(lookup: LookupFunction = systemLookup): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, options, (error, addresses, family) => {
      if (error) return callback(error, addresses, family);
      const all = typeof addresses === "string" ? [addresses] : addresses.map(({ address }) => address);
      if (all.length > 0 && all.every(isPublicAddress)) callback(null, addresses, family);
      else callback(refuseAddress(hostname), []);
    });
  };
}
