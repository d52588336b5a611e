import { createHash } from "node:crypto";
import type { Library } from "../tenant/library.ts";
import type { Site } from "../tenant/site.ts";
import type { TenantItem } from "../tenant/tenant-item.ts";

const BASE32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const PREFIX_CHARS = 8;
/** The root of every drive bears this one, after the prefix of its site. */
const ROOT_SUFFIX = "56Y2GOVW7725BZO354PWSELRRZ";

/** `contoso.sharepoint.com,{site},{web}` */
export function siteIdOf(site: Site, host: string): string {
  return `${host},${site.id},${site.webId}`;
}

/** Computable from what REST tells, and back: site, web and list, 16 bytes each. */
export function driveIdOf({ site, id }: Library): string {
  return `b!${Buffer.concat([site.id, site.webId, id].map(guidBytes)).toString("base64url")}`;
}

/** The unique id of REST in other letters: so both worlds can be compared. */
export function driveItemIdOf(item: TenantItem): string {
  const prefix = sitePrefix(item.library.site);
  return prefix + (item.parent === null ? ROOT_SUFFIX : idSuffix(item.uniqueId));
}

/** The same for an item that is no longer there. */
export function driveItemIdFrom(library: Library, uniqueId: string): string {
  return sitePrefix(library.site) + idSuffix(uniqueId);
}

/** Two bits `01`, then the 128 of the id, in base32. */
function idSuffix(uniqueId: string): string {
  let bits = "01";
  for (const byte of guidBytes(uniqueId)) bits += byte.toString(2).padStart(8, "0");
  return bits.replaceAll(/.{5}/g, (five) => BASE32.charAt(Number.parseInt(five, 2)));
}

/** The way back; nonsense when the text is no id of an item. */
export function uniqueIdFrom(itemId: string): string {
  const bits = [...itemId.slice(PREFIX_CHARS)]
    .map((character) => Math.max(0, BASE32.indexOf(character)).toString(2).padStart(5, "0"))
    .join("")
    .slice(2);
  const hex = bits.replaceAll(/.{8}/g, (eight) => Number.parseInt(eight, 2).toString(16).padStart(2, "0"));
  const groups = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16)].map((group) =>
    Buffer.from(group, "hex").reverse().toString("hex"),
  );
  return [...groups, hex.slice(16, 20), hex.slice(20, 32)].join("-");
}

function sitePrefix(site: Site): string {
  const digest = createHash("sha256").update(site.id).digest();
  return `01${[...digest.subarray(0, 6)].map((byte) => BASE32.charAt(byte % 32)).join("")}`;
}

/** As Windows lays a GUID out: the first three groups with their bytes turned round. */
function guidBytes(guid: string): Buffer {
  const [first = "", second = "", third = "", ...rest] = guid.split("-");
  const turned = [first, second, third].map((group) => Buffer.from(group, "hex").reverse());
  return Buffer.concat([...turned, Buffer.from(rest.join(""), "hex")]);
}
