import { createHash } from "node:crypto";

export function hashText(text: string | Uint8Array): string {
  return createHash("sha256").update(text).digest("hex");
}

/** Without making the words: a text may be tens of megabytes. */
export function countWords(text: string): number {
  let count = 0;
  let inWord = false;
  for (let i = 0; i < text.length; i++) {
    const isSpace = SPACES.has(text.charCodeAt(i));
    if (!isSpace && !inWord) count += 1;
    inWord = !isSpace;
  }
  return count;
}

const SPACES: ReadonlySet<number> = new Set([0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x20, 0xa0, 0x2028, 0x2029, 0x3000]);
