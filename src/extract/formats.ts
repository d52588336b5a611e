import { ExtractError } from "../contracts/document.ts";
import type { ByteSource } from "./byte-source.ts";
import type { ExtractLimits } from "./limits.ts";
import { extractMarkdown } from "./markdown.ts";
import { CODE_LANGUAGES, extractCode, extractPlainText, PROSE_TYPES } from "./plain-text.ts";

/** What a format gives; the language is told from the text afterwards. */
export interface ReadText {
  readonly title: string;
  readonly markdown: string;
}

export interface Format {
  /** In a sentence: "The file is not …". */
  readonly name: string;
  /** Text itself, perhaps with markup. */
  readonly isText: boolean;
  /**
   * Up to this size a file is read in the server itself: our own readers need time in proportion to the length, here a few
   * milliseconds at most, which is what asking a reader costs. 0 is never.
   */
  readonly maxBytesHere: number;
  read(source: ByteSource, limits: ExtractLimits): ReadText | Promise<ReadText>;
}

const PLAIN_BYTES_HERE = 64 * 1024;
const MARKUP_BYTES_HERE = 16 * 1024;

// Libraries are loaded with the first file that needs them.
const HTML = markup("a web page", async (source) => (await import("./html.ts")).extractHtml(source.all()));
const MARKDOWN = text("text", (source) => extractMarkdown(source.all()));
const WORD = packed("a Word document", async (source, limits) =>
  (await import("./docx.ts")).extractDocx(source, limits),
);
const SLIDES = packed("a PowerPoint presentation", async (source, limits) =>
  (await import("./pptx.ts")).extractPptx(source, limits),
);
const WORKBOOK = packed("an Excel workbook", async (source, limits) =>
  (await import("./xlsx.ts")).extractXlsx(source, limits),
);
const TABLE = markup("text", async (source, limits) => (await import("./csv.ts")).extractCsv(source.all(), limits));

const FORMATS: ReadonlyMap<string, Format> = new Map<string, Format>([
  ...PROSE_TYPES.map((type): [string, Format] => [type, text("text", (source) => extractPlainText(source.all()))]),
  ...[...CODE_LANGUAGES].map(([type, language]): [string, Format] => [
    type,
    (language === "json" ? markup : text)("text", (source) => extractCode(source.all(), language)),
  ]),
  ["md", MARKDOWN],
  ["markdown", MARKDOWN],
  ["html", HTML],
  ["htm", HTML],
  ["xhtml", HTML],
  ["csv", TABLE],
  ["tsv", TABLE],
  ["docx", WORD],
  ["docm", WORD],
  ["pptx", SLIDES],
  ["pptm", SLIDES],
  ["ppsx", SLIDES],
  ["xlsx", WORKBOOK],
  ["xlsm", WORKBOOK],
  [
    "pdf",
    packed("a PDF document", async (source, limits) => (await import("./pdf.ts")).extractPdf(source.all(), limits)),
  ],
  ["rtf", packed("a Rich Text document", async (source) => (await import("./rtf.ts")).extractRtf(source.all()))],
  [
    "eml",
    packed("an e-mail message", async (source, limits) => (await import("./eml.ts")).extractEml(source.all(), limits)),
  ],
  [
    "msg",
    packed("an Outlook message", async (source, limits) => (await import("./msg.ts")).extractMsg(source.all(), limits)),
  ],
]);

export const READABLE_TYPES: ReadonlySet<string> = new Set(FORMATS.keys());

export function formatOf(fileType: string): Format {
  const format = FORMATS.get(fileType.toLowerCase());
  if (!format) throw new ExtractError("unsupported_file", `Files of type '${fileType}' cannot be read.`);
  return format;
}

function text(name: string, read: Format["read"]): Format {
  return { name, isText: true, maxBytesHere: PLAIN_BYTES_HERE, read };
}

function markup(name: string, read: Format["read"]): Format {
  return { name, isText: true, maxBytesHere: MARKUP_BYTES_HERE, read };
}

function packed(name: string, read: Format["read"]): Format {
  return { name, isText: false, maxBytesHere: 0, read };
}
