import { NotFoundError } from "../../contracts/errors.ts";
import type { VectorStoreId } from "../../contracts/ids.ts";
import type { Store, StoreProvider } from "../../index/store.ts";
import { readState } from "../../index/store-state.ts";
import { randomId } from "../../lib/random-id.ts";
import type { Sql, SqlDatabase } from "../../lib/sql/sql.ts";
import { type ListKey, type Page, type PageRequest, readPage } from "./read-page.ts";

/** What a new vector store is given. */
type NewStore = Pick<StoreEntry, "name" | "description" | "metadata" | "expiresAfterDays">;

/** A vector store with what the catalog says of it. */
interface CatalogedStore {
  readonly store: Store;
  readonly entry: StoreEntry;
}

const ACTIVITY_SECONDS = 60;

/** All vector stores. Checks the catalog before every use, since another process may have deleted a store. */
export class Stores {
  readonly #provider: StoreProvider;
  readonly #catalog: SqlDatabase;
  readonly #nowSeconds: () => number;
  /** Stores opened here. Only these are dropped when their entry is gone: an arbitrary id must not reach any file. */
  readonly #opened = new Set<VectorStoreId>();

  constructor(provider: StoreProvider, catalog: SqlDatabase, nowSeconds: () => number) {
    this.#provider = provider;
    this.#catalog = catalog;
    this.#nowSeconds = nowSeconds;
  }

