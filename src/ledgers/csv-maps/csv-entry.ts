import type { ItemId } from "../../contracts/ids.ts";
import type { Indexed, LedgerEntry, Mirrored, Seen } from "../../contracts/ledger.ts";
import { decodeIndexed, decodeMirrored, decodeSeen } from "./map-codec.ts";
import type { TableName } from "./map-journal.ts";
import type { Row, RowRef, RowTable } from "./row-table.ts";

export type Tables = Readonly<Record<TableName, RowTable>>;

/**
 * One item's rows as they were when it was asked for, whatever is put later. Facets are decoded when they are first
 * looked at: comparing a listing with the mirror never reads the other two, and most items are only compared.
 */
export class CsvEntry implements LedgerEntry {
  readonly itemId: ItemId;
  readonly #tables: Tables;
  /** The hash in `observed.csv` is that of what the domain's own store holds, and says nothing about another one. */
  readonly #isOwnStore: boolean;
  readonly #seenAt: RowRef;
  readonly #mirroredAt: RowRef;
  readonly #indexedAt: RowRef;
  readonly #observedAt: RowRef;
  #observedRow: Row | null | undefined;
  #seen: Seen | null | undefined;
  #mirrored: Mirrored | null | undefined;
  #indexed: Indexed | null | undefined;

  constructor(itemId: ItemId, tables: Tables, options: { readonly isOwnStore: boolean }) {
    this.itemId = itemId;
    this.#isOwnStore = options.isOwnStore;
    this.#tables = tables;
    this.#seenAt = tables.seen.peek(itemId);
    this.#mirroredAt = tables.mirrored.peek(itemId);
    this.#indexedAt = tables.indexed.peek(itemId);
    this.#observedAt = tables.observed.peek(itemId);
  }

  get isKnown(): boolean {
    return this.#seenAt !== null || this.#mirroredAt !== null || this.#indexedAt !== null;
  }

  get seen(): Seen | null {
    if (this.#seen === undefined) {
      const row = this.#tables.seen.read(this.#seenAt);
      this.#seen = row && decodeSeen(row);
    }
    return this.#seen;
  }

  get mirrored(): Mirrored | null {
    if (this.#mirrored === undefined) {
      const row = this.#tables.mirrored.read(this.#mirroredAt);
      this.#mirrored = row && decodeMirrored(row, this.#observed());
    }
    return this.#mirrored;
  }

  get indexed(): Indexed | null {
    if (this.#indexed === undefined) {
      const row = this.#tables.indexed.read(this.#indexedAt);
      this.#indexed = row && decodeIndexed(row, this.#isOwnStore ? this.#observed() : null);
    }
    return this.#indexed;
  }

  #observed(): Row | null {
    if (this.#observedRow === undefined) this.#observedRow = this.#tables.observed.read(this.#observedAt);
    return this.#observedRow;
  }
}
