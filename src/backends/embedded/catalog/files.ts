import type { FileId, VectorStoreId } from "../../../contracts/ids.ts";
import { isListed, listOf } from "../../../lib/sql/is-listed.ts";
import type { Sql, SqlDatabase } from "../../../lib/sql/sql.ts";
import { type ListKey, type Page, type PageRequest, readPage } from "./read-page.ts";

/** A file uploaded over the wire. Times are Unix seconds. */
export interface UploadedFile {
  readonly id: FileId;
  readonly filename: string;
  readonly purpose: string;
  readonly bytes: number;
  readonly sha256: string;
  readonly createdAt: number;
  /** null: never. */
  readonly expiresAt: number | null;
}

const COLUMNS = 'id, filename, purpose, bytes, sha256, created_at AS "createdAt", expires_at AS "expiresAt"';

export async function insertFile(sql: Sql, file: UploadedFile): Promise<void> {
  await sql.run(
    `INSERT INTO files (id, filename, purpose, bytes, sha256, created_at, expires_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7)`,
    [file.id, file.filename, file.purpose, file.bytes, file.sha256, file.createdAt, file.expiresAt],
  );
}

export async function findFile(sql: Sql, id: string): Promise<UploadedFile | undefined> {
  return sql.get<UploadedFile>(`SELECT ${COLUMNS} FROM files WHERE id = $1`, [id]);
}

export async function findFiles(sql: Sql, ids: readonly string[]): Promise<ReadonlyMap<string, UploadedFile>> {
  if (ids.length === 0) return new Map();
  const rows = await sql.all<UploadedFile>(`SELECT ${COLUMNS} FROM files WHERE ${isListed(sql, "id", "$1", "text")}`, [
    listOf(ids),
  ]);
  return new Map(rows.map((row) => [row.id, row]));
}

/** Before they are in the store: whoever deletes a file asks the stores that are noted. */
export async function noteAttached(sql: Sql, storeId: VectorStoreId, fileIds: readonly FileId[]): Promise<void> {
  const rows = fileIds.map((fileId) => [fileId, storeId]);
  await sql.insert("attached_files (file_id, store_id)", rows, "ON CONFLICT DO NOTHING");
}

/** From here on the file does not exist. The note stays, so that work on it that had begun already finds out. */
export async function deleteFile(db: SqlDatabase, id: string, nowSeconds: number): Promise<void> {
  await db.write(async (sql) => {
    await sql.run("DELETE FROM files WHERE id = $1", [id]);
    await sql.run(
      `INSERT INTO deleted_files (id, deleted_at, done) VALUES ($1, $2, 0)
       ON CONFLICT (id) DO UPDATE SET deleted_at = excluded.deleted_at, done = 0`,
      [id, nowSeconds],
    );
  });
}

/** It is out of every store, and its bytes are gone. Notes from before `keptSince` have told everybody. */
export async function endDeletion(sql: Sql, id: string, keptSince: number): Promise<void> {
  await sql.run("DELETE FROM attached_files WHERE file_id = $1", [id]);
  await sql.run("UPDATE deleted_files SET done = 1 WHERE id = $1", [id]);
  await sql.run("DELETE FROM deleted_files WHERE done = 1 AND deleted_at < $1", [keptSince]);
}

export async function isDeleted(sql: Sql, id: string): Promise<boolean> {
  return (await sql.get("SELECT id FROM deleted_files WHERE id = $1", [id])) !== undefined;
}

/** What a crash left half deleted. */
export async function halfDeleted(sql: Sql): Promise<string[]> {
  const rows = await sql.all<{ id: string }>("SELECT id FROM deleted_files WHERE done = 0");
  return rows.map(({ id }) => id);
}

export async function listFiles(
  sql: Sql,
  request: PageRequest,
  purpose: string | undefined,
): Promise<Page<UploadedFile & { readonly seq: number }>> {
  const filter = purpose === undefined ? {} : { where: "purpose = $1", values: [purpose] };
  const list = { columns: `${COLUMNS}, seq`, from: "files", createdAt: "created_at", seq: "seq", ...filter };
  return readPage(sql, list, request);
}

export async function keyOfFile(sql: Sql, id: string): Promise<ListKey | undefined> {
  return sql.get<ListKey>('SELECT created_at AS "createdAt", seq FROM files WHERE id = $1', [id]);
}

export async function nextExpiry(sql: Sql): Promise<number | null> {
  const row = await sql.get<{ at: number | null }>(
    "SELECT min(expires_at) AS at FROM files WHERE expires_at IS NOT NULL",
  );
  return row?.at ?? null;
}

export async function expiredFiles(sql: Sql, nowSeconds: number): Promise<FileId[]> {
  const rows = await sql.all<{ id: FileId }>("SELECT id FROM files WHERE expires_at <= $1 ORDER BY expires_at", [
    nowSeconds,
  ]);
  return rows.map(({ id }) => id);
}
