import { zipSync } from "fflate";
import mammoth from "mammoth";
import { ExtractError, type ExtractedDocument } from "../contracts/document.ts";
import { decodeEntities } from "../lib/html/entities.ts";
import { parseHtml } from "../lib/html/parse-html.ts";
import type { Deadline } from "./deadline.ts";
import { guardElements } from "./guard-elements.ts";
import { htmlToMarkdown } from "./html/html-to-markdown.ts";
import { firstHeading } from "./markdown.ts";
import { guardZipSize, readZipDirectory, readZipEntry } from "./zip.ts";

/** The old binary Office container; with a .docx name it holds an encrypted document, or a .doc renamed. */
const COMPOUND_FILE = Buffer.from([0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1]);

const PARTS = /\.(?:xml|rels)$/i;
const TEXTLESS_PARTS = /^\/*(?:customXml|word\/(?:charts|diagrams|embeddings|glossary|theme))\//i;

const STYLE_MAP = [
  "p[style-name='Title'] => h1:fresh",
  "p[style-name='Subtitle'] => p:fresh",
  "p[style-name='Quote'] => blockquote > p:fresh",
  "p[style-name='Intense Quote'] => blockquote > p:fresh",
  "b => ",
  "i => ",
  "u => ",
  "strike => ",
];

export async function extractDocx(
  bytes: Buffer,
  limits: { readonly maxUnpackedBytes: number; readonly maxElements: number },
  deadline: Deadline,
): Promise<ExtractedDocument> {
  if (bytes.subarray(0, 8).equals(COMPOUND_FILE)) {
    throw new ExtractError("invalid_file", "The document is protected by a password, or not a .docx file.");
  }
  const parts = await readParts(bytes, limits.maxUnpackedBytes, deadline);
  if (!("word/document.xml" in parts) && !("_rels/.rels" in parts)) {
    throw new ExtractError("invalid_file", "The file is not a Word document.");
  }
  guardElements(Object.values(parts).map(toLatin1).join(""), limits.maxElements);
  // Packed anew from exactly the parts that were checked: two readers of one archive may see different entries.
  const checked = zipSync(parts, { level: 0 });
  const html = await deadline.race(toHtml(Buffer.from(checked.buffer, checked.byteOffset, checked.length)));
  await deadline.breathe();
  const markdown = htmlToMarkdown(parseHtml(html, deadline.check).root, deadline.check);
  return { title: firstHeading(markdown) || coreTitle(parts["docProps/core.xml"]), markdown };
}

/** Only what text comes from. Pictures, charts, embedded files and what add-ins store are never unpacked. */
async function readParts(bytes: Buffer, maxBytes: number, deadline: Deadline): Promise<Record<string, Uint8Array>> {
  const entries = readZipDirectory(bytes).filter(({ name }) => PARTS.test(name) && !TEXTLESS_PARTS.test(name));
  if (entries.some((entry) => entry.encrypted)) {
    throw new ExtractError("invalid_file", "The document is protected by a password.");
  }
  guardZipSize(entries, maxBytes);
  const parts: Record<string, Uint8Array> = {};
  for (const entry of entries) {
    deadline.check();
    parts[entry.name.replace(/^\/+/, "")] = await readZipEntry(bytes, entry);
  }
  return parts;
}

async function toHtml(docx: Buffer): Promise<string> {
  try {
    const convertImage = mammoth.images.imgElement(async () => ({ src: "" }));
    const { value } = await mammoth.convertToHtml({ buffer: docx }, { styleMap: STYLE_MAP, convertImage });
    return value;
  } catch (cause) {
    throw new ExtractError("invalid_file", "The Word document is damaged and cannot be read.", { cause });
  }
}

/** Markup is ASCII, and this is the cheapest way to look at it. */
function toLatin1(part: Uint8Array): string {
  return Buffer.from(part.buffer, part.byteOffset, part.length).toString("latin1");
}

function coreTitle(core: Uint8Array | undefined): string {
  const xml = Buffer.from(core ?? new Uint8Array()).toString("utf8", 0, 65_536);
  return decodeEntities(/<dc:title[^>]{0,200}>([^<]{0,500})<\/dc:title>/.exec(xml)?.[1] ?? "").trim();
}
