import { sha256Of } from "../lib/hash.ts";

/** Room for `.lockstep` staging suffixes below the 255 bytes most file systems allow. */
const MAX_NAME_BYTES = 240;
const LONGEST_CHARACTER = 4;
const MARKED = /~[0-9a-f]{8}/;
const RESERVED_ON_WINDOWS = /^(con|prn|aux|nul|com\d|lpt\d)(\..*)?$/i;
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to be kept out.
const FORBIDDEN = /[\u0000-\u001f\u007f"*:<>?|\\]/g;

/**
 * Returns the path of an item's file below its source's folder. The path is taken as the source spells it (no
 * decoding), one segment at a time; whatever a hostile or long name contains, the result stays inside the folder and
 * fits the disk.
 */
export function localPath(path: string, itemId: string): string {
  const segments = path.split("/").filter((segment) => segment !== "");
  const safe = segments.map((segment) => safeSegment(segment, itemId));
  return safe.length > 0 ? safe.join("/") : shortId(itemId);
}

/** The same path marked with the item's id, for when another item already has it. */
export function distinctPath(path: string, itemId: string): string {
  const slash = path.lastIndexOf("/") + 1;
  return path.slice(0, slash) + marked(path.slice(slash), itemId);
}

/** Returns the path without the mark; undefined if it has none, or was shortened as well. */
export function plainPath(path: string, itemId: string): string | undefined {
  if (!MARKED.test(path)) return undefined;
  const mark = `~${shortId(itemId)}`;
  const names = path.split("/");
  const at = names.findIndex((name) => name.includes(mark));
  const name = names[at] ?? "";
  if (name === "" || Buffer.byteLength(name) > MAX_NAME_BYTES - LONGEST_CHARACTER) return undefined;
  return names.with(at, name.replace(mark, "")).join("/");
}

function safeSegment(segment: string, itemId: string): string {
  const clean = segment.replaceAll(FORBIDDEN, "_").replace(/[. ]+$/, (tail) => "_".repeat(tail.length));
  if (RESERVED_ON_WINDOWS.test(clean)) return `_${clean}`;
  return Buffer.byteLength(clean) <= MAX_NAME_BYTES ? clean : marked(clean, itemId);
}

/** `long name….docx` -> `long na~1a2b3c4d.docx`, cut at a character border. */
function marked(name: string, itemId: string): string {
  const dot = name.lastIndexOf(".");
  const extension = dot > 0 && name.length - dot <= 16 ? name.slice(dot) : "";
  const ending = `~${shortId(itemId)}${extension}`;
  let stem = extension ? name.slice(0, dot) : name;
  const room = MAX_NAME_BYTES - Buffer.byteLength(ending);
  const letters = Array.from(stem);
  while (Buffer.byteLength(stem) > room) {
    letters.pop();
    stem = letters.join("");
  }
  return stem + ending;
}

/** Eight hex digits of the id: a GUID's first, so that users can find the item, otherwise of its hash. */
function shortId(itemId: string): string {
  if (/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i.test(itemId)) return itemId.slice(0, 8);
  return sha256Of(itemId).slice(0, 8);
}
