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

/**
 * The rows of one map file by their keys, and those changed since. Rows are decoded when asked for, because a table of 100,000 rows
 * as JavaScript strings would weigh several times the file.
 */
export interface RowTable {
  readonly shape: TableShape;
  get(key: string): Row | null;
  /** Where a row is now. Reading it later gives what it was now, whatever was set meanwhile. */
  peek(key: string): RowRef;
  read(ref: RowRef): Row | null;
  /** One field of a row, "" when there is none: of all rows in turn, to decode the others would cost most. */
  field(key: string, column: number): string;
  /** The row as it stands in the file, "" when there is none: enough to tell whether it would change. */
  encoded(key: string): string;
  set(key: string, row: Row | null): void;
  keys(): KeySet;
  /** So many rows were changed that the bytes of the file are the lighter form of them. */
  readonly isHeavy: boolean;
  /**
   * The whole file as it is at this moment, in pieces: rows in their old order, new ones behind. Rows that did not change are
   * not copied, however many they are.
   */
  encode(): Iterable<Buffer>;
}

/** The keys of the rows there were when it was asked for, and perhaps of some that had left before, whatever changes meanwhile. */
export interface KeySet extends Iterable<string> {
  has(key: string): boolean;
}

/** Changed rows weigh several times what they weigh as bytes; a few do not matter. */
export const LIGHT_CHANGES = 1000;
