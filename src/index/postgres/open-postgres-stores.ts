import type { VectorStoreId } from "../../contracts/ids.ts";
import { openPostgres, type Postgres, quote } from "../../lib/sql/postgres-database.ts";
import { createScanVectorIndex } from "../embedding/scan-vector-index.ts";
import { createSpaceKeeper } from "../embedding/space-keeper.ts";
import type { VectorModel } from "../embedding/vector-model.ts";
import { rebuildWords } from "../rebuild-words.ts";
import type { SpaceKeeper, Store, StoreProvider } from "../store.ts";
import { createPgvectorIndex, PGVECTOR_SESSION, type PgvectorOptions, preparePgvector } from "./pgvector-index.ts";
import { createPostgresTextIndex } from "./postgres-text-index.ts";
import { STORE_TABLES } from "./store-tables.ts";

export interface PostgresStoresOptions extends PgvectorOptions {
  readonly url: string;
  readonly model: VectorModel;
  /** The folder that paths of documents are relative to. */
  readonly storageFolder: string;
  readonly maxConnections?: number;
}

export interface PostgresStores extends StoreProvider {
  /** How vectors are searched: by an index of the database, or by comparing each of them here. */
  readonly vectorSearch: "pgvector" | "exact";
}

/** Opens vector stores in a PostgreSQL database that any number of processes share. RemoteError if it cannot be reached. */
export async function openPostgresStores(options: PostgresStoresOptions): Promise<PostgresStores> {
  const postgres = openPostgres(options.url, options);
  try {
    const vectorSchema = await findPgvector(postgres);
    return createStores(postgres, vectorSchema, options);
  } catch (error) {
    await postgres.close();
    throw error;
  }
}

function createStores(
  postgres: Postgres,
  vectorSchema: string | undefined,
  options: PostgresStoresOptions,
): PostgresStores {
  const spaces = createSpaceKeeper(options.model);
  const stores = new Map<VectorStoreId, Promise<Store>>();
  return {
    vectorSearch: vectorSchema === undefined ? "exact" : "pgvector",
    open(id) {
      let opening = stores.get(id);
      if (!opening) {
        opening = openStore(postgres, schemaName(id), vectorSchema, spaces, options).then(async (store) => {
          await rebuildWords(store);
          return store;
        });
        stores.set(id, opening);
        // A store that could not be opened is tried again.
        opening.catch(() => stores.delete(id));
      }
      return opening;
    },
    async drop(id) {
      stores.delete(id);
      await postgres.dropTables(schemaName(id));
    },
    openTables: (name, tables) => postgres.openTables(schemaName(name), tables("postgres")),
    close: () => postgres.close(),
  };
}

async function openStore(
  postgres: Postgres,
  name: string,
  vectorSchema: string | undefined,
  spaces: SpaceKeeper,
  options: PostgresStoresOptions,
): Promise<Store> {
  const { storageFolder } = options;
  const texts = createPostgresTextIndex();
  if (vectorSchema === undefined) {
    const db = await postgres.openTables(name, STORE_TABLES);
    return { db, texts, vectors: createScanVectorIndex(), spaces, storageFolder };
  }
  // The type and its operators may be in another schema than public.
  const path = `SET search_path = ${quote(name)}, ${quote(vectorSchema)}, public`;
  const db = await postgres.openTables(name, STORE_TABLES, `${path}; ${PGVECTOR_SESSION}`);
  await preparePgvector(db, options);
  return { db, texts, vectors: createPgvectorIndex(options), spaces, storageFolder };
}

/** Half-precision vectors need 0.7, iterative scans 0.8. */
async function findPgvector(postgres: Postgres): Promise<string | undefined> {
  const found = await postgres.findExtension("vector");
  if (!found) return undefined;
  const [major = 0, minor = 0] = found.version.split(".").map(Number);
  return major > 0 || minor >= 8 ? found.schema : undefined;
}

/** Separate from other content of the database. PostgreSQL truncates names at 63 bytes; ids of stores are half as long. */
function schemaName(name: string): string {
  if (name.length > 50) throw new Error(`open ${name}: its name is too long for PostgreSQL`);
  return `lockstep_${name}`;
}
