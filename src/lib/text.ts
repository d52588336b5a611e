import { RemoteError } from "../contracts/errors.ts";

/** Returns `1 file`, `2 files`; `nouns` is for irregular plurals. */
export function plural(count: number, noun: string, nouns = `${noun}s`): string {
  return `${count} ${count === 1 ? noun : nouns}`;
}

export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Begins with a capital and ends with a full stop, unless it ends a sentence already. */
export function asSentence(text: string): string {
  const begun = capital(text);
  return /[.!?]$/.test(begun) ? begun : `${begun}.`;
}

/** Returns 1.5 MB. */
export function sayBytes(bytes: number): string {
  if (bytes < 1024) return `${bytes} bytes`;
  const units = ["KB", "MB", "GB"];
  const power = Math.min(units.length, Math.floor(Math.log2(bytes) / 10));
  return `${(bytes / 1024 ** power).toFixed(bytes < 10 * 1024 ** power ? 1 : 0)} ${units[power - 1]}`;
}

/** Removes these characters at the end. In one pass: `/x+$/` takes quadratic time for runs of x that end in something else. */
export function trimEnd(text: string, characters: string): string {
  let end = text.length;
  while (end > 0 && characters.includes(text[end - 1] ?? "")) end -= 1;
  return text.slice(0, end);
}

/** A stream of bytes that are in memory. */
export async function* oneChunk(bytes: Uint8Array): AsyncGenerator<Uint8Array, void> {
  yield bytes;
}

/** Passes the bytes on; throws if there are more than `maxBytes`, whatever the declared size. */
export async function* limitBytes(body: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<Uint8Array, void> {
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) throw new RemoteError(`it has become larger than the limit of ${maxBytes} bytes`);
    yield chunk;
  }
}

/** Returns the whole body; undefined if it has more than `maxBytes`, and then the rest is not read. */
export async function readUpTo(
  body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  maxBytes: number,
): Promise<Buffer<ArrayBuffer> | undefined> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** Compares by code units, which is the same everywhere: negative if `a` comes first. */
export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to be kept out.
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;

/**
 * Returns one line for a log, whatever names and documents contain: escapes line ends, control sequences and characters that change the
 * text direction.
 */
export function logLine(text: string): string {
  return text.replaceAll(CONTROL, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** Replaces escape sequences and other control characters by blanks, so that documents cannot control what shows them. */
export function plainText(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to be kept out.
  return text.replaceAll(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]+/g, " ").trim();
}

/** What is not seen, and read by programs: marks of direction, blanks without width, tags. Joiners belong to scripts and emoji. */
const UNSEEN = /[\u200b\u200e\u200f\u2028\u2029\u2060-\u2065\u206a-\u206f\ufeff\u{e0000}-\u{e0fff}]+/gu;

/** Returns a name or title of a document as one line of at most `most` characters, without what is not seen. */
export function plainLabel(text: string, most = 200): string {
  const line = [...plainText(text.replaceAll(UNSEEN, "")).replaceAll(/\s+/g, " ")];
  return line.length > most ? `${line.slice(0, most - 1).join("")}…` : line.join("");
}

/** Returns "a; b; and 3 more": the first `most` of different names. */
export function joinFirst(names: readonly string[], most: number): string {
  const different = [...new Set(names)];
  const rest = different.length - most;
  return [...different.slice(0, most), ...(rest > 0 ? [`and ${rest} more`] : [])].join("; ");
}
