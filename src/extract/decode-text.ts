import { ExtractError } from "../contracts/document.ts";

/**
 * Text from bytes of unknown encoding, line ends as `\n`. A byte order mark decides; then what the file declares
 * about itself; then UTF-8 if the bytes are valid; then windows-1252, which accepts anything.
 */
export function decodeText(bytes: Uint8Array, declared = ""): string {
  const text = decode(bytes, declared);
  if (text.includes("\0")) throw new ExtractError("invalid_file", "The file is not text: it contains NUL bytes.");
  return text.includes("\r") ? text.replaceAll(/\r\n?/g, "\n") : text;
}

function decode(bytes: Uint8Array, declared: string): string {
  const marked = byteOrderMark(bytes);
  if (marked) return new TextDecoder(marked).decode(bytes);
  const label = decoderFor(declared);
  if (label && label !== "utf-8") return new TextDecoder(label).decode(bytes);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return new TextDecoder("windows-1252").decode(bytes);
  }
}

function byteOrderMark(bytes: Uint8Array): string {
  const [first, second, third] = bytes;
  if (first === 0xef && second === 0xbb && third === 0xbf) return "utf-8";
  if (first === 0xff && second === 0xfe) return "utf-16le";
  if (first === 0xfe && second === 0xff) return "utf-16be";
  return "";
}

/** The name a decoder exists under, "" for none. A page that could be read up to its declaration is not UTF-16. */
function decoderFor(declared: string): string {
  if (!declared) return "";
  try {
    const { encoding } = new TextDecoder(declared);
    return encoding.startsWith("utf-16") ? "utf-8" : encoding;
  } catch {
    return "";
  }
}
