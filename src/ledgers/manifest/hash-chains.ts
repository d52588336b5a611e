import { randomInt } from "node:crypto";

const NONE = -1;
const TEXT = Buffer.allocUnsafeSlow(64 * 1024);

/** What hashes begin with: nobody can name files so that all of them fall into one chain. */
export function newSeed(): number {
  return randomInt(0x7fffffff);
}

/** Of bytes from `start` up to `end`. */
export function hashBytes(seed: number, bytes: Uint8Array, start: number, end: number): number {
  let hash = seed;
  for (let at = start; at < end; at++) hash = mix(hash, bytes[at] ?? 0);
  return finish(hash);
}

/** The same as hashBytes() of the text in UTF-8. */
export function hashText(seed: number, text: string): number {
  const bytes = text.length * 3 <= TEXT.length ? TEXT : Buffer.from(text);
  return hashBytes(seed, bytes, 0, bytes === TEXT ? TEXT.write(text) : bytes.length);
}

function mix(hash: number, byte: number): number {
  return Math.imul(hash ^ byte, 0x01000193);
}

function finish(hash: number): number {
  const folded = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return folded ^ (folded >>> 13);
}

/**
 * The numbers of records by a hash of something they have; several may have the same. Twelve bytes a record, where a Map with the
 * texts themselves would take two hundred.
 */
export class HashChains {
  #hashes: Int32Array<ArrayBuffer>;
  #older = new Int32Array();
  #newest = new Int32Array();
  #size: number;

  /** `hashes`: those of `size` records, and room for more; its length is a power of two. */
  constructor(hashes: Int32Array<ArrayBuffer>, size: number) {
    this.#hashes = hashes;
    this.#size = size;
    this.#linkAll();
  }

  get hashes(): Int32Array<ArrayBuffer> {
    return this.#hashes;
  }

  /** The next record has this hash. */
  add(hash: number): void {
    if (this.#size === this.#hashes.length) this.#grow();
    this.#hashes[this.#size] = hash;
    this.#link(this.#size++);
  }

  hashOf(record: number): number {
    return this.#hashes[record] ?? 0;
  }

  /** The newest record with this hash, or the newest that is older than another one of them; -1 when there is none. */
  next(hash: number, than?: number): number {
    let at = (than === undefined ? this.#newest[hash & (this.#newest.length - 1)] : this.#older[than]) ?? NONE;
    while (at !== NONE && this.#hashes[at] !== hash) at = this.#older[at] ?? NONE;
    return at;
  }

  #link(record: number): void {
    const chain = (this.#hashes[record] ?? 0) & (this.#newest.length - 1);
    this.#older[record] = this.#newest[chain] ?? NONE;
    this.#newest[chain] = record;
  }

  #linkAll(): void {
    this.#older = new Int32Array(this.#hashes.length);
    this.#newest = new Int32Array(this.#hashes.length).fill(NONE);
    for (let record = 0; record < this.#size; record++) this.#link(record);
  }

  #grow(): void {
    const hashes = new Int32Array(this.#size * 2);
    hashes.set(this.#hashes);
    this.#hashes = hashes;
    this.#linkAll();
  }
}
