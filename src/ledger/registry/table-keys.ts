import type { ItemId } from "../../contracts/ids.ts";
import type { IngestItem } from "../../contracts/registry.ts";

export interface EntityKey {
  readonly partitionKey: string;
  readonly rowKey: string;
}

/** What shares a partition. `host`: items of one host, blobs of one container, all files, all files of shares. `scheme`: all of `https`, all blobs. */
export type PartitionStrategy = "host" | "scheme";

/** Characters that keys must not have, or that the service or its clients decode twice; and `!`, the escape character. */
const UNFIT = /[/\\#?%!|\p{Cc}\p{Cs}]/gu;
const MAX_KEY_CHARS = 250;

export function encodeKey(text: string): string {
  return text
    .replaceAll(UNFIT, (char) => `!${char.charCodeAt(0).toString(16).padStart(4, "0")}`)
    .slice(0, MAX_KEY_CHARS);
}

export function partitionOf({ type, sourceHost, normalizedSource }: IngestItem, strategy: PartitionStrategy): string {
  const byHost = strategy === "host" && sourceHost !== "";
  // A blob may have the same address, and row key, as a page. Its partition is never named like a host.
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

/** The hash in the id, without the prefix for the kind of item. */
export function rowKeyOf(id: ItemId): string {
  return encodeKey(id.replace(/^(url|file)_/, ""));
}

/** The key of an item in the table of ids. Few partitions spread the load, and still allow many ids in one transaction. */
export function idKey(id: ItemId, suffix = ""): EntityKey {
  return { partitionKey: `id-${encodeKey(id.slice(-1))}`, rowKey: `${encodeKey(id)}${suffix}` };
}

/** A filter for keys that begin with `prefix`. It ends in `|`, whose next character is `}`. */
export function beginsWith(key: "PartitionKey" | "RowKey", prefix: `${string}|`): string {
  return `${key} ge ${quoted(prefix)} and ${key} lt ${quoted(`${prefix.slice(0, -1)}}`)}`;
}

export function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
