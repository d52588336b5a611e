import { ExtractError } from "../contracts/document.ts";
import type { ByteSource } from "./byte-source.ts";
import type { Format } from "./formats.ts";
import { readZipDirectory } from "./zip.ts";

const HEAD_BYTES = 1024;
/** The directory of a compound file may stand anywhere; its names are looked for in so much of it. */
const COMPOUND_BYTES = 1024 * 1024;

/** Beginnings that no other kind of file has, in Latin-1. */
const SIGNATURES: readonly [start: string, kind: string][] = [
  ["%PDF-", "a PDF document"],
  ["{\\rtf", "a Rich Text document"],
  ["\x89PNG\r\n", "a PNG picture"],
  ["\xff\xd8\xff", "a JPEG picture"],
  ["GIF87a", "a GIF picture"],
  ["GIF89a", "a GIF picture"],
  ["II*\0", "a TIFF picture"],
  ["MM\0*", "a TIFF picture"],
  ["\x1f\x8b\b", "a gzip archive"],
  ["7z\xbc\xaf\x27\x1c", "a 7-Zip archive"],
  ["Rar!\x1a", "a RAR archive"],
  ["MZ\x90\0", "a Windows program"],
  ["\x7fELF", "a program"],
  ["ID3\x03", "a sound file"],
  ["SQLite format 3\0", "a database"],
];

const COMPOUND = "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1";
const PROTECTED = "a document protected by a password";
const COMPOUND_NAMES: readonly [stream: string, kind: string][] = [
  ["EncryptedPackage", PROTECTED],
  ["__properties_version1.0", "an Outlook message"],
  ["WordDocument", "an old Word document (.doc)"],
  ["PowerPoint Document", "an old PowerPoint presentation (.ppt)"],
  ["Workbook", "an old Excel workbook (.xls)"],
];

const ARCHIVE = "a zip archive";
const ARCHIVE_FOLDERS: readonly [start: string, kind: string][] = [
  ["word/", "a Word document"],
  ["ppt/", "a PowerPoint presentation"],
  ["xl/", "an Excel workbook"],
  ["META-INF/", "an OpenDocument file, an e-book or a program"],
];

/** Throws when the bytes are plainly of another kind than the name says, and says of which. */
export function guardKind(source: ByteSource, format: Format): void {
  const kind = seemingKind(source);
  // Rich Text is text, too: somebody who calls it .txt may mean it.
  if (!kind || kind === format.name || (format.isText && kind === "a Rich Text document")) return;
  if (kind === PROTECTED) throw new ExtractError("invalid_file", "The document is protected by a password.");
  throw new ExtractError("invalid_file", `The file is not ${format.name}: it seems to be ${kind}.`);
}

function seemingKind(source: ByteSource): string {
  const head = source.read(0, HEAD_BYTES).toString("latin1");
  if (head.startsWith(COMPOUND)) return compoundKind(source);
  if (head.startsWith("PK\x03\x04")) return archiveKind(source);
  return SIGNATURES.find(([start]) => head.startsWith(start))?.[1] ?? "";
}

function compoundKind(source: ByteSource): string {
  const start = source.read(0, COMPOUND_BYTES);
  const known = COMPOUND_NAMES.find(([stream]) => start.includes(Buffer.from(stream, "utf16le")));
  return known?.[1] ?? "an old Office file";
}

/** An archive too damaged to list is left to its reader, who says so. */
function archiveKind(source: ByteSource): string {
  try {
    const names = readZipDirectory(source).map(({ name }) => name.replace(/^\/+/, ""));
    const known = ARCHIVE_FOLDERS.find(([start]) => names.some((name) => name.startsWith(start)));
    return known?.[1] ?? ARCHIVE;
  } catch {
    return "";
  }
}
