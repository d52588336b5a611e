import type { FileId } from "../../../contracts/ids.ts";
import type { Sql } from "../../../lib/sql/sql.ts";

/** Files that were attached to a store in one request. What became of each is in the store. */
export interface Batch {
  readonly id: string;
  readonly storeId: string;
  readonly createdAt: number;
  readonly cancelled: boolean;
}

type BatchRow = Omit<Batch, "cancelled"> & { readonly cancelled: number };

export async function insertBatch(sql: Sql, batch: Batch, fileIds: readonly FileId[]): Promise<void> {
  await sql.run("INSERT INTO batches (id, store_id, created_at, cancelled) VALUES ($1, $2, $3, 0)", [
    batch.id,
    batch.storeId,
    batch.createdAt,
  ]);
  const rows = fileIds.map((fileId, position) => [batch.id, position, fileId]);
  await sql.insert("batch_files (batch_id, position, file_id)", rows);
}

export async function findBatch(sql: Sql, storeId: string, id: string): Promise<Batch | undefined> {
  const row = await sql.get<BatchRow>(
    `SELECT id, store_id AS "storeId", created_at AS "createdAt", cancelled FROM batches WHERE id = $1 AND store_id = $2`,
    [id, storeId],
  );
  return row && { ...row, cancelled: row.cancelled !== 0 };
}

/** In the order they were given. */
export async function filesOfBatch(sql: Sql, id: string): Promise<FileId[]> {
  const rows = await sql.all<{ fileId: FileId }>(
    'SELECT file_id AS "fileId" FROM batch_files WHERE batch_id = $1 ORDER BY position',
    [id],
  );
  return rows.map(({ fileId }) => fileId);
}

export async function cancelBatch(sql: Sql, id: string): Promise<void> {
  await sql.run("UPDATE batches SET cancelled = 1 WHERE id = $1", [id]);
}
