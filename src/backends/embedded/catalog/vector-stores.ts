import type { VectorStoreId } from "../../../contracts/ids.ts";
import type { Sql, SqlDatabase } from "../../../lib/sql/sql.ts";
import { type ListKey, type Page, type PageRequest, readPage } from "./read-page.ts";

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

export async function insertStore(sql: Sql, store: Omit<StoreEntry, "seq">): Promise<void> {
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

export async function findStore(sql: Sql, id: string): Promise<StoreEntry | undefined> {
  const row = await sql.get<StoreRow>(`SELECT ${COLUMNS} FROM vector_stores WHERE id = $1`, [id]);
  return row && toEntry(row);
}

/** Oldest first. */
export async function crawledStores(sql: Sql): Promise<StoreEntry[]> {
  const rows = await sql.all<StoreRow>(`SELECT ${COLUMNS} FROM vector_stores WHERE crawled = 1 ORDER BY seq`);
  return rows.map(toEntry);
}

/** All that may hold the file. */
export async function storesToAsk(sql: Sql, fileId: string): Promise<StoreEntry[]> {
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

export async function touchStore(sql: Sql, id: string, lastActiveAt: number): Promise<void> {
  await sql.run("UPDATE vector_stores SET last_active_at = $1 WHERE id = $2", [lastActiveAt, id]);
}

export async function markCrawled(sql: Sql, id: string): Promise<void> {
  await sql.run("UPDATE vector_stores SET crawled = 1 WHERE id = $1", [id]);
}

/** From here on the store does not exist; the note stays until its tables are dropped, which a crash may delay. */
export async function deleteStore(db: SqlDatabase, id: string): Promise<boolean> {
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

export async function deletedStores(sql: Sql): Promise<VectorStoreId[]> {
  const rows = await sql.all<{ id: VectorStoreId }>("SELECT id FROM deleted_stores");
  return rows.map(({ id }) => id);
}

export async function forgetDeletedStore(sql: Sql, id: string): Promise<void> {
  await sql.run("DELETE FROM deleted_stores WHERE id = $1", [id]);
}

function toEntry(row: StoreRow): StoreEntry {
  return { ...row, metadata: JSON.parse(row.metadata) as Record<string, string>, crawled: row.crawled === 1 };
}
