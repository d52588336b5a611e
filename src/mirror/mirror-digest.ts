import type { FileOnDisk } from "./visit-files.ts";

/** What a digest is made of, as it travels between threads. */
export interface DigestSums {
  readonly a: number;
  readonly b: number;
  readonly files: number;
}

/**
 * Stands for the names, sizes and times of all files of a mirror. It is a sum over them, so that it does not depend on
 * the order in which they are met, and goes along with a change for the price of the files that changed.
 */
export class MirrorDigest {
  #a: number;
  #b: number;
  #files: number;

  constructor({ a, b, files }: DigestSums = { a: 0, b: 0, files: 0 }) {
    this.#a = a;
    this.#b = b;
    this.#files = files;
  }

  static of(disk: ReadonlyMap<string, FileOnDisk>): MirrorDigest {
    const digest = new MirrorDigest();
    for (const [path, file] of disk) digest.add(path, file);
    return digest;
  }

  /** What toString() gave. */
  static parse(text: string): MirrorDigest {
    const [files = "", a = "", b = ""] = text.split(" ");
    return new MirrorDigest({ files: Number(files), a: Number.parseInt(a, 16), b: Number.parseInt(b, 16) });
  }

  get files(): number {
    return this.#files;
  }

  get sums(): DigestSums {
    return { a: this.#a, b: this.#b, files: this.#files };
  }

  add(path: string, file: FileOnDisk): void {
    this.#count(path, file, 1);
  }

  /** undefined: there was, or is, nothing. */
  replace(path: string, before: FileOnDisk | undefined, now: FileOnDisk | undefined): void {
    if (before) this.#count(path, before, -1);
    if (now) this.#count(path, now, 1);
  }

  toString(): string {
    return `${this.#files} ${this.#a.toString(16)} ${this.#b.toString(16)}`;
  }

  /** Two sums of 32 bits each. A cryptographic hash of every file would take longer than to look at it. */
  #count(path: string, { size, mtimeMs }: FileOnDisk, times: 1 | -1): void {
    let [a, b] = [0x811c9dc5, 0x9747b28c];
    for (let at = 0; at < path.length; at++) {
      a = turnA(a, path.charCodeAt(at));
      b = turnB(b, path.charCodeAt(at));
    }
    NUMBERS[0] = size;
    NUMBERS[1] = mtimeMs;
    for (const word of WORDS) {
      a = turnA(a, word);
      b = turnB(b, word);
    }
    this.#a = (this.#a + times * spread(a)) >>> 0;
    this.#b = (this.#b + times * spread(b)) >>> 0;
    this.#files += times;
  }
}

/** The bits of two numbers. */
const NUMBERS = new Float64Array(2);
const WORDS = new Uint32Array(NUMBERS.buffer);

function turnA(sum: number, word: number): number {
  const product = Math.imul(sum ^ word, 0x85ebca6b);
  return product ^ (product >>> 13);
}

function turnB(sum: number, word: number): number {
  const product = Math.imul(sum ^ word, 0x01000193);
  return product ^ (product >>> 15);
}

/** Every bit depends on every other: in a sum, two files that exchanged sizes would otherwise look like before. */
function spread(sum: number): number {
  let mixed = Math.imul(sum ^ (sum >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}
