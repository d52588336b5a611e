import { rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { DamagedError } from "../../contracts/errors.ts";
import type { VectorStoreId } from "../../contracts/ids.ts";
import type { SearchQuery } from "../../contracts/search-index.ts";
import { refuseNetworkDisk } from "../../lib/network-disk.ts";
import type { SqlDatabase } from "../../lib/sql/sql.ts";
import { findDamage, openSqlite } from "../../lib/sql/sqlite-database.ts";
import { SqlitePool } from "../../lib/sql/sqlite-pool.ts";
import { createScanVectorIndex } from "../embedding/scan-vector-index.ts";
import { createSpaceKeeper } from "../embedding/space-keeper.ts";
import type { VectorModel } from "../embedding/vector-model.ts";
import { rebuildWords } from "../rebuild-words.ts";
import type { SearchThreads } from "../search/search-threads.ts";
import type { Store, StoreProvider, TextIndex, VectorIndex } from "../store.ts";
import { createSqliteTextIndex } from "./sqlite-text-index.ts";
import { STORE_TABLES } from "./store-tables.ts";

/** A store takes some five file descriptors and up to 32 MB of cache, and opening it again a few milliseconds. */
export const MAX_OPEN_STORES = 32;

interface SqliteStoresOptions {
  readonly model: VectorModel;
  /** Threads that search stores; undefined: on the calling thread. The provider closes them. */
  readonly threads?: SearchThreads;
  readonly maxOpenStores?: number;
}

/** One SQLite file per vector store, `<id>.sqlite`, and one per set of other tables, in one folder. */
export function openSqliteStores(folder: string, options: SqliteStoresOptions): StoreProvider {
  const { model, threads, maxOpenStores = MAX_OPEN_STORES } = options;
  refuseNetworkDisk(folder);
  const spaces = createSpaceKeeper(model);
  const pool = new SqlitePool(maxOpenStores, sayDamage);
  const stores = new Map<VectorStoreId, Promise<Store>>();
  const tables: SqlDatabase[] = [];
  const close = async (id: VectorStoreId): Promise<void> => {
    const store = stores.get(id);
    stores.delete(id);
    // A store that could not be opened has nothing to close.
    await (await store?.catch(() => undefined))?.db.close();
  };
  return {
    open(id) {
      let store = stores.get(id);
      if (!store) {
        const elsewhere = threads && { search: (query: SearchQuery) => threads.search(id, query) };
        store = openStore(storePath(folder, id), pool, { spaces, storageFolder: dirname(folder), ...elsewhere });
        stores.set(id, store);
        store.catch(() => stores.delete(id));
      }
      return store;
    },
    async drop(id) {
      await threads?.drop(id);
      await close(id);
      for (const suffix of ["", "-wal", "-shm"]) rmSync(storePath(folder, id) + suffix, { force: true });
    },
    async openTables(name, schema) {
      const db = await openSqlite(join(folder, `${name}.sqlite`), schema("sqlite"));
      tables.push(db);
      return db;
    },
    async close() {
      await threads?.close();
      await Promise.all([...stores.keys()].map(close));
      await Promise.all(tables.splice(0).map((db) => db.close()));
    },
  };
}

export function storePath(folder: string, id: VectorStoreId): string {
  return join(folder, `${id}.sqlite`);
}

type Given = Pick<Store, "spaces" | "storageFolder" | "search">;

async function openStore(path: string, pool: SqlitePool, given: Given): Promise<Store> {
  // Cached words and vectors, most of a store's memory, are dropped when the file is closed.
  let texts: TextIndex | undefined;
  let vectors: VectorIndex | undefined;
  const db = pool.database(path, STORE_TABLES, () => {
    texts = undefined;
    vectors = undefined;
  });
  const store: Store = {
    db,
    get texts() {
      texts ??= createSqliteTextIndex();
      return texts;
    },
    get vectors() {
      vectors ??= createScanVectorIndex();
      return vectors;
    },
    ...given,
  };
  try {
    await db.create();
    await rebuildWords(store);
    return store;
  } catch (error) {
    await db.close();
    throw error;
  }
}

/**
 * Turns the error of a damaged store file into one for people; any other error stays as it is. The remedy is in
 * docs/formats/index-sqlite.md.
 */
export function sayDamage(path: string, error: unknown): unknown {
  const reason = findDamage(error);
  if (reason === undefined) return error;
  const file = basename(path);
  return new DamagedError(
    `The vector store '${basename(path, ".sqlite")}' is damaged: ${reason}.`,
    `Stop lockstep, delete index/${file} with its -wal and -shm, start it again and crawl: the store comes back under the same id, and nothing is downloaded. Files that were attached over the OpenAI protocol have to be attached again.`,
  );
}
