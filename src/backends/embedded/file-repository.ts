import { copyFile, mkdir, readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { FileId, VectorStoreId } from "../../contracts/ids.ts";
import { activeDocument, actualPath, DOCUMENT_COLUMNS, type DocumentRow } from "../../index/documents.ts";
import { deleteDocumentsOfFile, dropLooseBodies } from "../../index/retention.ts";
import { DIRECT_SOURCE } from "../../index/shared-schema.ts";
import type { Store } from "../../index/store.ts";
import { bumpVisibleRevision, writeLocked } from "../../index/store-state.ts";
import { isErrno } from "../../lib/atomic-file.ts";
import { withFileType } from "../../lib/file-type.ts";
import { hashFile } from "../../lib/hash.ts";
import { isListed, listOf, type Sql, type SqlDatabase } from "../../lib/sql/sql.ts";
import { deleteTasks } from "./processing-queue.ts";
import { type ListKey, type Page, type PageRequest, readPage } from "./read-page.ts";
import type { Stores } from "./stores.ts";

/** A file as the wire shows it: uploaded, or crawled into a store, where its bytes stay in the mirror. */
export interface WireFile extends UploadedFile {
  readonly path: string;
}

const CRAWLED_PURPOSE = "assistants";
const ABANDONED_MS = 24 * 3600 * 1000;
/** How long a deletion stays on record. Attaching a file takes less, so an attach under way learns of it. */
const DELETION_RECORD_SECONDS = 3600;
/** A file lives an hour at least, so what expires within a minute is known a minute ahead. */
const EXPIRY_CHECK_SECONDS = 60;

/** All files of the backend. Uploaded files are rows of the catalog; crawled files are known only to their store. */
export class FileRepository {
  readonly #folder: string;
  readonly #catalog: SqlDatabase;
  readonly #stores: Stores;
  readonly #nowSeconds: () => number;
  #expiry = { checkedAt: Number.NEGATIVE_INFINITY, next: null as number | null };

  constructor(folder: string, catalog: SqlDatabase, stores: Stores, nowSeconds: () => number) {
    this.#folder = join(folder, "files");
    this.#catalog = catalog;
    this.#stores = stores;
    this.#nowSeconds = nowSeconds;
  }

  /** Returns the path that an upload is written to. `save` makes it a file. */
  async incomingPath(id: FileId): Promise<string> {
    await mkdir(this.#folder, { recursive: true });
    return `${this.pathOf(id)}.part`;
  }

  /** Moves a received upload into place. `record` writes it to the catalog; if that throws, no file is left. */
  async save(file: UploadedFile, record = (): Promise<void> => insertFile(this.#catalog, file)): Promise<void> {
    await rename(await this.incomingPath(file.id), this.pathOf(file.id));
    try {
      await record();
    } catch (error) {
      await rm(this.pathOf(file.id), { force: true });
      throw error;
    }
  }

  /**
   * Copies a crawled file that a client attaches to another store, so that it does not depend on the next crawl. Returns
   * undefined if its bytes are gone. The caller checks afterwards whether the file was deleted meanwhile.
   */
  async adopt(file: WireFile): Promise<WireFile | undefined> {
    if (await findFile(this.#catalog, file.id)) return file;
    const path = await this.verifiedPath(file);
    if (path === undefined) return undefined;
    await copyFile(path, await this.incomingPath(file.id));
    await this.save(file);
    return { ...file, path: this.pathOf(file.id) };
  }

  async find(id: string): Promise<WireFile | undefined> {
    const uploaded = await findFile(this.#catalog, id);
    if (uploaded) return { ...uploaded, path: this.pathOf(id) };
    for await (const { store } of this.#stores.crawled()) {
      const row = await activeDocument(store.db, id);
      if (row) return toWireFile(row, store);
    }
    return undefined;
  }

  /** Returns undefined if the bytes are no longer on disk, or were replaced by others. */
  async verifiedPath(file: WireFile): Promise<string | undefined> {
    try {
      if ((await stat(file.path)).size !== file.bytes) return undefined;
      return (await hashFile(file.path)) === file.sha256 ? file.path : undefined;
    } catch (error) {
      if (isErrno(error, "ENOENT", "ENOTDIR")) return undefined;
      throw error;
    }
  }

  /** Merges catalog and stores into one list. Within a second the catalog comes first, then the stores by age. undefined: unknown cursor. */
  async list(
    request: { readonly limit: number; readonly order: "asc" | "desc"; readonly after: string | undefined },
    purpose: string | undefined,
  ): Promise<Page<WireFile> | undefined> {
    const cursor = request.after === undefined ? undefined : await this.#positionOf(request.after);
    if (request.after !== undefined && !cursor) return undefined;
    const { limit, order } = request;
    const pageFor = (origin: number): PageRequest => ({ limit, order, after: cursor && keyWithin(cursor, origin) });
    const found = new Map<string, PositionedFile>();
    const uploaded = await listFiles(this.#catalog, pageFor(0), purpose);
    for (const row of uploaded.rows) {
      found.set(row.id, { file: { ...row, path: this.pathOf(row.id) }, key: row, origin: 0 });
    }
    let more = uploaded.hasMore;
    if (purpose === undefined || purpose === CRAWLED_PURPOSE) {
      for await (const { store, entry } of this.#stores.crawled()) {
        const page = await crawledFiles(store, pageFor(entry.seq));
        more ||= page.hasMore;
        const adopted = await findFiles(
          this.#catalog,
          page.rows.map(({ fileId }) => fileId),
        );
        for (const row of page.rows) {
          if (adopted.has(row.fileId)) continue;
          found.set(row.fileId, { file: toWireFile(row, store), key: keyOf(row), origin: entry.seq });
        }
      }
    }
    const sign = order === "asc" ? 1 : -1;
    const rows = [...found.values()].sort((a, b) => sign * comparePositions(a, b)).map(({ file }) => file);
    return { rows: rows.slice(0, limit), hasMore: more || rows.length > limit };
  }

  /**
   * Deletes a file from the catalog, every store and disk; returns false if there is none. The catalog row goes first: an
   * attach under way then either finds the deletion, or has its rows in the stores before they are searched here.
   */
  async delete(id: string): Promise<boolean> {
    if (!(await this.find(id))) return false;
    await deleteFile(this.#catalog, id, this.#nowSeconds());
    await this.#finishDeletion(id);
    return true;
  }

  /** Finishes deletions that a crash cut short. */
  async sweepDeleted(): Promise<void> {
    for (const id of await halfDeleted(this.#catalog)) await this.#finishDeletion(id);
  }

  /** Deletes expired files. Called before anything is shown. */
  async sweepExpired(): Promise<void> {
    const now = this.#nowSeconds();
    if (now >= this.#expiry.checkedAt + EXPIRY_CHECK_SECONDS) {
      this.#expiry = { checkedAt: now, next: await nextExpiry(this.#catalog) };
    }
    if (this.#expiry.next === null || this.#expiry.next > now) return;
    for (const id of await expiredFiles(this.#catalog, now)) await this.delete(id);
    this.#expiry = { checkedAt: now, next: await nextExpiry(this.#catalog) };
  }

  /** Deletes partial uploads of processes that ended. */
  async sweepAbandoned(): Promise<void> {
    for (const name of await readdir(this.#folder).catch(() => [])) {
      if (!name.endsWith(".part")) continue;
      const path = join(this.#folder, name);
      const age = Date.now() - (await stat(path).catch(() => ({ mtimeMs: Date.now() }))).mtimeMs;
      if (age > ABANDONED_MS) await rm(path, { force: true });
    }
  }

  pathOf(id: string): string {
    return join(this.#folder, id);
  }

  async #finishDeletion(id: string): Promise<void> {
    for await (const { store, entry } of this.#stores.mayHold(id)) {
      await detachFile(this.#catalog, store, { storeId: entry.id, fileId: id });
    }
    await rm(this.pathOf(id), { force: true });
    await endDeletion(this.#catalog, id, this.#nowSeconds() - DELETION_RECORD_SECONDS);
  }

  async #positionOf(id: string): Promise<Position | undefined> {
    const key = await keyOfFile(this.#catalog, id);
    if (key) return { key, origin: 0 };
    for await (const { store, entry } of this.#stores.crawled()) {
      const row = await activeDocument(store.db, id);
      if (row) return { key: keyOf(row), origin: entry.seq };
    }
    return undefined;
  }
}

/** Where a file stands in the merged list. */
interface Position {
  readonly key: ListKey;
  /** 0 for the catalog, else the number of the store. */
  readonly origin: number;
}

interface PositionedFile extends Position {
  readonly file: WireFile;
}

function comparePositions(a: Position, b: Position): number {
  return a.key.createdAt - b.key.createdAt || a.origin - b.origin || a.key.seq - b.key.seq;
}

/** Translates the cursor for a list of another origin: within the same second, all rows of that origin lie on one side of it. */
function keyWithin(cursor: Position, origin: number): ListKey {
  if (origin === cursor.origin) return cursor.key;
  return { createdAt: cursor.key.createdAt, seq: origin > cursor.origin ? -1 : Number.MAX_SAFE_INTEGER };
}

function keyOf(row: DocumentRow): ListKey {
  return { createdAt: row.uploadedAt, seq: row.id };
}

function crawledFiles(store: Store, request: PageRequest): Promise<Page<DocumentRow>> {
  return readPage<DocumentRow>(
    store.db,
    {
      columns: DOCUMENT_COLUMNS,
      from: "documents_active",
      createdAt: "uploaded_at",
      seq: "id",
      where: "source_id <> $1",
      values: [DIRECT_SOURCE],
    },
    request,
  );
}

/** Named after the document: over the wire only the extension tells what the bytes are to be read as. */
function toWireFile(row: DocumentRow, store: Store): WireFile {
  const { fileId: id, bytes, sha256, uploadedAt: createdAt } = row;
  const filename = withFileType(row.name, row.fileType);
  const path = actualPath(store, row.file);
  return { id, filename, purpose: CRAWLED_PURPOSE, bytes, sha256, createdAt, expiresAt: null, path };
}

/**
 * Deletes a file from all generations of a store; returns false if the store did not hold it. The task is deleted first, so
 * that a worker that is processing the file finds no document to complete.
 */
export async function detachFile(
  catalog: Sql,
  store: Store,
  { storeId, fileId }: { readonly storeId: VectorStoreId; readonly fileId: string },
): Promise<boolean> {
  if (!(await store.db.get("SELECT id FROM documents WHERE file_id = $1 LIMIT 1", [fileId]))) return false;
  await deleteTasks(catalog, [{ storeId, fileId: fileId as FileId }]);
  const deleted = await writeLocked(store.db, async (sql) => {
    await bumpVisibleRevision(sql);
    return deleteDocumentsOfFile(sql, store, fileId);
  });
  await dropLooseBodies(store, { budget: 10 });
  return deleted > 0;
}

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

/** Records which store a file goes to, before it is there: a deletion searches the recorded stores. */
export async function recordAttached(sql: Sql, storeId: VectorStoreId, fileIds: readonly FileId[]): Promise<void> {
  const rows = fileIds.map((fileId) => [fileId, storeId]);
  await sql.insert("attached_files (file_id, store_id)", rows, "ON CONFLICT DO NOTHING");
}

/** From here on the file does not exist. The record of its deletion stays, for attaches that had begun before. */
async function deleteFile(db: SqlDatabase, id: string, nowSeconds: number): Promise<void> {
  await db.write(async (sql) => {
    await sql.run("DELETE FROM files WHERE id = $1", [id]);
    await sql.run(
      `INSERT INTO deleted_files (id, deleted_at, done) VALUES ($1, $2, 0)
       ON CONFLICT (id) DO UPDATE SET deleted_at = excluded.deleted_at, done = 0`,
      [id, nowSeconds],
    );
  });
}

/** The file is out of every store, and its bytes are gone. Records of deletions before `since` are not needed any more. */
async function endDeletion(sql: Sql, id: string, since: number): Promise<void> {
  await sql.run("DELETE FROM attached_files WHERE file_id = $1", [id]);
  await sql.run("UPDATE deleted_files SET done = 1 WHERE id = $1", [id]);
  await sql.run("DELETE FROM deleted_files WHERE done = 1 AND deleted_at < $1", [since]);
}

export async function isDeleted(sql: Sql, id: string): Promise<boolean> {
  return (await sql.get("SELECT id FROM deleted_files WHERE id = $1", [id])) !== undefined;
}

/** Returns the files whose deletion a crash cut short. */
async function halfDeleted(sql: Sql): Promise<string[]> {
  const rows = await sql.all<{ id: string }>("SELECT id FROM deleted_files WHERE done = 0");
  return rows.map(({ id }) => id);
}

async function listFiles(
  sql: Sql,
  request: PageRequest,
  purpose: string | undefined,
): Promise<Page<UploadedFile & { readonly seq: number }>> {
  const filter = purpose === undefined ? {} : { where: "purpose = $1", values: [purpose] };
  const list = { columns: `${COLUMNS}, seq`, from: "files", createdAt: "created_at", seq: "seq", ...filter };
  return readPage(sql, list, request);
}

async function keyOfFile(sql: Sql, id: string): Promise<ListKey | undefined> {
  return sql.get<ListKey>('SELECT created_at AS "createdAt", seq FROM files WHERE id = $1', [id]);
}

async function nextExpiry(sql: Sql): Promise<number | null> {
  const row = await sql.get<{ at: number | null }>(
    "SELECT min(expires_at) AS at FROM files WHERE expires_at IS NOT NULL",
  );
  return row?.at ?? null;
}

async function expiredFiles(sql: Sql, nowSeconds: number): Promise<FileId[]> {
  const rows = await sql.all<{ id: FileId }>("SELECT id FROM files WHERE expires_at <= $1 ORDER BY expires_at", [
    nowSeconds,
  ]);
  return rows.map(({ id }) => id);
}
