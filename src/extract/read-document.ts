import { ExtractError, type ExtractedDocument } from "../contracts/document.ts";
import type { ByteSource } from "./byte-source.ts";
import { detectLanguage } from "./detect-language.ts";
import { type Format, formatOf, type ReadText } from "./formats.ts";
import { type ExtractLimits, inMegabytes } from "./limits.ts";
import { guardKind } from "./seeming-kind.ts";

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
