import { randomInt } from "node:crypto";
import { readFileSync } from "node:fs";
import { crc32 } from "node:zlib";
import { isErrno, writeFileAtomic } from "../../lib/atomic-file.ts";
import { fieldInRow } from "./field-in-row.ts";
import type { TableShape } from "./row-table.ts";
import { scanTable } from "./scan-table.ts";
import type { TableBytes } from "./table-bytes.ts";

/** A row number takes 21 bits, the hash of a key the other 32 of those that a number holds. */
const MOST_ROWS = 2 ** 21;
const HEAD_BYTES = 256;
const VERSION = 2;

/** Where the rows of a map file are, by the hashes of their keys. It is kept beside a large file, which then need not be read to be opened. */
export class TableIndex {
  readonly size: number;
  /** Hash and number of each row in one, sorted. */
  readonly #sorted: Float64Array<ArrayBuffer>;
  readonly #starts: Uint32Array<ArrayBuffer>;
  readonly #ends: Uint32Array<ArrayBuffer>;

  /** Names of attachments are part of keys: nobody must be able to choose some that all have one hash. */
  readonly #seed: number;

  private constructor(columns: Columns, seed: number) {
    this.#seed = seed;
    this.size = columns.sorted.length;
    this.#sorted = columns.sorted;
    this.#starts = columns.starts;
    this.#ends = columns.ends;
  }

  /**
   * undefined for a file that cannot be used in this form: a key stands twice, lines end in other ways than ours, or there are too
   * many rows. Throws CorruptTableError.
   */
  static scan(shape: TableShape, bytes: TableBytes): TableIndex | undefined {
    const rows = new GrowingColumns();
    const seed = randomInt(2 ** 31);
    let isUsable = bytes.length < 2 ** 32;
    scanTable(shape, bytes, (key, start, end, endsWell) => {
      isUsable &&= endsWell && rows.size < MOST_ROWS;
      if (isUsable) rows.add(hashOf(key, seed), start, end);
    });
    if (!isUsable) return undefined;
    const index = new TableIndex(rows.finish(), seed);
    return index.#hasTwice((row) => fieldInRow(bytes, index.startOf(row), index.endOf(row), shape.key))
      ? undefined
      : index;
  }

  /** undefined when there is none for the file that has this stamp, or it is damaged. */
  static load(path: string, stamp: string): TableIndex | undefined {
    const bytes = readWhole(path);
    const head = bytes && parseHead(bytes);
    if (!head || head.version !== VERSION || head.stamp !== stamp) return undefined;
    if (bytes.length !== HEAD_BYTES + head.rows * ROW_BYTES || crc32(bytes.subarray(HEAD_BYTES)) !== head.crc) {
      return undefined;
    }
    const at = bytes.byteOffset + HEAD_BYTES;
    const columns = {
      sorted: new Float64Array(bytes.buffer, at, head.rows),
      starts: new Uint32Array(bytes.buffer, at + head.rows * 8, head.rows),
      ends: new Uint32Array(bytes.buffer, at + head.rows * 12, head.rows),
    };
    return new TableIndex(columns, head.seed);
  }

  /** It can be had again, so nobody waits for the disk. */
  async save(path: string, stamp: string): Promise<void> {
    const columns = [this.#sorted, this.#starts, this.#ends].map(bytesOf);
    const crc = columns.reduce((sum, column) => crc32(column, sum), 0);
    const head = Buffer.alloc(HEAD_BYTES, " ");
    head.write(JSON.stringify({ version: VERSION, stamp, rows: this.size, seed: this.#seed, crc } satisfies Head));
    await writeFileAtomic(path, [head, ...columns], { flush: "later" });
  }

  startOf(row: number): number {
    return this.#starts[row] ?? 0;
  }

  endOf(row: number): number {
    return this.#ends[row] ?? 0;
  }

  /** The rows that may have this key: hardly ever more than one. */
  candidates(key: string): readonly number[] {
    const hash = hashOf(key, this.#seed) * MOST_ROWS;
    const rows: number[] = [];
    for (let at = this.#firstFrom(hash); at < this.size; at++) {
      const row = (this.#sorted[at] ?? 0) - hash;
      if (row >= MOST_ROWS) break;
      rows.push(row);
    }
    return rows;
  }

  #firstFrom(hash: number): number {
    let [low, high] = [0, this.size];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#sorted[middle] ?? 0) < hash) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #hasTwice(keyOf: (row: number) => string): boolean {
    for (let at = 1; at < this.size; at++) {
      const [before = 0, each = 0] = [this.#sorted[at - 1], this.#sorted[at]];
      if (Math.floor(before / MOST_ROWS) !== Math.floor(each / MOST_ROWS)) continue;
      if (keyOf(before % MOST_ROWS) === keyOf(each % MOST_ROWS)) return true;
    }
    return false;
  }
}

interface Columns {
  readonly sorted: Float64Array<ArrayBuffer>;
  readonly starts: Uint32Array<ArrayBuffer>;
  readonly ends: Uint32Array<ArrayBuffer>;
}

const ROW_BYTES = 16;

class GrowingColumns {
  #columns: Columns = emptyColumns(4096);
  size = 0;

  add(hash: number, start: number, end: number): void {
    if (this.size === this.#columns.sorted.length) this.#columns = copied(this.#columns, this.size * 2, this.size);
    this.#columns.sorted[this.size] = hash * MOST_ROWS + this.size;
    this.#columns.starts[this.size] = start;
    this.#columns.ends[this.size] = end;
    this.size += 1;
  }

  finish(): Columns {
    const columns = copied(this.#columns, this.size, this.size);
    columns.sorted.sort();
    return columns;
  }
}

function emptyColumns(rows: number): Columns {
  return { sorted: new Float64Array(rows), starts: new Uint32Array(rows), ends: new Uint32Array(rows) };
}

function copied(from: Columns, rows: number, filled: number): Columns {
  const columns = emptyColumns(rows);
  columns.sorted.set(from.sorted.subarray(0, filled));
  columns.starts.set(from.starts.subarray(0, filled));
  columns.ends.set(from.ends.subarray(0, filled));
  return columns;
}

function hashOf(key: string, seed: number): number {
  let hash = 0x811c9dc5 ^ seed;
  for (let at = 0; at < key.length; at++) hash = Math.imul(hash ^ key.charCodeAt(at), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return (hash ^ (hash >>> 13)) >>> 0;
}

function bytesOf({ buffer, byteOffset, byteLength }: Float64Array | Uint32Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}

function readWhole(path: string): Buffer<ArrayBuffer> | undefined {
  try {
    const bytes = readFileSync(path);
    // The columns begin where numbers of eight bytes may lie.
    return bytes.byteOffset % 8 === 0 ? bytes : Buffer.copyBytesFrom(bytes);
  } catch (error) {
    if (isErrno(error, "ENOENT")) return undefined;
    throw error;
  }
}

interface Head {
  readonly version: number;
  readonly stamp: string;
  readonly rows: number;
  readonly seed: number;
  readonly crc: number;
}

function parseHead(bytes: Buffer): Head | undefined {
  try {
    return JSON.parse(bytes.toString("utf8", 0, HEAD_BYTES)) as Head;
  } catch {
    return undefined;
  }
}
