import type { FileStatus, ManifestEntry } from "../../contracts/manifest.ts";
import { folderOf } from "../../lib/tree-path.ts";
import { type EncodedEntry, endOfText, follows } from "./entry-bytes.ts";
import { hashBytes, hashText } from "./hash-chains.ts";
import { decodeEntry, MARKS, PUT, type Shelf } from "./manifest-codec.ts";
import type { RecordKeys } from "./record-table.ts";

const SLASH = 47;
const SHA256_HEX = 64;
const PUT_MARK = Buffer.from(PUT.before);
const STATUSES = (["active", "missing", "error", "deleted"] as const).map((status): readonly [FileStatus, Buffer] => [
  status,
  Buffer.from(status),
]);

export function keysOf(entry: ManifestEntry, seed: number): RecordKeys {
  return {
    docHash: hashText(seed, entry.docId),
    pathHash: hashText(seed, entry.path),
    folderHash: hashText(seed, folderOf(entry.path)),
    contentHash: hashText(seed, entry.contentHash),
    status: entry.status,
    isKept: entry.versions.at(-1)?.hash === entry.contentHash,
  };
}

/** The same for an encoded entry, without parsing it when it is written as usual. Throws when it is no entry. */
export function peekEntry(encoded: EncodedEntry, shelf: Shelf, seed: number): RecordKeys {
  const keys = shelf === "files" ? peekUsual(encoded, seed) : undefined;
  return keys ?? keysOf(decodeEntry(encoded.bytes.toString("utf8", encoded.start, encoded.end)), seed);
}

/** The entry that a line of the journal puts; undefined when it puts none. */
export function putIn(bytes: Buffer, start: number, end: number): EncodedEntry | undefined {
  if (!follows(bytes, start, PUT_MARK)) return undefined;
  return { bytes, start: start + PUT.before.length, end: end - PUT.after.length };
}

/** undefined when it is no entry. */
export function peekIfEntry(encoded: EncodedEntry, seed: number): RecordKeys | undefined {
  try {
    return peekEntry(encoded, "files", seed);
  } catch {
    return undefined;
  }
}

function peekUsual({ bytes, start, end }: EncodedEntry, seed: number): RecordKeys | undefined {
  const pathStart = start + 1;
  const pathEnd = endOfText(bytes, pathStart, end);
  if (!follows(bytes, pathEnd, MARKS.docId)) return undefined;
  const docStart = pathEnd + MARKS.docId.length;
  const docEnd = endOfText(bytes, docStart, end);
  if (!follows(bytes, docEnd, MARKS.status)) return undefined;
  const statusStart = docEnd + MARKS.status.length;
  const status = STATUSES.find(([, name]) => follows(bytes, statusStart, name));
  if (!status) return undefined;
  const [word, { length }] = status;
  if (!follows(bytes, statusStart + length, MARKS.contentHash)) return undefined;
  const contentStart = statusStart + length + MARKS.contentHash.length;
  const contentEnd = endOfText(bytes, contentStart, end);
  if (contentEnd < 0) return undefined;
  let folderEnd = pathEnd;
  while (folderEnd > pathStart && bytes[folderEnd] !== SLASH) folderEnd -= 1;
  return {
    docHash: hashBytes(seed, bytes, docStart, docEnd),
    pathHash: hashBytes(seed, bytes, pathStart, pathEnd),
    folderHash: hashBytes(seed, bytes, pathStart, folderEnd),
    contentHash: hashBytes(seed, bytes, contentStart, contentEnd),
    status: word,
    isKept: contentEnd - contentStart === SHA256_HEX && endsWithHash(bytes, contentStart, end),
  };
}

/** Is the hash of the last version the one that begins at `contentHash`? */
function endsWithHash(bytes: Buffer, contentHash: number, end: number): boolean {
  const start = end - MARKS.end.length - SHA256_HEX;
  if (!follows(bytes, end - MARKS.end.length, MARKS.end)) return false;
  if (start <= contentHash || !follows(bytes, start - MARKS.lastVersionHash.length, MARKS.lastVersionHash))
    return false;
  for (let i = 0; i < SHA256_HEX; i++) if (bytes[start + i] !== bytes[contentHash + i]) return false;
  return true;
}
