import { decodeCsvRow, encodeCsvRow } from "../../lib/csv.ts";
import { fieldInRow } from "./field-in-row.ts";
import { type KeySet, LIGHT_CHANGES, type Row, type RowRef, type RowTable, type TableShape } from "./row-table.ts";
import type { TableBytes } from "./table-bytes.ts";
import type { TableIndex } from "./table-index.ts";
import { TablePieces } from "./table-pieces.ts";

/** A map file that is left on disk: of its rows, only those that were changed are in memory, and the places of the others. */
export class LargeTable implements RowTable {
  readonly shape: TableShape;
  readonly #bytes: TableBytes;
  readonly #index: TableIndex;
  /** By the number of the row they replace, and by their keys where there was none. */
  readonly #changed = new Map<number, Row | null>();
  readonly #added = new Map<string, Row | null>();
  /** The row that was last asked for. */
  #found = -1;

  constructor(shape: TableShape, bytes: TableBytes, index: TableIndex) {
    this.shape = shape;
    this.#bytes = bytes;
    this.#index = index;
  }

  get(key: string): Row | null {
    return this.read(this.peek(key));
  }

  peek(key: string): RowRef {
    const row = this.#find(key);
    if (row === undefined) return this.#added.get(key) ?? null;
    const changed = this.#changed.get(row);
    return changed === undefined ? row : changed;
  }

  read(ref: RowRef): Row | null {
    return typeof ref === "number" ? decodeCsvRow(this.#record(ref)) : ref;
  }

  field(key: string, column: number): string {
    const ref = this.peek(key);
    return typeof ref === "number" ? this.#field(ref, column) : (ref?.[column] ?? "");
  }

  encoded(key: string): string {
    const ref = this.peek(key);
    if (ref === null) return "";
    return typeof ref === "number" ? this.#record(ref) : encodeCsvRow(ref);
  }

  set(key: string, row: Row | null): void {
    const at = this.#find(key);
    if (at === undefined) this.#added.set(key, row);
    else this.#changed.set(at, row);
  }

  keys(): KeySet {
    const added = new Set(this.#added.keys());
    const has = (key: string): boolean => added.has(key) || this.#find(key) !== undefined;
    return { has, [Symbol.iterator]: () => this.#keys(added) };
  }

  get isHeavy(): boolean {
    return this.#changed.size + this.#added.size > Math.max(LIGHT_CHANGES, this.#index.size / 16);
  }

  encode(): Iterable<Buffer> {
    const file = new TablePieces(this.#bytes);
    file.addText(encodeCsvRow(this.shape.columns));
    for (let row = 0; row < this.#index.size; row++) {
      const changed = this.#changed.get(row);
      if (changed === undefined) file.addRow(this.#index.startOf(row), this.#index.endOf(row));
      else if (changed !== null) file.addText(encodeCsvRow(changed));
    }
    for (const row of this.#added.values()) if (row !== null) file.addText(encodeCsvRow(row));
    return file.all();
  }

  *#keys(added: Iterable<string>): Generator<string> {
    for (let row = 0; row < this.#index.size; row++) yield this.#field(row, this.shape.key);
    yield* added;
  }

  /** Most rows are asked for one after the other: whether it is the next one is seen without searching. */
  #find(key: string): number | undefined {
    const next = this.#found + 1;
    const [start, end] = [this.#index.startOf(next), this.#index.endOf(next)];
    if (end > 0 && this.#bytes.isAtHand(start, end) && this.#hasKey(next, key)) return this.#note(next);
    const row = this.#index.candidates(key).find((each) => this.#hasKey(each, key));
    return row === undefined ? undefined : this.#note(row);
  }

  #note(row: number): number {
    this.#found = row;
    return row;
  }

  #hasKey(row: number, key: string): boolean {
    return this.#field(row, this.shape.key) === key;
  }

  #field(row: number, column: number): string {
    return fieldInRow(this.#bytes, this.#index.startOf(row), this.#index.endOf(row), column);
  }

  #record(row: number): string {
    return this.#bytes.text(this.#index.startOf(row), this.#index.endOf(row));
  }
}
