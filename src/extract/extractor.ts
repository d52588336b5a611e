import { open } from "node:fs/promises";
import { ExtractError, type ExtractedDocument, type Extractor } from "../contracts/document.ts";
import { createOneAtATime } from "../lib/one-at-a-time.ts";
import { createDeadline, type Deadline, untilAborted } from "./deadline.ts";
import { extractDocx } from "./docx.ts";
import { extractHtml } from "./html.ts";
import { extractMarkdown } from "./markdown.ts";
import { extractPdf } from "./pdf.ts";
import { CODE_LANGUAGES, extractCode, extractPlainText, PROSE_TYPES } from "./plain-text.ts";

/** Raise it with every change that makes any file give other text. */
const REVISION = "1";

const MEGABYTE = 1024 * 1024;

export interface ExtractorOptions {
  readonly timeoutMs?: number;
  readonly maxBytes?: number;
  /** For formats that are text themselves; a larger one is an export or a log, not a document. */
  readonly maxTextBytes?: number;
  /** For zipped formats, of the parts that are unpacked. */
  readonly maxUnpackedBytes?: number;
  /** For formats that are markup. */
  readonly maxElements?: number;
}

type Limits = Required<ExtractorOptions>;

interface Format {
  readonly maxBytes: (limits: Limits) => number;
  extract(bytes: Buffer, limits: Limits, deadline: Deadline): ExtractedDocument | Promise<ExtractedDocument>;
}

const DEFAULTS: Limits = {
  timeoutMs: 60_000,
  maxBytes: 512 * MEGABYTE,
  maxTextBytes: 50 * MEGABYTE,
  // Measured: a Word document with so much text takes 3 s, one with so many elements 4 to 6 s, a page 2 s.
  maxUnpackedBytes: 32 * MEGABYTE,
  maxElements: 400_000,
};

const FORMATS: ReadonlyMap<string, Format> = new Map<string, Format>([
  ...PROSE_TYPES.map((type): [string, Format] => [type, textFormat((bytes) => extractPlainText(bytes))]),
  ...Object.entries(CODE_LANGUAGES).map(([type, language]): [string, Format] => [
    type,
    textFormat((bytes) => extractCode(bytes, language)),
  ]),
  ["md", textFormat((bytes) => extractMarkdown(bytes))],
  ["markdown", textFormat((bytes) => extractMarkdown(bytes))],
  ["html", textFormat(extractHtml)],
  ["htm", textFormat(extractHtml)],
  ["docx", packedFormat(extractDocx)],
  ["pdf", packedFormat((bytes, _limits, deadline) => extractPdf(bytes, deadline))],
]);

/**
 * Whoever asks, one file is read at a time: the work is this process's own, so side by side nothing is done sooner, and
 * all of them come closer to their time limit.
 */
const inTurn = createOneAtATime();

/** Reads by the type it is told, which comes from the name; the path is only where the bytes are. */
export function createExtractor(options: ExtractorOptions = {}): Extractor {
  const limits: Limits = { ...DEFAULTS, ...options };
  return {
    revision: REVISION,
    types: new Set(FORMATS.keys()),
    async extract(path, fileType, signal) {
      const format = FORMATS.get(fileType.toLowerCase());
      if (!format) throw new ExtractError("unsupported_file", `Files of type '${fileType}' cannot be read.`);
      return untilAborted(
        inTurn("", () => extractNow(path, format, limits, signal)),
        signal,
      );
    },
  };
}

async function extractNow(
  path: string,
  format: Format,
  limits: Limits,
  signal: AbortSignal,
): Promise<ExtractedDocument> {
  const deadline = createDeadline(limits.timeoutMs, signal);
  deadline.check();
  const bytes = await readWhole(path, format.maxBytes(limits), signal);
  const document = await format.extract(bytes, limits, deadline);
  deadline.check();
  if (document.markdown.trim() === "") throw new ExtractError("invalid_file", "The file contains no text.");
  return document;
}

function textFormat(extract: Format["extract"]): Format {
  return { maxBytes: (limits) => Math.min(limits.maxBytes, limits.maxTextBytes), extract };
}

function packedFormat(extract: Format["extract"]): Format {
  return { maxBytes: (limits) => limits.maxBytes, extract };
}

/** Judges the size of the very file it then reads. */
async function readWhole(path: string, maxBytes: number, signal: AbortSignal): Promise<Buffer> {
  const file = await open(path, "r");
  try {
    const { size } = await file.stat();
    if (size === 0) throw new ExtractError("invalid_file", "The file is empty.");
    if (size > maxBytes) {
      const limit = Math.round(maxBytes / MEGABYTE);
      throw new ExtractError("invalid_file", `The file is too large: ${size} bytes, and the limit is ${limit} MB.`);
    }
    return await file.readFile({ signal });
  } finally {
    await file.close();
  }
}
