import type { ItemId } from "../../contracts/ids.ts";
import type { IngestItem } from "../../contracts/registry.ts";
import type { EntityKey } from "./entity-table.ts";

/** `host`: the items of a host lie together, the blobs of a container do, all files, and all of shares. `scheme`: all of `https` do, and all blobs. */
export type PartitionStrategy = "host" | "scheme";

/** What keys must not hold, what the service or its clients decode once too often, and `!`, which stands for them. */
const UNFIT = /[/\\#?%!|\p{Cc}\p{Cs}]/gu;
const MAX_KEY_CHARS = 250;

export function encodeKey(text: string): string {
  return text
    .replaceAll(UNFIT, (char) => `!${char.charCodeAt(0).toString(16).padStart(4, "0")}`)
    .slice(0, MAX_KEY_CHARS);
}

export function partitionOf({ type, sourceHost, normalizedSource }: IngestItem, strategy: PartitionStrategy): string {
  const byHost = strategy === "host" && sourceHost !== "";
  // A blob may have the address of a page, and with it the same row key: no host has the name of its partition.
  if (type === "file") return encodeKey(filePartition(normalizedSource, strategy));
  return encodeKey(byHost ? sourceHost : (/^[a-z][a-z0-9+.-]*(?=:)/i.exec(normalizedSource)?.[0] ?? type));
}

/** `account/container` of a blob, however accounts are addressed. */
function filePartition(normalizedSource: string, strategy: PartitionStrategy): string {
  const url = URL.parse(normalizedSource);
  if (!url || !/^https?:$/.test(url.protocol)) return url?.host ? "share" : "file";
  if (strategy === "scheme") return "blob";
  const [first = "", second = ""] = url.pathname.slice(1).split("/");
  const [account = "", service] = url.hostname.split(".");
  return service === "blob" ? `${account}/${first}` : `${first}/${second}`;
}

/** The hash alone: the partition tells of what. */
export function rowKeyOf(id: ItemId): string {
  return encodeKey(id.replace(/^(url|file)_/, ""));
}

/** Where what is known under an id can be looked up: spread, and yet many in one transaction. */
export function idKey(id: ItemId, suffix = ""): EntityKey {
  return { partitionKey: `id-${encodeKey(id.slice(-1))}`, rowKey: `${encodeKey(id)}${suffix}` };
}

/** A condition for keys that begin with a text of ours, which ends in `|`: `}` is the next character. */
export function beginsWith(key: "PartitionKey" | "RowKey", prefix: `${string}|`): string {
  return `${key} ge ${quoted(prefix)} and ${key} lt ${quoted(`${prefix.slice(0, -1)}}`)}`;
}

export function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
