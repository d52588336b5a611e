import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { type Asked, type Reply, textReply } from "../http-reply.ts";
import { downloadReply } from "../rest/download.ts";
import type { Tenant } from "../tenant/tenant.ts";
import type { FileItem } from "../tenant/tenant-item.ts";

const PAGE = "/_layouts/15/download.aspx";
const LIFETIME_MS = 3600 * 1000;
/** Addresses end with the process that gave them out. */
const key = randomBytes(32);

/** An address that opens one file for an hour, for whoever has it: no token is to be sent there. */
export function downloadAddressOf(file: FileItem, origin: string): string {
  const expiresAtMs = Date.now() + LIFETIME_MS;
  const tempauth = `v1.${expiresAtMs}.${seal(file.uniqueId, expiresAtMs)}`;
  return `${origin}${file.library.site.path}${PAGE}?UniqueId=${file.uniqueId}&Translate=false&tempauth=${tempauth}&ApiVersion=2.0`;
}

/** undefined when the path is not that of the download page. */
export function answerDownload(asked: Asked, tenant: Tenant): Reply | undefined {
  if (!asked.rawPath.toLowerCase().endsWith(PAGE)) return undefined;
  const query = new URLSearchParams(asked.rawQuery);
  const uniqueId = (query.get("UniqueId") ?? "").toLowerCase();
  if (!isSealed(uniqueId, query.get("tempauth") ?? "")) return textReply(401, "401 UNAUTHORIZED");
  const item = tenant.itemsByUniqueId.get(uniqueId);
  if (item?.kind !== "file") return textReply(404, "404 FILE NOT FOUND");
  return downloadReply(item, asked, {
    // Documented for this address, unlike for `$value`.
    rangeRequests: "honoured",
    disposition: "attachment",
    contentType: "application/octet-stream",
  });
}

function isSealed(uniqueId: string, tempauth: string): boolean {
  const [version, expires, given = ""] = tempauth.split(".");
  const expected = Buffer.from(seal(uniqueId, Number(expires)));
  const isEqual = given.length === expected.length && timingSafeEqual(Buffer.from(given), expected);
  return version === "v1" && isEqual && Number(expires) > Date.now();
}

function seal(uniqueId: string, expiresAtMs: number): string {
  return createHmac("sha256", key).update(`${uniqueId}/${expiresAtMs}`).digest("base64url");
}
