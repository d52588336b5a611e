import { NotFoundError } from "../../contracts/errors.ts";
import type { VectorStoreId } from "../../contracts/ids.ts";
import type { Store, StoreHouse } from "../../index/store.ts";
import { readState } from "../../index/store-state.ts";
import { randomId } from "../../lib/random-id.ts";
import type { Sql, SqlDatabase } from "../../lib/sql/sql.ts";
import { type ListKey, type Page, type PageRequest, readPage } from "./read-page.ts";

/** What a new vector store is given. */
type NewStore = Pick<StoreEntry, "name" | "description" | "metadata" | "expiresAfterDays">;

/** A vector store with what the catalog says of it. */
interface EnteredStore {
  readonly store: Store;
  readonly entry: StoreEntry;
}

const ACTIVITY_SECONDS = 60;

/** All vector stores. The catalog is asked before every use, since another process may have deleted a store. */
export class Stores {
  readonly #house: StoreHouse;
  readonly #catalog: SqlDatabase;
  readonly #nowSeconds: () => number;
  /** Only these may be closed or dropped when they are gone: an id that somebody made up must reach no file. */
  readonly #opened = new Set<VectorStoreId>();

  constructor(house: StoreHouse, catalog: SqlDatabase, nowSeconds: () => number) {
    this.#house = house;
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

  /** Activity counts by the minute: a store that is searched all the time need not be written all the time. */
  async noteActivity(entry: StoreEntry): Promise<void> {
    const now = this.#nowSeconds();
    if (entry.lastActiveAt < now - ACTIVITY_SECONDS) await touchStore(this.#catalog, entry.id, now);
  }

  /** undefined when there is no such store (any more). */
  async find(id: string): Promise<Store | undefined> {
    const entry = await this.#present(id);
    return entry && this.open(entry);
  }

  async get(id: string): Promise<Store> {
    const store = await this.find(id);
    if (!store) throw noStore(id);
    return store;
  }

  /** For whoever works on the store past the wire, which is activity; a crawl brings files that nobody attaches. */
  async getForIndex(id: string, use: { readonly crawls: boolean }): Promise<Store> {
    const entry = await this.#present(id);
    if (!entry) throw noStore(id);
    if (!this.isExpired(entry)) await this.noteActivity(entry);
    if (use.crawls && !entry.crawled) await markCrawled(this.#catalog, id);
    return this.open(entry);
  }

  open({ id }: StoreEntry): Promise<Store> {
    this.#opened.add(id);
    return this.#house.open(id);
  }

  /** Stores that may hold files which nobody attached: oldest first, each with its place among the stores. */
  async *crawled(): AsyncGenerator<EnteredStore> {
    for (const entry of await crawledStores(this.#catalog)) yield { store: await this.open(entry), entry };
  }

  /** Stores that may hold the file, likewise. */
  async *toAsk(fileId: string): AsyncGenerator<EnteredStore> {
    for (const entry of await storesToAsk(this.#catalog, fileId)) yield { store: await this.open(entry), entry };
  }

  /** false when it was gone already. */
  async delete(id: string): Promise<boolean> {
    const entry = await this.entry(id);
    if (!entry || !(await deleteStore(this.#catalog, id))) return false;
    await this.#drop(entry.id);
    await forgetDeletedStore(this.#catalog, id);
    return true;
  }

  /** What a crash left between the deletion of an entry and that of its tables. */
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
    await this.#house.drop(id);
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
  /** Of what is completed. */
  readonly bytes: number;
}

const COUNTED = {
  in_progress: "inProgress",
  completed: "completed",
  failed: "failed",
  cancelled: "cancelled",
} as const;

/** Counting a large store takes a while and nothing changes without its revision, so the last count is remembered. */
export class StoreUsage {
  readonly #counts = new Map<string, { readonly revision: number; readonly usage: Usage }>();

  /** What the active generation shows. */
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

/** A vector store. One that is not in the catalog does not exist, whatever else is there. Times are Unix seconds. */
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
  /** It may hold files that nobody attached, so that nothing but the store itself knows of them. */
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

/** All that may hold the file. */
async function storesToAsk(sql: Sql, fileId: string): Promise<StoreEntry[]> {
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

/** From here on the store does not exist; the note stays until its tables are dropped, which a crash may delay. */
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
