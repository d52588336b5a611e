import { createHash } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { BadInputError } from "../../contracts/errors.ts";
import type { FileId } from "../../contracts/ids.ts";
import { randomId } from "../../lib/random-id.ts";
import type { Sql, SqlDatabase } from "../../lib/sql/sql.ts";
import { type FileRepository, insertFile, type UploadedFile } from "./file-repository.ts";

const LIFETIME_SECONDS = 3600;

type NewUpload = Pick<Upload, "filename" | "purpose" | "mimeType" | "bytes" | "fileExpiresSeconds">;

/** Files that are uploaded in parts. Each part is a file until all are joined. */
export class UploadRepository {
  readonly #folder: string;
  readonly #catalog: SqlDatabase;
  readonly #files: FileRepository;
  readonly #nowSeconds: () => number;

  constructor(folder: string, catalog: SqlDatabase, files: FileRepository, nowSeconds: () => number) {
    this.#folder = join(folder, "uploads");
    this.#catalog = catalog;
    this.#files = files;
    this.#nowSeconds = nowSeconds;
  }

  async create(options: NewUpload): Promise<Upload> {
    const createdAt = this.#nowSeconds();
    const life = { createdAt, expiresAt: createdAt + LIFETIME_SECONDS };
    const upload: Upload = { id: randomId("upload_"), ...options, ...life, status: "pending", fileId: null };
    await insertUpload(this.#catalog, upload);
    return upload;
  }

  /** Returns the status as the wire shows it: an upload that was not completed in time has expired. */
  statusOf({ status, expiresAt }: Upload): Upload["status"] | "expired" {
    return status === "pending" && expiresAt <= this.#nowSeconds() ? "expired" : status;
  }

  /** Returns the path that a part is written to. `savePart` records it. */
  async incomingPath(upload: Upload, partId: string): Promise<string> {
    await mkdir(join(this.#folder, upload.id), { recursive: true });
    return this.#pathOf(upload.id, partId);
  }

  async savePart(upload: Upload, partId: string, bytes: number): Promise<UploadPart> {
    const part = { id: partId, uploadId: upload.id, bytes, createdAt: this.#nowSeconds() };
    await insertPart(this.#catalog, part);
    return part;
  }

  /** Throws BadInputError if the parts do not fit; the upload is unchanged then, and can be completed with others. */
  async complete(upload: Upload, partIds: readonly string[], md5: string | undefined): Promise<UploadedFile> {
    const parts = await this.#orderedParts(upload, partIds);
    const id = randomId("file-") as FileId;
    const path = await this.#files.incomingPath(id);
    try {
      const joined = await this.#join(parts, path);
      if (joined.bytes !== upload.bytes) throw wrongLength(upload, joined.bytes);
      if (md5 !== undefined && md5.toLowerCase() !== joined.md5) {
        throw new BadInputError(`The MD5 checksum of the parts is '${joined.md5}', not '${md5}'.`);
      }
      const { filename, purpose, bytes, fileExpiresSeconds } = upload;
      const createdAt = this.#nowSeconds();
      const expiresAt = fileExpiresSeconds === null ? null : createdAt + fileExpiresSeconds;
      const file: UploadedFile = { id, filename, purpose, bytes, sha256: joined.sha256, createdAt, expiresAt };
      await this.#files.save(file, () => this.#record(upload, file));
      await this.#dropParts(upload.id);
      return file;
    } catch (error) {
      await rm(path, { force: true });
      throw error;
    }
  }

  async cancel(upload: Upload): Promise<boolean> {
    const ended = await endUpload(this.#catalog, upload.id, { status: "cancelled", fileId: null });
    if (ended) await this.#dropParts(upload.id);
    return ended;
  }

  /** Deletes parts of uploads that can no longer be completed. */
  async sweepExpired(): Promise<void> {
    for (const id of await readdir(this.#folder).catch(() => [])) {
      const upload = await findUpload(this.#catalog, id);
      if (!upload || this.statusOf(upload) !== "pending") await this.#dropParts(id);
    }
  }

  async #record(upload: Upload, file: UploadedFile): Promise<void> {
    await this.#catalog.write(async (sql) => {
      if (!(await endUpload(sql, upload.id, { status: "completed", fileId: file.id }))) {
        throw new BadInputError(`Upload '${upload.id}' was completed or cancelled meanwhile.`);
      }
      await insertFile(sql, file);
    });
  }

  async #orderedParts(upload: Upload, partIds: readonly string[]): Promise<UploadPart[]> {
    const known = new Map((await partsOfUpload(this.#catalog, upload.id)).map((part) => [part.id, part]));
    if (new Set(partIds).size !== partIds.length) throw new BadInputError("'part_ids' names a part twice.");
    const parts = partIds.map((id) => {
      const part = known.get(id);
      if (!part) throw new BadInputError(`Upload '${upload.id}' has no part '${id}'.`);
      return part;
    });
    const bytes = parts.reduce((sum, part) => sum + part.bytes, 0);
    if (bytes !== upload.bytes) throw wrongLength(upload, bytes);
    return parts;
  }

  async #join(
    parts: readonly UploadPart[],
    path: string,
  ): Promise<{ readonly bytes: number; readonly sha256: string; readonly md5: string }> {
    const sha256 = createHash("sha256");
    const md5 = createHash("md5");
    let bytes = 0;
    const measure = new Transform({
      transform(block: Buffer, _encoding, done) {
        bytes += block.length;
        sha256.update(block);
        md5.update(block);
        done(null, block);
      },
    });
    const pathOf = (part: UploadPart): string => this.#pathOf(part.uploadId, part.id);
    const blocks = async function* (): AsyncGenerator<Buffer> {
      for (const part of parts) yield* createReadStream(pathOf(part));
    };
    await pipeline(blocks, measure, createWriteStream(path, { flush: true }));
    return { bytes, sha256: sha256.digest("hex"), md5: md5.digest("hex") };
  }

  /** Deletes the rows first: as long as the folder is there, the next sweep finds what a crash left. */
  async #dropParts(uploadId: string): Promise<void> {
    await deleteParts(this.#catalog, uploadId);
    await rm(join(this.#folder, uploadId), { recursive: true, force: true });
  }

  #pathOf(uploadId: string, partId: string): string {
    return join(this.#folder, uploadId, partId);
  }
}

function wrongLength(upload: Upload, bytes: number): BadInputError {
  return new BadInputError(`The parts have ${bytes} bytes together; the upload was announced with ${upload.bytes}.`);
}

/** A file that is uploaded in parts. Times are Unix seconds. */
export interface Upload {
  readonly id: string;
  readonly filename: string;
  readonly purpose: string;
  readonly mimeType: string;
  /** Announced; the parts must add up to it. */
  readonly bytes: number;
  readonly createdAt: number;
  readonly expiresAt: number;
  /** Expiry of the file that it becomes, counted from then; null: never. */
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

async function insertUpload(sql: Sql, upload: Upload): Promise<void> {
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

/** Returns false if it was not pending any more. Of two concurrent calls, one gets true. */
async function endUpload(
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

async function insertPart(sql: Sql, part: UploadPart): Promise<void> {
  await sql.run("INSERT INTO upload_parts (id, upload_id, bytes, created_at) VALUES ($1, $2, $3, $4)", [
    part.id,
    part.uploadId,
    part.bytes,
    part.createdAt,
  ]);
}

async function partsOfUpload(sql: Sql, uploadId: string): Promise<UploadPart[]> {
  return sql.all<UploadPart>(
    `SELECT id, upload_id AS "uploadId", bytes, created_at AS "createdAt" FROM upload_parts WHERE upload_id = $1`,
    [uploadId],
  );
}

async function deleteParts(sql: Sql, uploadId: string): Promise<void> {
  await sql.run("DELETE FROM upload_parts WHERE upload_id = $1", [uploadId]);
}
