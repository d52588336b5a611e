import type { Near } from "../storage/store.ts";
import { createDotProducts, type DotProducts } from "./dot-products.ts";
import { bySimilarity, type VectorRow, VectorTable } from "./vector-table.ts";

/** As many tables as it takes: the memory of one ends at 4 GiB, which is some sixteen million of the built-in vectors. */
export class VectorTables {
  readonly #open: () => VectorTable;
  readonly #tables: VectorTable[] = [];

  constructor(dimensions: number, createDots: () => DotProducts = createDotProducts) {
    this.#open = () => new VectorTable(dimensions, createDots());
  }

  get count(): number {
    return this.#tables.reduce((sum, table) => sum + table.count, 0);
  }

  get lastChunk(): number {
    return this.#tables.at(-1)?.lastChunk ?? 0;
  }

  /** The memory of the first is used again. */
  clear(): void {
    this.#tables.splice(1);
    this.#tables[0]?.clear();
  }

  /** By rising chunk id, behind those that are there. */
  add(rows: readonly VectorRow[]): void {
    if (rows.length === 0 || this.#tables.at(-1)?.add(rows)) return;
    const next = this.#open();
    if (!next.add(rows)) throw new Error("keep vectors in memory: this machine has no more of it");
    this.#tables.push(next);
  }

  nearest(query: Float32Array, limit: number, allowed?: Uint8Array): Near[] {
    const found = this.#tables.map((table) => table.nearest(query, limit, allowed));
    return found.flat().sort(bySimilarity).slice(0, limit);
  }

  /** 0 for a chunk that is not there, so all but one table of each say 0. */
  similarities(query: Float32Array, chunkIds: readonly number[]): number[] {
    const found = this.#tables.map((table) => table.similarities(query, chunkIds));
    return chunkIds.map((_, at) => found.reduce((sum, similarities) => sum + (similarities[at] ?? 0), 0));
  }
}
