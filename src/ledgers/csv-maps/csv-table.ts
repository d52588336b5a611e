import { decodeCsvRow, encodeCsvRow } from "../../lib/csv.ts";
import type { KeyIndex } from "./key-index.ts";
import { RecordScanner } from "./record-scanner.ts";
import type { TableBytes } from "./table-bytes.ts";
import { TablePieces } from "./table-pieces.ts";

export type Row = readonly string[];

/** A row that was set, the number of one that is still only in the bytes, or null for none. */
export type RowRef = Row | number | null;

/** The columns of one map file and which of them is the key. */
export interface TableShape {
  readonly columns: readonly string[];
  readonly key: number;
}

/** The file is not what we write: wrong header, wrong number of fields, cut in the middle. */
export class CorruptTableError extends Error {
  override readonly name: string = "CorruptTableError";
}

const COMMA = 44;
const QUOTE = 34;
const CR = 13;

/**
 * A map file in memory: the bytes as they are on disk plus an index by key, and the rows changed since. Rows are decoded
 * when asked for, because a table of 100,000 rows as JavaScript strings would weigh several times the file.
 */
export class CsvTable {
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
    this.#scan();
    this.#rows = new Int32Array(keys.size);
    // A key that stands twice has the place of its last row.
    for (let row = 0; row < this.#count; row++) this.#rows[this.#slots[row] ?? 0] = row + 1;
  }

  get(key: string): Row | null {
    const slot = this.#keys.find(key);
    return slot === undefined ? null : this.read(this.peek(slot));
  }

  /** Where a row is now. Reading it later gives what it was now, whatever was set meanwhile. */
  peek(slot: number): RowRef {
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

  /** One field of a row, "" when there is none: of all rows in turn, to decode the others would cost most. */
  field(slot: number, column: number): string {
    const ref = this.peek(slot);
    if (typeof ref !== "number") return ref?.[column] ?? "";
    const [from, to] = [this.#starts[ref] ?? 0, this.#ends[ref] ?? 0];
    const bytes = this.#bytes.view(from, to);
    let start = this.#bytes.offset;
    const end = start + to - from;
    let [at, inQuotes, fields] = [start, false, 0];
    for (; at < end; at++) {
      const byte = bytes[at];
      if (byte === QUOTE) inQuotes = !inQuotes;
      if (byte !== COMMA || inQuotes) continue;
      if (fields === column) break;
      fields += 1;
      start = at + 1;
    }
    if (fields < column) return "";
    const text = bytes.toString("utf8", start, at);
    return bytes[start] === QUOTE ? (decodeCsvRow(text)[0] ?? "") : text;
  }

  /** The row as it stands in the file, "" when there is none: enough to tell whether it would change. */
  encoded(slot: number): string {
    const ref = this.peek(slot);
    if (ref === null) return "";
    return typeof ref === "number" ? this.#record(ref) : encodeCsvRow(ref);
  }

  set(key: string, row: Row | null): void {
    this.#changed.set(this.#keys.claim(key), row);
  }

  /** So many rows were changed that the bytes of the file are the lighter form of them. */
  get isHeavy(): boolean {
    return this.#changed.size > Math.max(LIGHT_CHANGES, this.#count / 16);
  }

  /**
   * The whole file as it is at this moment, in pieces: rows in their old order, new ones behind. Rows that did not change are
   * not copied, however many they are.
   */
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

  /** One pass over the bytes, window by window: record borders, field counts, keys. */
  #scan(): void {
    let row = -1;
    let at = startsWithBom(this.#bytes) ? 3 : 0;
    for (let size = SCANNED_AT_ONCE; at < this.#bytes.length; ) {
      const end = Math.min(this.#bytes.length, at + size);
      const window = this.#bytes.view(at, end).subarray(this.#bytes.offset, this.#bytes.offset + end - at);
      const scanner = new RecordScanner(window, this.shape.key);
      let start = 0;
      for (; scanner.next < window.length; start = scanner.next) {
        scanner.scan();
        if (!scanner.closed) break;
        if (row < 0) this.#checkHeader(window.toString("utf8", start, scanner.end));
        else this.#addRow(row, at, start, scanner, window);
        row += 1;
      }
      if (!scanner.closed && end === this.#bytes.length) throw new CorruptTableError("the last row is cut");
      // A record that is longer than the window.
      size = start === 0 ? size * 2 : SCANNED_AT_ONCE;
      at += start;
    }
    if (row < 0 && this.#bytes.length > 0) throw new CorruptTableError("the header is missing");
  }

  #checkHeader(text: string): void {
    const found = decodeCsvRow(text);
    const wanted = this.shape.columns;
    if (found.length !== wanted.length || found.some((name, i) => name !== wanted[i])) {
      throw new CorruptTableError(`the header is not '${encodeCsvRow(wanted)}'`);
    }
  }

  /** `windowAt`: where in the file the window begins. */
  #addRow(row: number, windowAt: number, start: number, record: RecordScanner, window: Buffer): void {
    if (record.fields !== this.shape.columns.length) {
      throw new CorruptTableError(`row ${row + 2} has ${record.fields} fields instead of ${this.shape.columns.length}`);
    }
    if (row === this.#starts.length) this.#grow();
    this.#starts[row] = windowAt + start;
    this.#ends[row] = windowAt + record.end;
    if (window[record.end] !== CR) this.#endsWell = false;
    const key = record.quoted
      ? (decodeCsvRow(window.toString("utf8", start, record.end))[this.shape.key] ?? "")
      : window.toString("utf8", record.keyStart, record.keyEnd);
    if (key === "") throw new CorruptTableError(`row ${row + 2} has no ${this.shape.columns[this.shape.key]}`);
    this.#slots[row] = this.#keys.claim(key);
    this.#count = row + 1;
  }

  /** To what the bytes so far make likely. */
  #grow(): void {
    const scanned = this.#starts.length ? (this.#ends[this.#starts.length - 1] ?? 0) / this.#bytes.length : 0;
    const rows = Math.max(
      64,
      Math.ceil((this.#starts.length * 1.1) / Math.max(scanned, 0.1)),
      this.#starts.length + 64,
    );
    const grown = (before: Uint32Array<ArrayBuffer>): Uint32Array<ArrayBuffer> => {
      const after = new Uint32Array(rows);
      after.set(before);
      return after;
    };
    [this.#starts, this.#ends, this.#slots] = [grown(this.#starts), grown(this.#ends), grown(this.#slots)];
  }
}

/** Changed rows weigh several times what they weigh as bytes; a few do not matter. */
const LIGHT_CHANGES = 1000;
const SCANNED_AT_ONCE = 1024 * 1024;

function startsWithBom(bytes: TableBytes): boolean {
  if (bytes.length < 3) return false;
  const [a, b, c] = bytes.view(0, 3).subarray(bytes.offset);
  return a === 0xef && b === 0xbb && c === 0xbf;
}
