import { ExtractError, type ExtractedDocument } from "../contracts/document.ts";
import type { ByteSource } from "./byte-source.ts";
import { detectLanguage } from "./detect-language.ts";
import { type Format, formatOf, type ReadText } from "./formats.ts";
import { type ExtractLimits, inMegabytes } from "./limits.ts";
import { readZipDirectory } from "./zip.ts";

/** Reads by the type it is told, which comes from the name; what the bytes seem to be only serves to explain a failure. */
export async function readDocument(
  source: ByteSource,
  fileType: string,
  limits: ExtractLimits,
): Promise<ExtractedDocument> {
  const format = formatOf(fileType);
  guardSize(source.size, format.isText ? Math.min(limits.maxBytes, limits.maxTextBytes) : limits.maxBytes);
  guardKind(source, format);
  const { title, markdown } = await readAs(format, source, limits);
  if (markdown.trim() === "") throw new ExtractError("invalid_file", "The file contains no text.");
  return { title: tidyTitle(title), markdown, language: detectLanguage(markdown) };
}

/** Errors with a code are the machine's: a disk that fails, a library that is not there. All others are the file's doing. */
async function readAs(format: Format, source: ByteSource, limits: ExtractLimits): Promise<ReadText> {
  try {
    return await format.read(source, limits);
  } catch (error) {
    if (error instanceof ExtractError || typeof (error as NodeJS.ErrnoException).code === "string") throw error;
    throw new ExtractError("invalid_file", `The file is damaged: it cannot be read as ${format.name}.`, {
      cause: error,
    });
  }
}

function guardSize(size: number, maxBytes: number): void {
  if (size === 0) throw new ExtractError("invalid_file", "The file is empty.");
  if (size > maxBytes) {
    throw new ExtractError(
      "invalid_file",
      `The file is too large: ${size} bytes, and the limit is ${inMegabytes(maxBytes)} MB.`,
    );
  }
}

function tidyTitle(title: string): string {
  return title
    .replaceAll(/[\s\p{Cc}]+/gu, " ")
    .trim()
    .slice(0, 500);
}

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
function guardKind(source: ByteSource, format: Format): void {
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
