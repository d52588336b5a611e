import type { ItemId } from "../../contracts/ids.ts";
import type { FileMark } from "../../contracts/manifest.ts";
import { behind, type EncodedEntry, endOf, endOfText } from "./entry-bytes.ts";
import { decodeEntry, MARKS } from "./manifest-codec.ts";

const COMMA = 44;
const ACTIVE = Buffer.concat([MARKS.status, Buffer.from("active"), MARKS.contentHash]);

/** Throws when it is no entry. */
export function docIdOf({ bytes, start, end }: EncodedEntry): ItemId {
  const docStart = behind(MARKS.docId, bytes, endOfText(bytes, start + 1, end));
  const docEnd = endOfText(bytes, docStart, end);
  if (docEnd < 0) return decodeEntry(bytes.toString("utf8", start, end)).docId;
  return bytes.toString("latin1", docStart, docEnd) as ItemId;
}

/**
 * Does the entry say of an active file that it has this mark? Without making a text of anything in it; false also where that
 * would be needed to tell.
 */
export function matchesEntry({ path, stamp, node }: FileMark, { bytes, start, end }: EncodedEntry): boolean {
  if (stamp === "" || node === "") return false;
  let at = behind(MARKS.docId, bytes, endOf(path, bytes, start + 1, end));
  at = behind(ACTIVE, bytes, endOfText(bytes, at, end));
  at = behind(MARKS.lastSeen, bytes, endOfText(bytes, at, end));
  at = behind(MARKS.size, bytes, endOfText(bytes, at, end));
  while (at >= 0 && at < end && bytes[at] !== COMMA) at += 1;
  at = behind(MARKS.modifiedTime, bytes, at);
  at = behind(MARKS.stamp, bytes, endOfText(bytes, at, end));
  at = behind(MARKS.node, bytes, endOf(stamp, bytes, at, end));
  return behind(MARKS.retryCount, bytes, endOf(node, bytes, at, end)) >= 0;
}
