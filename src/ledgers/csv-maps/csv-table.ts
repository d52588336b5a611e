import { decodeCsvRow, encodeCsvRow } from "../../lib/csv.ts";
import type { KeyIndex } from "./key-index.ts";

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
const LF = 10;
const CR = 13;

/**
 * A map file in memory: the bytes as they are on disk plus an index by key, and the rows changed since. Rows are decoded
 * when asked for, because a table of 100,000 rows as JavaScript strings would weigh several times the file.
 */
export class CsvTable {
  readonly shape: TableShape;
  readonly #keys: KeyIndex;
  readonly #bytes: Buffer;
  readonly #starts: number[] = [];
  readonly #ends: number[] = [];
  readonly #slots: number[] = [];
  /** By slot, the number of its row plus one; rows changed since are in #changed and shadow it. */
  #rows = new Int32Array(0);
  readonly #changed = new Map<number, Row | null>();

  /** Throws CorruptTableError. An empty buffer is an empty table. */
  constructor(shape: TableShape, bytes: Buffer, keys: KeyIndex) {
    this.shape = shape;
    this.#bytes = bytes;
    this.#keys = keys;
    this.#scan();
    this.#rows = new Int32Array(keys.size);
    // A key that stands twice has the place of its last row.
    for (const [row, slot] of this.#slots.entries()) this.#rows[slot] = row + 1;
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

  /** The row as it stands in the file, "" when there is none: enough to tell whether it would change. */
  encoded(slot: number): string {
    const ref = this.peek(slot);
    if (ref === null) return "";
    return typeof ref === "number" ? this.#record(ref) : encodeCsvRow(ref);
  }

  set(key: string, row: Row | null): void {
    this.#changed.set(this.#keys.claim(key), row);
  }

  /** The whole file: rows in their old order, new ones behind. */
  encode(): Buffer {
    const parts: Buffer[] = [Buffer.from(`${encodeCsvRow(this.shape.columns)}\r\n`)];
    for (const [row, slot] of this.#slots.entries()) {
      const changed = this.#changed.get(slot);
      if (changed === null || this.#rows[slot] !== row + 1) continue;
      parts.push(changed === undefined ? this.#slice(row) : Buffer.from(encodeCsvRow(changed)), CRLF);
    }
    for (const [slot, row] of this.#changed) {
      if (row !== null && !this.#rows[slot]) parts.push(Buffer.from(encodeCsvRow(row)), CRLF);
    }
    return Buffer.concat(parts);
  }

  #slice(row: number): Buffer {
    return this.#bytes.subarray(this.#starts[row] ?? 0, this.#ends[row] ?? 0);
  }

  #record(row: number): string {
    return this.#bytes.toString("utf8", this.#starts[row] ?? 0, this.#ends[row] ?? 0);
  }

  /** One pass over the bytes: record borders, field counts, keys. */
  #scan(): void {
    const scanner = new RecordScanner(this.#bytes, this.shape.key);
    if (startsWithBom(this.#bytes)) scanner.next = 3;
    let row = -1;
    for (; scanner.next < this.#bytes.length; row++) {
      const start = scanner.next;
      scanner.scan();
      if (!scanner.closed) throw new CorruptTableError("the last row is cut");
      if (row < 0) this.#checkHeader(this.#bytes.toString("utf8", start, scanner.end));
      else this.#addRow(row, start, scanner);
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

  #addRow(row: number, start: number, record: RecordScanner): void {
    if (record.fields !== this.shape.columns.length) {
      throw new CorruptTableError(`row ${row + 2} has ${record.fields} fields instead of ${this.shape.columns.length}`);
    }
    this.#starts.push(start);
    this.#ends.push(record.end);
    const key = record.quoted
      ? (decodeCsvRow(this.#record(row))[this.shape.key] ?? "")
      : this.#bytes.toString("utf8", record.keyStart, record.keyEnd);
    if (key === "") throw new CorruptTableError(`row ${row + 2} has no ${this.shape.columns[this.shape.key]}`);
    this.#slots.push(this.#keys.claim(key));
  }
}

const CRLF = Buffer.from("\r\n");

/** One scanner for a whole table: what it found of the last record is in its fields, so that a row costs no object. */
class RecordScanner {
  readonly #bytes: Buffer;
  readonly #keyField: number;
  /** Where the next record begins. */
  next = 0;
  /** Behind the last byte of the record, without its line end. */
  end = 0;
  fields = 0;
  quoted = false;
  keyStart = 0;
  keyEnd = 0;
  /** false: the file ends inside a quoted field or without a line end. */
  closed = true;

  constructor(bytes: Buffer, keyField: number) {
    this.#bytes = bytes;
    this.#keyField = keyField;
  }

  scan(): void {
    const bytes = this.#bytes;
    const keyField = this.#keyField;
    let fields = 1;
    let quoted = false;
    let inQuotes = false;
    let keyEnd = -1;
    this.keyStart = this.next;
    let at = this.next;
    for (; at < bytes.length; at++) {
      const byte = bytes[at];
      if (byte === QUOTE) {
        quoted = true;
        inQuotes = !inQuotes;
      } else if (inQuotes) {
        // Commas and line ends inside quotes belong to the field.
      } else if (byte === COMMA) {
        if (fields === keyField) this.keyStart = at + 1;
        else if (fields === keyField + 1) keyEnd = at;
        fields += 1;
      } else if (byte === LF) {
        break;
      }
    }
    this.closed = at < bytes.length;
    this.end = this.closed && bytes[at - 1] === CR ? at - 1 : at;
    this.keyEnd = keyEnd < 0 ? this.end : keyEnd;
    this.next = at + 1;
    this.fields = fields;
    this.quoted = quoted;
  }
}

function startsWithBom(bytes: Buffer): boolean {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
}
