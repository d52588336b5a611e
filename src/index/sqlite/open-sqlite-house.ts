import { rmSync } from "node:fs";
import { dirname, join } from "node:path";
import type { VectorStoreId } from "../../contracts/ids.ts";
import { refuseNetworkDisk } from "../../lib/sql/refuse-network-disk.ts";
import type { SqlDatabase } from "../../lib/sql/sql.ts";
import { openSqlite } from "../../lib/sql/sqlite-database.ts";
import { createSpaceKeeper } from "../embed/space-keeper.ts";
import type { VectorModel } from "../embed/vector-model.ts";
import { rebuildWords } from "../storage/rebuild-words.ts";
import type { SpaceKeeper, Store, TextIndex, VectorIndex } from "../storage/store.ts";
import type { StoreHouse } from "../storage/store-house.ts";
import { createScanVectorIndex } from "../vectors/scan-vector-index.ts";
import { SqlitePool } from "./sqlite-pool.ts";
import { createSqliteTextIndex } from "./sqlite-text-index.ts";
import { STORE_TABLES } from "./store-tables.ts";

/** A store takes some five file descriptors and up to 32 MB of cache, and opening it again a few milliseconds. */
const MAX_OPEN_STORES = 32;

/** One SQLite file per vector store, `<id>.sqlite`, and one per set of other tables, in one folder. */
export function openSqliteHouse(folder: string, { model }: { readonly model: VectorModel }): StoreHouse {
  refuseNetworkDisk(folder);
  const spaces = createSpaceKeeper(model);
  const pool = new SqlitePool(MAX_OPEN_STORES);
  const stores = new Map<VectorStoreId, Promise<Store>>();
  const tables: SqlDatabase[] = [];
  const close = async (id: VectorStoreId): Promise<void> => {
    const store = stores.get(id);
    stores.delete(id);
    // One that could not be opened has nothing to close.
    await (await store?.catch(() => undefined))?.db.close();
  };
  return {
    open(id) {
      let store = stores.get(id);
      if (!store) {
        store = openStore(join(folder, `${id}.sqlite`), pool, spaces, dirname(folder));
        stores.set(id, store);
        store.catch(() => stores.delete(id));
      }
      return store;
    },
    async drop(id) {
      await close(id);
      for (const suffix of ["", "-wal", "-shm"]) rmSync(join(folder, `${id}.sqlite${suffix}`), { force: true });
    },
    async openTables(name, schema) {
      const db = await openSqlite(join(folder, `${name}.sqlite`), schema("sqlite"));
      tables.push(db);
      return db;
    },
    async close() {
      await Promise.all([...stores.keys()].map(close));
      await Promise.all(tables.splice(0).map((db) => db.close()));
    },
  };
}

async function openStore(path: string, pool: SqlitePool, spaces: SpaceKeeper, storageFolder: string): Promise<Store> {
  // What is remembered of words and vectors goes when the file is closed: the larger part of what a store takes.
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
    spaces,
    storageFolder,
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
