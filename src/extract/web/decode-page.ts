import { isUtf8 } from "node:buffer";
import { declaredEncoding } from "../declared-encoding.ts";
import { decodeBytes, decoderFor } from "../decode-text.ts";

/** What servers are set up to claim of every file they have. */
const CLAIMED_BY_DEFAULT = /^(?:windows-125\d|iso-8859-\d+)$/;

const SAMPLE_BYTES = 16 * 1024;

/**
 * Text of an answer, whatever its bytes are. A byte order mark decides; then the charset of the header, what the page declares, and what the bytes look like.
 * Bytes that are UTF-8 are read as such where a one-byte encoding is claimed: no text in one of those looks like that by accident.
 */
export function decodePage(bytes: Uint8Array, contentType: string): string {
  const given = bytes.includes(0) && hasStrayNuls(bytes) ? bytes.filter((byte) => byte !== 0) : bytes;
  const claimed = decoderFor(charsetIn(contentType)) || declaredEncoding(given);
  const declared = CLAIMED_BY_DEFAULT.test(decoderFor(claimed)) && isUtf8(given) ? "" : claimed;
  const text = decodeBytes(given, declared).replaceAll("\0", "");
  return text.includes("\r") ? text.replaceAll(/\r\n?/g, "\n") : text;
}

/** In UTF-16 the markup alone has more. */
function hasStrayNuls(bytes: Uint8Array): boolean {
  const sample = bytes.subarray(0, SAMPLE_BYTES);
  return sample.reduce((count, byte) => (byte === 0 ? count + 1 : count), 0) * 10 < sample.length;
}

function charsetIn(contentType: string): string {
  return /;\s*charset\s*=\s*["']?([\w:.-]{1,40})/i.exec(contentType.slice(0, 500))?.[1] ?? "";
}
