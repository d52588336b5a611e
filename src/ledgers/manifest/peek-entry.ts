import type { FileStatus, ManifestEntry } from "../../contracts/manifest.ts";
import { folderOf } from "../../lib/tree-path.ts";
import { hashBytes, hashText } from "./hash-chains.ts";
import { decodeEntry, MARKS } from "./manifest-codec.ts";
import type { RecordKeys } from "./record-table.ts";

const QUOTE = 34;
const SLASH = 47;
const BACKSLASH = 92;
const SHA256_HEX = 64;
const STATUSES = (["active", "missing", "error", "deleted"] as const).map((status): readonly [FileStatus, Buffer] => [
  status,
  Buffer.from(status),
]);

export function keysOf(entry: ManifestEntry): RecordKeys {
  return {
    docHash: hashText(entry.docId),
    pathHash: hashText(entry.path),
    folderHash: hashText(folderOf(entry.path)),
    contentHash: hashText(entry.contentHash),
    status: entry.status,
    isKept: entry.versions.at(-1)?.hash === entry.contentHash,
  };
}

/** The same for the encoded entry from `start` up to `end`, without parsing it when it is written as usual. Throws when it is no entry. */
export function peekEntry(bytes: Buffer, start: number, end: number, shelf: "files" | "displaced"): RecordKeys {
  const keys = shelf === "files" ? peekUsual(bytes, start, end) : undefined;
  return keys ?? keysOf(decodeEntry(bytes.toString("utf8", start, end)));
}

/** undefined when it is no entry. */
export function peekIfEntry(bytes: Buffer, start: number, end: number): RecordKeys | undefined {
  try {
    return peekEntry(bytes, start, end, "files");
  } catch {
    return undefined;
  }
}

function peekUsual(bytes: Buffer, start: number, end: number): RecordKeys | undefined {
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
    docHash: hashBytes(bytes, docStart, docEnd),
    pathHash: hashBytes(bytes, pathStart, pathEnd),
    folderHash: hashBytes(bytes, pathStart, folderEnd),
    contentHash: hashBytes(bytes, contentStart, contentEnd),
    status: word,
    isKept: contentEnd - contentStart === SHA256_HEX && endsWithHash(bytes, contentStart, end),
  };
}

/** Where the text that begins at `at` ends; -1 when it is written with escapes, or does not end. */
function endOfText(bytes: Buffer, at: number, end: number): number {
  for (; at < end; at++) {
    const byte = bytes[at];
    if (byte === QUOTE) return at;
    if (byte === BACKSLASH) return -1;
  }
  return -1;
}

function follows(bytes: Buffer, at: number, mark: Buffer): boolean {
  if (at < 0) return false;
  for (let i = 0; i < mark.length; i++) if (bytes[at + i] !== mark[i]) return false;
  return true;
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
