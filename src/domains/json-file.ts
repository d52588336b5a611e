import { isUtf8 } from "node:buffer";
import { BadInputError } from "../contracts/errors.ts";

/**
 * The JSON in a file that people edit too: UTF-8 or UTF-16, with or without a byte order mark. undefined for an empty
 * file. Bytes that are no text of these encodings are an error, so that nothing mangled is ever written back.
 */
export function parseJsonBytes(bytes: Uint8Array): unknown {
  const text = decode(bytes).trim();
  if (text === "") return undefined;
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new BadInputError("it is not valid JSON", { cause: error });
  }
}

/** The same text as UTF-8 without a byte order mark: the very same bytes where they are that already. */
export function toUtf8(bytes: Buffer): Buffer {
  if (encodingOf(bytes) !== "utf-8" || !isUtf8(bytes)) return Buffer.from(decode(bytes), "utf8");
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes;
}

export function toJsonText(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder(encodingOf(bytes), { fatal: true }).decode(bytes);
  } catch (error) {
    throw new BadInputError("it is neither UTF-8 nor UTF-16 text", { cause: error });
  }
}

/** JSON begins with an ASCII character, so without a mark the zero byte beside it gives UTF-16 away. */
function encodingOf(bytes: Uint8Array): string {
  const [first, second] = bytes;
  if ((first === 0xff && second === 0xfe) || (first !== 0 && second === 0)) return "utf-16le";
  if ((first === 0xfe && second === 0xff) || (first === 0 && second !== 0 && second !== undefined)) return "utf-16be";
  return "utf-8";
}
