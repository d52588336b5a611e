import type { FileId } from "../../../contracts/ids.ts";
import type { Sql } from "../../../lib/sql/sql.ts";

/** A file that arrives in parts. Times are Unix seconds. */
export interface Upload {
  readonly id: string;
  readonly filename: string;
  readonly purpose: string;
  readonly mimeType: string;
  /** Announced; the parts must add up to it. */
  readonly bytes: number;
  readonly createdAt: number;
  readonly expiresAt: number;
  /** Of the file that it becomes, from then; null: never. */
  readonly fileExpiresSeconds: number | null;
  readonly status: "pending" | "completed" | "cancelled";
  /** Once completed. */
  readonly fileId: FileId | null;
}

export interface UploadPart {
  readonly id: string;
  readonly uploadId: string;
  readonly bytes: number;
  readonly createdAt: number;
}

const COLUMNS = `id, filename, purpose, mime_type AS "mimeType", bytes, created_at AS "createdAt",
  expires_at AS "expiresAt", file_expires_seconds AS "fileExpiresSeconds", status, file_id AS "fileId"`;

export async function insertUpload(sql: Sql, upload: Upload): Promise<void> {
  await sql.run(
    `INSERT INTO uploads (id, filename, purpose, mime_type, bytes, created_at, expires_at, file_expires_seconds, status,
       file_id) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
    [
      upload.id,
      upload.filename,
      upload.purpose,
      upload.mimeType,
      upload.bytes,
      upload.createdAt,
      upload.expiresAt,
      upload.fileExpiresSeconds,
      upload.status,
      upload.fileId,
    ],
  );
}

export async function findUpload(sql: Sql, id: string): Promise<Upload | undefined> {
  return sql.get<Upload>(`SELECT ${COLUMNS} FROM uploads WHERE id = $1`, [id]);
}

/** false: it was not pending any more. Of two that end an upload at the same time, one gets true. */
export async function endUpload(
  sql: Sql,
  id: string,
  end:
    | { readonly status: "completed"; readonly fileId: FileId }
    | { readonly status: "cancelled"; readonly fileId: null },
): Promise<boolean> {
  const changed = await sql.run("UPDATE uploads SET status = $1, file_id = $2 WHERE id = $3 AND status = 'pending'", [
    end.status,
    end.fileId,
    id,
  ]);
  return changed === 1;
}

export async function insertPart(sql: Sql, part: UploadPart): Promise<void> {
  await sql.run("INSERT INTO upload_parts (id, upload_id, bytes, created_at) VALUES ($1, $2, $3, $4)", [
    part.id,
    part.uploadId,
    part.bytes,
    part.createdAt,
  ]);
}

export async function partsOfUpload(sql: Sql, uploadId: string): Promise<UploadPart[]> {
  return sql.all<UploadPart>(
    `SELECT id, upload_id AS "uploadId", bytes, created_at AS "createdAt" FROM upload_parts WHERE upload_id = $1`,
    [uploadId],
  );
}

export async function deleteParts(sql: Sql, uploadId: string): Promise<void> {
  await sql.run("DELETE FROM upload_parts WHERE upload_id = $1", [uploadId]);
}
