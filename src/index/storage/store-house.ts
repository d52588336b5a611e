import type { VectorStoreId } from "../../contracts/ids.ts";
import type { Schema, Sql, SqlDatabase } from "../../lib/sql/sql.ts";
import type { Store } from "./store.ts";

/** Where vector stores live: a folder of SQLite files, or a PostgreSQL database with a schema for each store. */
export interface StoreHouse {
  /**
   * Makes the tables when they are not there. The same object for the same store, until it is dropped; it may be kept for
   * any time. What it takes (files, memory) the house frees between uses: from the call of a statement or a transaction
   * of its `db` to its end the store is in use.
   */
  open(id: VectorStoreId): Promise<Store>;
  /** With everything in it. One that is not there is fine. */
  drop(id: VectorStoreId): Promise<void>;
  /** A set of tables beside the stores, made when they are not there: `catalog`, `queue`. */
  openTables(name: string, tables: (dialect: Sql["dialect"]) => Schema): Promise<SqlDatabase>;
  close(): Promise<void>;
}
