import { rmSync } from "node:fs";
import { join } from "node:path";
import type { Embedder } from "../../contracts/embedder.ts";
import { NotFoundError } from "../../contracts/errors.ts";
import type { VectorStoreId } from "../../contracts/ids.ts";
import { openStore, type Store } from "../../index/sqlite/open-store.ts";
import { randomId } from "../../index/sqlite/random-id.ts";
import type { Catalog, StoreEntry } from "./catalog.ts";

/** The files of all vector stores. The catalog is asked before every use, since another process may have deleted a store. */
export class StoreFolder {
  readonly #folder: string;
  readonly #catalog: Catalog;
  readonly #embedder: Embedder;
  readonly #open = new Map<string, Store>();

  constructor(folder: string, catalog: Catalog, embedder: Embedder) {
    this.#folder = folder;
    this.#catalog = catalog;
    this.#embedder = embedder;
    for (const id of catalog.deletedStores()) this.#deleteFile(id);
  }

  create(entry: Pick<StoreEntry, "name" | "metadata">, nowSeconds: number): VectorStoreId {
    const id = randomId("vs_") as VectorStoreId;
    this.#catalog.insertStore({ id, ...entry, createdAt: nowSeconds, lastActiveAt: nowSeconds });
    return id;
  }

  /** undefined when there is no such store (any more). */
  find(id: string): Store | undefined {
    if (!this.#catalog.store(id)) {
      this.#close(id);
      return undefined;
    }
    let store = this.#open.get(id);
    if (!store) {
      store = openStore(this.#pathOf(id), this.#embedder);
      this.#open.set(id, store);
    }
    return store;
  }

  get(id: string): Store {
    const store = this.find(id);
    if (!store) throw new NotFoundError(`No vector store found with id '${id}'.`);
    return store;
  }

  /** Oldest first, each with its place among the stores. */
  *all(): Generator<{ readonly store: Store; readonly entry: StoreEntry }> {
    for (const entry of this.#catalog.allStores()) {
      const store = this.find(entry.id);
      if (store) yield { store, entry };
    }
  }

  delete(id: string): void {
    this.#catalog.deleteStore(id);
    this.#close(id);
    this.#deleteFile(id);
  }

  close(): void {
    for (const id of [...this.#open.keys()]) this.#close(id);
  }

  #close(id: string): void {
    this.#open.get(id)?.db.close();
    this.#open.delete(id);
  }

  #deleteFile(id: string): void {
    const path = this.#pathOf(id);
    for (const suffix of ["", "-wal", "-shm"]) rmSync(path + suffix, { force: true });
    this.#catalog.forgetDeletedStore(id);
  }

  #pathOf(id: string): string {
    return join(this.#folder, `${id}.sqlite`);
  }
}
