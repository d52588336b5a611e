import { isUtf8 } from "node:buffer";
import { ExtractError } from "../contracts/document.ts";
import { guessEncoding } from "./guess-encoding.ts";

/** Enough to tell; more takes time and changes nothing. */
const SAMPLE_BYTES = 16 * 1024;

/**
 * Text from bytes of unknown encoding, line ends as `\n`. A byte order mark decides; then what the file declares
 * about itself; then UTF-8 if the bytes are valid; then what language they would be in which encoding.
 */
export function decodeText(bytes: Uint8Array, declared = ""): string {
  const text = decodeBytes(bytes, declared);
  if (text.includes("\0")) throw new ExtractError("invalid_file", "The file is not text: it contains NUL bytes.");
  return text.includes("\r") ? text.replaceAll(/\r\n?/g, "\n") : text;
}

/** The same, whatever comes out: NULs and line ends stay. */
export function decodeBytes(bytes: Uint8Array, declared: string): string {
  const marked = byteOrderMark(bytes) || unmarkedUtf16(bytes);
  if (marked) return new TextDecoder(marked).decode(bytes);
  const label = decoderFor(declared);
  if (label && label !== "utf-8") return new TextDecoder(label).decode(bytes);
  if (isUtf8(bytes)) return new TextDecoder(hasEscapes(bytes) ? "iso-2022-jp" : "utf-8").decode(bytes);
  return new TextDecoder(guessEncoding(bytes)).decode(bytes);
}

function byteOrderMark(bytes: Uint8Array): string {
  const [first, second, third] = bytes;
  if (first === 0xef && second === 0xbb && third === 0xbf) return "utf-8";
  if (first === 0xff && second === 0xfe) return "utf-16le";
  if (first === 0xfe && second === 0xff) return "utf-16be";
  return "";
}

/**
 * Text of any language has blanks or line feeds; in UTF-16 each has a NUL beside it, always on the same side, and what
 * comes out has no control characters.
 */
function unmarkedUtf16(bytes: Uint8Array): string {
  const sample = bytes.subarray(0, SAMPLE_BYTES);
  if (bytes.length % 2 === 1 || !sample.includes(0)) return "";
  let [little, big] = [0, 0];
  for (let at = 0; at + 1 < sample.length; at += 2) {
    if (sample[at + 1] === 0) little += 1;
    else if (sample[at] === 0) big += 1;
  }
  if (little * big > 0) return "";
  const encoding = little > 0 ? "utf-16le" : "utf-16be";
  const isText = !/[[\p{Cc}\ufffd\ufffe\uffff]--[\t\n\f\r]]/v.test(new TextDecoder(encoding).decode(sample));
  return isText ? encoding : "";
}

/** Japanese in seven bits: what changes to its characters is written in no other text. */
function hasEscapes(bytes: Uint8Array): boolean {
  const at = bytes.indexOf(0x1b);
  return at !== -1 && bytes[at + 1] === 0x24 && (bytes[at + 2] === 0x40 || bytes[at + 2] === 0x42);
}

/** The name a decoder exists under, "" for none. A page that could be read up to its declaration is not UTF-16. */
export function decoderFor(declared: string): string {
  if (!declared) return "";
  try {
    const { encoding } = new TextDecoder(declared);
    return encoding.startsWith("utf-16") ? "utf-8" : encoding;
  } catch {
    return "";
  }
}

/** Browsers look at the first kilobyte, and then at every `<meta>` they come to; some heads are filled with styles first. */
const DECLARATION_BYTES = 1024 * 1024;
const TAG = /<(?:(!--)|(script|style)(?=[\s/>])|meta(?=[\s/])([^>]{0,1000}))/gi;

/** What a page or an XML file says of itself, "" for nothing. Comments and scripts say nothing. */
export function declaredEncoding(bytes: Uint8Array): string {
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, DECLARATION_BYTES)).toString(
    "latin1",
  );
  const xml = /^(?:\xef\xbb\xbf)?<\?xml[^>]{0,200}?encoding\s{0,9}=\s{0,9}["']([\w.-]{1,40})/i.exec(head)?.[1] ?? "";
  TAG.lastIndex = 0;
  for (let tag = TAG.exec(head); tag; tag = TAG.exec(head)) {
    const [, comment, raw, attributes = ""] = tag;
    const declared = /charset\s{0,9}=\s{0,9}["']?\s{0,9}([\w:.-]{1,40})/i.exec(attributes)?.[1];
    if (declared) return declared;
    const closing = comment ? "-->" : raw ? `</${raw}` : "";
    const end = closing ? indexOfClosing(head, closing, TAG.lastIndex) : TAG.lastIndex;
    if (end === -1) break;
    TAG.lastIndex = end;
  }
  return xml;
}

function indexOfClosing(head: string, closing: string, from: number): number {
  if (closing === "-->") return head.indexOf(closing, from);
  const pattern = new RegExp(closing, "gi");
  pattern.lastIndex = from;
  return pattern.exec(head)?.index ?? -1;
}