  async create(store: NewStore): Promise<VectorStoreId> {
    const id = randomId("vs_") as VectorStoreId;
    const now = this.#nowSeconds();
    await insertStore(this.#catalog, { id, ...store, createdAt: now, lastActiveAt: now, crawled: false });
    return id;
  }

  entry(id: string): Promise<StoreEntry | undefined> {
    return findStore(this.#catalog, id);
  }

  isExpired(entry: StoreEntry): boolean {
    const at = expiryOf(entry);
    return at !== null && at <= this.#nowSeconds();
  }

  /** Records activity at most once a minute: a store that is searched all the time need not be written all the time. */
  async recordActivity(entry: StoreEntry): Promise<void> {
    const now = this.#nowSeconds();
    if (entry.lastActiveAt < now - ACTIVITY_SECONDS) await touchStore(this.#catalog, entry.id, now);
  }

  /** Returns undefined if the store does not exist (any more). */
  async find(id: string): Promise<Store | undefined> {
    const entry = await this.#present(id);
    return entry && this.open(entry);
  }

  async get(id: string): Promise<Store> {
    const store = await this.find(id);
    if (!store) throw noStore(id);
    return store;
  }

  /** Opens a store for an index, which counts as activity. A crawl adds files that are not in the catalog. */
  async getForIndex(id: string, use: { readonly crawls: boolean }): Promise<Store> {
    const entry = await this.#present(id);
    if (!entry) throw noStore(id);
    if (!this.isExpired(entry)) await this.recordActivity(entry);
    if (use.crawls && !entry.crawled) await markCrawled(this.#catalog, id);
    return this.open(entry);
  }

  open({ id }: StoreEntry): Promise<Store> {
    this.#opened.add(id);
    return this.#provider.open(id);
  }

  /** Yields stores that may hold crawled files, oldest first. */
  async *crawled(): AsyncGenerator<CatalogedStore> {
    for (const entry of await crawledStores(this.#catalog)) yield { store: await this.open(entry), entry };
  }

  /** Yields stores that may hold the file, oldest first. */
  async *mayHold(fileId: string): AsyncGenerator<CatalogedStore> {
    for (const entry of await storesThatMayHold(this.#catalog, fileId)) yield { store: await this.open(entry), entry };
  }

  /** Returns false if it did not exist. */
  async delete(id: string): Promise<boolean> {
    const entry = await this.entry(id);
    if (!entry || !(await deleteStore(this.#catalog, id))) return false;
    await this.#drop(entry.id);
    await forgetDeletedStore(this.#catalog, id);
    return true;
  }

  /** Drops tables whose entry was deleted before a crash. */
  async sweepDeleted(): Promise<void> {
    for (const id of await deletedStores(this.#catalog)) {
      await this.#drop(id);
      await forgetDeletedStore(this.#catalog, id);
    }
  }

  async #present(id: string): Promise<StoreEntry | undefined> {
    const entry = await this.entry(id);
    if (!entry && this.#opened.has(id as VectorStoreId)) await this.#drop(id as VectorStoreId);
    return entry;
  }

  async #drop(id: VectorStoreId): Promise<void> {
    this.#opened.delete(id);
    await this.#provider.drop(id);
  }
}

/** Unix seconds; null: never. */
export function expiryOf({ lastActiveAt, expiresAfterDays }: StoreEntry): number | null {
  return expiresAfterDays === null ? null : lastActiveAt + expiresAfterDays * 24 * 3600;
}

function noStore(id: string): NotFoundError {
  return new NotFoundError(`No vector store found with id '${id}'.`);
}

export interface Usage {
  readonly inProgress: number;
  readonly completed: number;
  readonly failed: number;
  readonly cancelled: number;
  /** Bytes of completed files. */
  readonly bytes: number;
}

const COUNTED = {
  in_progress: "inProgress",
  completed: "completed",
  failed: "failed",
  cancelled: "cancelled",
} as const;

/** Caches counts by the revision of the store: counting a large one takes a while. */
export class StoreUsage {
  readonly #counts = new Map<string, { readonly revision: number; readonly usage: Usage }>();

  /** Counts the files of the active generation. */
  async of(id: string, store: Store): Promise<Usage> {
    return store.db.read(async (sql) => {
      const { visibleRevision: revision } = await readState(sql);
      const known = this.#counts.get(id);
      if (known?.revision === revision) return known.usage;
      const rows = await sql.all<{ status: keyof typeof COUNTED; files: number; bytes: number }>(
        "SELECT status, count(*) AS files, sum(bytes) AS bytes FROM documents_active GROUP BY status",
      );
      const usage = { inProgress: 0, completed: 0, failed: 0, cancelled: 0, bytes: 0 };
      for (const { status, files, bytes } of rows) {
        usage[COUNTED[status]] = files;
        if (status === "completed") usage.bytes = bytes;
      }
      this.#counts.set(id, { revision, usage });
      return usage;
    });
  }

  forget(id: string): void {
    this.#counts.delete(id);
  }
}

/** A vector store. A store without an entry does not exist, even if its tables are there. Times are Unix seconds. */
export interface StoreEntry {
  readonly seq: number;
  readonly id: VectorStoreId;
  readonly name: string;
  readonly description: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly createdAt: number;
  readonly lastActiveAt: number;
  /** Counted from the last activity; null: it never expires. */
  readonly expiresAfterDays: number | null;
  /** It may hold crawled files, which only the store itself knows. */
  readonly crawled: boolean;
}

const COLUMNS = `seq, id, name, description, metadata, created_at AS "createdAt", last_active_at AS "lastActiveAt",
  expires_after_days AS "expiresAfterDays", crawled`;

type StoreRow = Omit<StoreEntry, "metadata" | "crawled"> & { readonly metadata: string; readonly crawled: 0 | 1 };

async function insertStore(sql: Sql, store: Omit<StoreEntry, "seq">): Promise<void> {
  await sql.run(
    `INSERT INTO vector_stores (id, name, description, metadata, created_at, last_active_at, expires_after_days, crawled)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [
      store.id,
      store.name,
      store.description,
      JSON.stringify(store.metadata),
      store.createdAt,
      store.lastActiveAt,
      store.expiresAfterDays,
      store.crawled ? 1 : 0,
    ],
  );
}

async function findStore(sql: Sql, id: string): Promise<StoreEntry | undefined> {
  const row = await sql.get<StoreRow>(`SELECT ${COLUMNS} FROM vector_stores WHERE id = $1`, [id]);
  return row && toEntry(row);
}

/** Oldest first. */
async function crawledStores(sql: Sql): Promise<StoreEntry[]> {
  const rows = await sql.all<StoreRow>(`SELECT ${COLUMNS} FROM vector_stores WHERE crawled = 1 ORDER BY seq`);
  return rows.map(toEntry);
}

/** Returns all stores that may hold the file. */
async function storesThatMayHold(sql: Sql, fileId: string): Promise<StoreEntry[]> {
  const rows = await sql.all<StoreRow>(
    `SELECT ${COLUMNS} FROM vector_stores
     WHERE crawled = 1 OR id IN (SELECT store_id FROM attached_files WHERE file_id = $1) ORDER BY seq`,
    [fileId],
  );
  return rows.map(toEntry);
}

export async function listStores(sql: Sql, request: PageRequest): Promise<Page<StoreEntry>> {
  const list = { columns: COLUMNS, from: "vector_stores", createdAt: "created_at", seq: "seq" };
  const page = await readPage<StoreRow>(sql, list, request);
  return { rows: page.rows.map(toEntry), hasMore: page.hasMore };
}

export async function keyOfStore(sql: Sql, id: string): Promise<ListKey | undefined> {
  return sql.get<ListKey>('SELECT created_at AS "createdAt", seq FROM vector_stores WHERE id = $1', [id]);
}

export async function updateStore(
  sql: Sql,
  id: string,
  changes: Pick<StoreEntry, "name" | "metadata" | "lastActiveAt" | "expiresAfterDays">,
): Promise<void> {
  await sql.run(
    `UPDATE vector_stores SET name = $1, metadata = $2, last_active_at = $3, expires_after_days = $4 WHERE id = $5`,
    [changes.name, JSON.stringify(changes.metadata), changes.lastActiveAt, changes.expiresAfterDays, id],
  );
}

async function touchStore(sql: Sql, id: string, lastActiveAt: number): Promise<void> {
  await sql.run("UPDATE vector_stores SET last_active_at = $1 WHERE id = $2", [lastActiveAt, id]);
}

async function markCrawled(sql: Sql, id: string): Promise<void> {
  await sql.run("UPDATE vector_stores SET crawled = 1 WHERE id = $1", [id]);
}

/** From here on the store does not exist. The record of its deletion stays until its tables are dropped, which a crash may delay. */
async function deleteStore(db: SqlDatabase, id: string): Promise<boolean> {
  return db.write(async (sql) => {
    const deleted = await sql.run("DELETE FROM vector_stores WHERE id = $1", [id]);
    if (deleted === 0) return false;
    await sql.run("DELETE FROM attach_tasks WHERE store_id = $1", [id]);
    await sql.run("DELETE FROM batches WHERE store_id = $1", [id]);
    await sql.run("DELETE FROM attached_files WHERE store_id = $1", [id]);
    await sql.run("INSERT INTO deleted_stores (id) VALUES ($1) ON CONFLICT DO NOTHING", [id]);
    return true;
  });
}

async function deletedStores(sql: Sql): Promise<VectorStoreId[]> {
  const rows = await sql.all<{ id: VectorStoreId }>("SELECT id FROM deleted_stores");
  return rows.map(({ id }) => id);
}

async function forgetDeletedStore(sql: Sql, id: string): Promise<void> {
  await sql.run("DELETE FROM deleted_stores WHERE id = $1", [id]);
}

function toEntry(row: StoreRow): StoreEntry {
  return { ...row, metadata: JSON.parse(row.metadata) as Record<string, string>, crawled: row.crawled === 1 };
}
