import { decodeCsvRow, encodeCsvRow } from "../../lib/csv.ts";
import { fieldInRow } from "./field-in-row.ts";
import type { KeyIndex } from "./key-index.ts";
import { type KeySet, LIGHT_CHANGES, type Row, type RowRef, type RowTable, type TableShape } from "./row-table.ts";
import { scanTable } from "./scan-table.ts";
import type { TableBytes } from "./table-bytes.ts";
import { TablePieces } from "./table-pieces.ts";

/** A map file in memory: the bytes as they are on disk plus an index by key, and the rows changed since. */
export class CsvTable implements RowTable {
  readonly shape: TableShape;
  readonly #keys: KeyIndex;
  readonly #bytes: TableBytes;
  #starts = new Uint32Array(0);
  #ends = new Uint32Array(0);
  #slots = new Uint32Array(0);
  #count = 0;
  /** Every line ends as we end lines. */
  #endsWell = true;
  /** By slot, the number of its row plus one; rows changed since are in #changed and shadow it. */
  #rows = new Int32Array(0);
  readonly #changed = new Map<number, Row | null>();

  /** Throws CorruptTableError. No bytes are an empty table. */
  constructor(shape: TableShape, bytes: TableBytes, keys: KeyIndex) {
    this.shape = shape;
    this.#bytes = bytes;
    this.#keys = keys;
    scanTable(shape, bytes, (key, start, end, endsWell) => this.#addRow(key, start, end, endsWell));
    this.#rows = new Int32Array(keys.size);
    // A key that stands twice has the place of its last row.
    for (let row = 0; row < this.#count; row++) this.#rows[this.#slots[row] ?? 0] = row + 1;
  }

  get(key: string): Row | null {
    return this.read(this.peek(key));
  }

  peek(key: string): RowRef {
    const slot = this.#keys.find(key);
    if (slot === undefined) return null;
    if (this.#changed.size > 0) {
      const changed = this.#changed.get(slot);
      if (changed !== undefined) return changed;
    }
    const row = this.#rows[slot];
    return row ? row - 1 : null;
  }

  read(ref: RowRef): Row | null {
    return typeof ref === "number" ? decodeCsvRow(this.#record(ref)) : ref;
  }

  field(key: string, column: number): string {
    const ref = this.peek(key);
    if (typeof ref !== "number") return ref?.[column] ?? "";
    return fieldInRow(this.#bytes, this.#starts[ref] ?? 0, this.#ends[ref] ?? 0, column);
  }

  encoded(key: string): string {
    const ref = this.peek(key);
    if (ref === null) return "";
    return typeof ref === "number" ? this.#record(ref) : encodeCsvRow(ref);
  }

  set(key: string, row: Row | null): void {
    this.#changed.set(this.#keys.claim(key), row);
  }

  keys(): KeySet {
    const [keys, rows, changed] = [this.#keys, this.#rows, new Set(this.#changed.keys())];
    const isIn = (slot: number): boolean => (rows[slot] !== undefined && rows[slot] !== 0) || changed.has(slot);
    const { size } = keys;
    return {
      has(key) {
        const slot = keys.find(key);
        return slot !== undefined && isIn(slot);
      },
      *[Symbol.iterator]() {
        for (let slot = 0; slot < size; slot++) if (isIn(slot)) yield keys.keyAt(slot);
      },
    };
  }

  get isHeavy(): boolean {
    return this.#changed.size > Math.max(LIGHT_CHANGES, this.#count / 16);
  }

  encode(): Iterable<Buffer> {
    const file = new TablePieces(this.#bytes);
    file.addText(encodeCsvRow(this.shape.columns));
    for (let row = 0; row < this.#count; row++) {
      const slot = this.#slots[row] ?? 0;
      if (this.#rows[slot] !== row + 1) continue;
      const changed = this.#changed.get(slot);
      if (changed === undefined && this.#endsWell) file.addRow(this.#starts[row] ?? 0, this.#ends[row] ?? 0);
      else if (changed === undefined) file.addText(this.#record(row));
      else if (changed !== null) file.addText(encodeCsvRow(changed));
    }
    for (const [slot, row] of this.#changed) {
      if (row !== null && !this.#rows[slot]) file.addText(encodeCsvRow(row));
    }
    return file.all();
  }

  #record(row: number): string {
    return this.#bytes.text(this.#starts[row] ?? 0, this.#ends[row] ?? 0);
  }

  #addRow(key: string, start: number, end: number, endsWell: boolean): void {
    const row = this.#count;
    if (row === this.#starts.length) this.#grow();
    this.#starts[row] = start;
    this.#ends[row] = end;
    if (!endsWell) this.#endsWell = false;
    this.#slots[row] = this.#keys.claim(key);
    this.#count = row + 1;
  }

  /** To what the bytes so far make likely. */
  #grow(): void {
    const rows = this.#starts.length;
    const scanned = rows ? (this.#ends[rows - 1] ?? 0) / this.#bytes.length : 0;
    const more = Math.max(64, Math.ceil((rows * 1.1) / Math.max(scanned, 0.1)), rows + 64);
    const grown = (before: Uint32Array<ArrayBuffer>): Uint32Array<ArrayBuffer> => {
      const after = new Uint32Array(more);
      after.set(before);
      return after;
    };
    [this.#starts, this.#ends, this.#slots] = [grown(this.#starts), grown(this.#ends), grown(this.#slots)];
  }
}
