import type { VectorStoreId } from "../../contracts/ids.ts";
import type { LedgerEntry } from "../../contracts/ledger.ts";
import type { IndexedRef } from "../../contracts/search-index.ts";
import type { Sighting } from "../../contracts/source.ts";
import { type FoundItem, type ItemResult, otherFile } from "./verify-item.ts";

/** Three witnesses tell which of them is wrong: the file, what the ledger remembers of it, and the document made of it. true: the file is. */
export function compareHashes(
  { onDisk, fetched }: { readonly onDisk: string; readonly fetched: string },
  { entry, refs }: FoundItem,
  result: ItemResult,
): boolean {
  const remembered = entry?.mirrored?.observed?.sha256 ?? "";
  if (remembered === "" || remembered === onDisk) return false;
  const confirmed = fetched === onDisk || refs.some(({ sha256 }) => sha256 === onDisk);
  if (confirmed) {
    const detail = "the ledger remembers another hash of its file";
    result.differences.push({ layer: "ledger", part: "", detail, crawl: "with --checksum: downloads it again" });
    return false;
  }
  result.differences.push(otherFile());
  return true;
}

/** Compares what the ledger remembers of a document with what the index has. `store`: "" if it cannot be looked at. */
export function compareIndexed(
  { entry }: FoundItem,
  { ref, store }: { readonly ref: IndexedRef; readonly store: VectorStoreId | "" },
  result: ItemResult,
): void {
  const indexed = entry?.indexed;
  const wrong: string[] = [];
  if (indexed?.fileId !== ref.fileId) wrong.push("another file id");
  if (indexed && indexed.vectorStoreId !== store) wrong.push("another vector store");
  // Where the index has other bytes than the mirror, that was said, and the ledger may be right.
  const { sha256 = "" } = indexed ?? {};
  if (sha256 && ref.sha256 && sha256 !== ref.sha256 && ref.sha256 === result.hashes.mirror) wrong.push("another hash");
  if (indexed?.embeddingError) wrong.push(`a failure (${indexed.embeddingError})`);
  if (wrong.length === 0) return;
  const detail = `of its document the ledger remembers ${wrong.join(", ")}`;
  result.differences.push({
    layer: "ledger",
    part: "",
    detail,
    crawl: "takes over what the index has, a hash with --mode full",
  });
}

/** A remote store does not show these, so it cannot tell whether source or ledger is right. */
export const UNTOLD_ELSEWHERE: ReadonlySet<string> = new Set(["name", "path", "address"]);

export interface ChangedField {
  readonly name: string;
  readonly before: string | number;
  readonly now: string | number;
}

/** What the source says otherwise than the ledger remembers. */
export function changedFields(sighting: Sighting, { seen, mirrored }: LedgerEntry): ChangedField[] {
  const { fingerprint: now, name, serverPath, url } = sighting;
  const was = mirrored?.fingerprint;
  const pairs: [name: string, before: string | number | undefined, now: string | number][] = [
    ["name", seen?.name, name],
    ["name", mirrored?.name, name],
    ["path", seen?.serverPath, serverPath],
    ["path", mirrored?.serverPath, serverPath],
    ["address", seen?.url, url],
    ["size", seen?.size, now.size],
    ["size", was?.size, now.size],
    ["modified time", seen?.modifiedAt, now.modifiedAt],
    ["modified time", was?.modifiedAt, now.modifiedAt],
    // What either of them does not tell is no evidence.
    ["content version", was?.contentVersion || now.contentVersion, now.contentVersion || (was?.contentVersion ?? "")],
  ];
  const fields = new Map<string, ChangedField>();
  for (const [field, before, after] of pairs) {
    if (before !== undefined && before !== after) fields.set(field, { name: field, before, now: after });
  }
  return [...fields.values()];
}

export function sayFields(fields: readonly ChangedField[]): string {
  return `another ${fields.map(({ name }) => name).join(", ")}`;
}

export function sayChanged(fields: readonly ChangedField[]): string {
  return `changed at the source: ${fields.map(({ name }) => name).join(", ")}`;
}

/** The entry as the next crawl would have it if the bytes are the same. */
export function asListed({ itemId, seen, mirrored, indexed }: LedgerEntry, sighting: Sighting): LedgerEntry {
  const { name, serverPath, url } = sighting;
  const { modifiedAt } = sighting.fingerprint;
  return {
    itemId,
    indexed,
    seen: seen && { ...seen, name, serverPath, url, modifiedAt },
    mirrored: mirrored && { ...mirrored, name, serverPath, fingerprint: { ...mirrored.fingerprint, modifiedAt } },
  };
}
