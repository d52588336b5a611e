import { type FileHandle, open } from "node:fs/promises";
import { isErrno } from "./atomic-file.ts";
import { openIfExists } from "./file-system.ts";
import { logLine } from "./text.ts";

const PIECE_BYTES = 1024 * 1024;
const MASK = 0x2a;

/** Words to look for in files, in every spelling in which our files have them. */
export class WordFinder {
  readonly #needles: readonly Buffer[];
  readonly #longest: number;
  readonly #within: boolean;

  /** `within`: finds them within other words, too, as where columns lie side by side. */
  constructor(words: Iterable<string>, { within = false }: { readonly within?: boolean } = {}) {
    this.#within = within;
    const spellings = new Set([...words].filter((word) => word !== "").flatMap(spellingsOf));
    // Longest first: if two begin at the same byte, the longer one is found.
    this.#needles = [...spellings].map((text) => Buffer.from(text)).sort((a, b) => b.length - a.length);
    this.#longest = this.#needles[0]?.length ?? 0;
  }

  get isEmpty(): boolean {
    return this.#needles.length === 0;
  }

  /** Bytes that two pieces of a file must share, so that no word is cut. */
  get overlap(): number {
    return this.#longest + 8;
  }

  /** Whether the bytes have one of the words. */
  isIn(bytes: Buffer): boolean {
    return this.#needles.some((needle) => this.#next(bytes, needle, 0) >= 0);
  }

  /** Returns the text with the words overwritten by asterisks. */
  mask(text: string): string {
    const bytes = Buffer.from(text);
    const places = [...this.places(bytes)];
    for (const { at, length } of places) bytes.fill(MASK, at, at + length);
    return places.length > 0 ? bytes.toString() : text;
  }

  /** Returns the places of the words, which may overlap. */
  *places(bytes: Buffer): Generator<{ readonly at: number; readonly length: number }> {
    for (const needle of this.#needles) {
      for (let at = this.#next(bytes, needle, 0); at >= 0; at = this.#next(bytes, needle, at + needle.length)) {
        yield { at, length: needle.length };
      }
    }
  }

  #next(bytes: Buffer, needle: Buffer, from: number): number {
    for (let at = bytes.indexOf(needle, from); at >= 0; at = bytes.indexOf(needle, at + 1)) {
      if (this.#within) return at;
      if (!isWordByte(bytes[at - 1], needle[0]) && !isWordByte(bytes[at + needle.length], needle.at(-1))) return at;
    }
    return -1;
  }
}

/** Whether `beside` goes on with the word that ends, or begins, with `edge`: `plan.md` is not in `myplan.md`. */
function isWordByte(beside: number | undefined, edge: number | undefined): boolean {
  return isLetter(beside) && isLetter(edge);
}

function isLetter(byte: number | undefined): boolean {
  if (byte === undefined) return false;
  return byte >= 0x80 || (byte >= 48 && byte <= 57) || (byte >= 65 && byte <= 90) || (byte >= 97 && byte <= 122);
}

/** As it is, as logs have it, in JSON, in JSON within JSON, percent-encoded in both ways, and with backslashes, as map files have paths. */
function spellingsOf(word: string): string[] {
  const encode = (text: string): string => JSON.stringify(text).slice(1, -1);
  const plain = [word, word.replaceAll("/", "\\")].flatMap((text) => [text, logLine(text)]);
  const inAddresses = [encodeURI(word.toWellFormed()), encodeURIComponent(word.toWellFormed())];
  const forms = new URLSearchParams({ x: word }).toString().slice(2);
  return [...plain, ...plain.map(encode), ...plain.map((text) => encode(encode(text))), ...inAddresses, forms];
}

/**
 * Overwrites the words in a file by asterisks of the same length, in place: others may have it open, and append to it. Its times
 * stay. Returns how many places there were; a missing file has none.
 */
export async function maskInFile(path: string, finder: WordFinder): Promise<number> {
  await using file = await open(path, "r+").catch((error: unknown) => {
    if (isErrno(error, "ENOENT", "EISDIR")) return undefined;
    throw error;
  });
  if (!file) return 0;
  const { atime, mtime, size } = await file.stat();
  let masked = 0;
  for await (const { at, bytes } of piecesOf(file, size, finder)) {
    for (const place of finder.places(bytes)) {
      const mask = Buffer.alloc(place.length, MASK);
      await file.write(mask, 0, mask.length, at + place.at);
      masked += 1;
    }
  }
  if (masked > 0) {
    await file.sync();
    await file.utimes(atime, mtime);
  }
  return masked;
}

/** Whether a file has one of the words. */
export async function isInFile(path: string, finder: WordFinder): Promise<boolean> {
  await using file = await openIfExists(path);
  if (!file) return false;
  const { size } = await file.stat();
  for await (const { bytes } of piecesOf(file, size, finder)) if (finder.isIn(bytes)) return true;
  return false;
}

async function* piecesOf(
  file: FileHandle,
  size: number,
  finder: WordFinder,
): AsyncGenerator<{ readonly at: number; readonly bytes: Buffer }> {
  if (finder.isEmpty) return;
  const length = PIECE_BYTES + finder.overlap;
  for (let at = 0; at < size; at += PIECE_BYTES) {
    const buffer = Buffer.alloc(Math.min(length, size - at));
    const { bytesRead } = await file.read(buffer, 0, buffer.length, at);
    yield { at, bytes: buffer.subarray(0, bytesRead) };
  }
}
