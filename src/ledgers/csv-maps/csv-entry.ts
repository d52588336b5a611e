import type { ItemId } from "../../contracts/ids.ts";
import type { Indexed, LedgerEntry, Mirrored, Seen } from "../../contracts/ledger.ts";
import type { CsvTable, Row, RowRef } from "./csv-table.ts";
import { decodeIndexed, decodeMirrored, decodeSeen } from "./map-codec.ts";
import type { TableName } from "./map-journal.ts";

export type Tables = Readonly<Record<TableName, CsvTable>>;

/**
 * One item's rows as they were when it was asked for, whatever is put later. Facets are decoded when they are first
 * looked at: comparing a listing with the mirror never reads the other two, and most items are only compared.
 */
export class CsvEntry implements LedgerEntry {
  readonly itemId: ItemId;
  readonly #tables: Tables;
  readonly #refs: Readonly<Record<TableName, RowRef>>;
  #seen: Seen | null | undefined;
  #mirrored: Mirrored | null | undefined;
  #indexed: Indexed | null | undefined;

  constructor(itemId: ItemId, tables: Tables) {
    this.itemId = itemId;
    this.#tables = tables;
    this.#refs = {
      seen: tables.seen.peek(itemId),
      mirrored: tables.mirrored.peek(itemId),
      indexed: tables.indexed.peek(itemId),
      observed: tables.observed.peek(itemId),
    };
  }

  get isKnown(): boolean {
    return this.#refs.seen !== null || this.#refs.mirrored !== null || this.#refs.indexed !== null;
  }

  get seen(): Seen | null {
    if (this.#seen === undefined) this.#seen = decodeOr(this.#row("seen"), decodeSeen);
    return this.#seen;
  }

  get mirrored(): Mirrored | null {
    if (this.#mirrored === undefined) {
      this.#mirrored = decodeOr(this.#row("mirrored"), (row) => decodeMirrored(row, this.#row("observed")));
    }
    return this.#mirrored;
  }

  get indexed(): Indexed | null {
    if (this.#indexed === undefined) {
      this.#indexed = decodeOr(this.#row("indexed"), (row) => decodeIndexed(row, this.#row("observed")));
    }
    return this.#indexed;
  }

  #row(name: TableName): Row | undefined {
    return this.#tables[name].read(this.#refs[name]) ?? undefined;
  }
}

function decodeOr<T>(row: Row | undefined, decode: (row: Row) => T): T | null {
  return row ? decode(row) : null;
}
