const QUOTE = 34;
const BACKSLASH = 92;
const LAST_ASCII = 127;

/** An entry as encodeEntry() writes it, from `start` up to `end`. */
export interface EncodedEntry {
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
}

export function follows(bytes: Buffer, at: number, mark: Buffer): boolean {
  if (at < 0) return false;
  for (let i = 0; i < mark.length; i++) if (bytes[at + i] !== mark[i]) return false;
  return true;
}

/** Where that ends which is to stand at `at`; -1, here as in the others, when it does not, or `at` is -1 itself. */
export function behind(mark: Buffer, bytes: Buffer, at: number): number {
  return follows(bytes, at, mark) ? at + mark.length : -1;
}

/** Where the text that begins at `at` ends; -1 when it is written with escapes, or does not end. */
export function endOfText(bytes: Buffer, at: number, end: number): number {
  if (at < 0) return -1;
  for (; at < end; at++) {
    const byte = bytes[at];
    if (byte === QUOTE) return at;
    if (byte === BACKSLASH) return -1;
  }
  return -1;
}

/** The same for this very text. What follows it has to be looked at: the text that is there may be longer. */
export function endOf(text: string, bytes: Buffer, at: number, end: number): number {
  if (at < 0) return -1;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code > LAST_ASCII) {
      const textEnd = endOfText(bytes, at, end);
      return textEnd >= 0 && bytes.toString("utf8", at, textEnd) === text ? textEnd : -1;
    }
    // As text they mean themselves, as bytes the beginning of an escape or the end.
    if (code !== bytes[at + i] || code === BACKSLASH || code === QUOTE) return -1;
  }
  return at + text.length;
}
