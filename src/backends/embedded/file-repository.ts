import { copyFile, mkdir, readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { FileId, VectorStoreId } from "../../contracts/ids.ts";
import { activeDocument, actualPath, DOCUMENT_COLUMNS, type DocumentRow } from "../../index/documents.ts";
import { deleteDocumentsOfFile, dropLooseBodies } from "../../index/retention.ts";
import { DIRECT_SOURCE } from "../../index/shared-schema.ts";
import type { Store } from "../../index/store.ts";
import { bumpVisibleRevision, writeInTurn } from "../../index/store-state.ts";
import { isErrno } from "../../lib/atomic-file.ts";
import { withFileType } from "../../lib/file-type.ts";
import { hashFile } from "../../lib/hash-file.ts";
import { isListed, listOf } from "../../lib/sql/is-listed.ts";
import type { Sql, SqlDatabase } from "../../lib/sql/sql.ts";
import { deleteTasks } from "./processing-queue.ts";
import { type ListKey, type Page, type PageRequest, readPage } from "./read-page.ts";
import type { Stores } from "./stores.ts";

/** A file as the wire shows it: uploaded, or crawled into a store, where its bytes stay in the mirror. */
export interface WireFile extends UploadedFile {
  readonly path: string;
}

const CRAWLED_PURPOSE = "assistants";
const ABANDONED_MS = 24 * 3600 * 1000;

/** All files of the backend: the catalog has the uploaded ones, each store has its own crawled ones. */
export class FileShelf {
  readonly #folder: string;
  readonly #catalog: SqlDatabase;
  readonly #stores: Stores;

  constructor(folder: string, catalog: SqlDatabase, stores: Stores) {
    this.#folder = join(folder, "files");
    this.#catalog = catalog;
    this.#stores = stores;
  }

  /** Where an upload is received; `keep` makes it a file. */
  async incomingPath(id: FileId): Promise<string> {
    await mkdir(this.#folder, { recursive: true });
    return `${this.pathOf(id)}.part`;
  }

  /** `record` writes it into the catalog, by default as it is. What it throws leaves no file. */
  async keep(file: UploadedFile, record = (): Promise<void> => insertFile(this.#catalog, file)): Promise<void> {
    await rename(await this.incomingPath(file.id), this.pathOf(file.id));
    try {
      await record();
    } catch (error) {
      await rm(this.pathOf(file.id), { force: true });
      throw error;
    }
  }

  /**
   * A crawled file that somebody attaches elsewhere gets a life of its own, independent of what the crawl does next.
   * undefined when its bytes are gone. Whoever calls it looks afterwards whether the file was deleted meanwhile.
   */
  async adopt(file: WireFile): Promise<WireFile | undefined> {
    if (await findFile(this.#catalog, file.id)) return file;
    const path = await this.verifiedPath(file);
    if (path === undefined) return undefined;
    await copyFile(path, await this.incomingPath(file.id));
    await this.keep(file);
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

  /** undefined when the bytes are not on disk any more, or are by now those of something else. */
  async verifiedPath(file: WireFile): Promise<string | undefined> {
    try {
      if ((await stat(file.path)).size !== file.bytes) return undefined;
      return (await hashFile(file.path)) === file.sha256 ? file.path : undefined;
    } catch (error) {
      if (isErrno(error, "ENOENT", "ENOTDIR")) return undefined;
      throw error;
    }
  }

  /** One list over catalog and stores; on equal seconds the catalog comes first, then the stores by age. */
  async list(
    request: { readonly limit: number; readonly order: "asc" | "desc"; readonly after: string | undefined },
    purpose: string | undefined,
  ): Promise<Page<WireFile> | undefined> {
    const cursor = request.after === undefined ? undefined : await this.#place(request.after);
    if (request.after !== undefined && !cursor) return undefined;
    const { limit, order } = request;
    const pageFor = (origin: number): PageRequest => ({ limit, order, after: cursor && keyWithin(cursor, origin) });
    const found = new Map<string, Placed>();
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
    const rows = [...found.values()].sort((a, b) => sign * comparePlaces(a, b)).map(({ file }) => file);
    return { rows: rows.slice(0, limit), hasMore: more || rows.length > limit };
  }

  /** Uploads that never ended, from processes that are gone. */
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

  async #place(id: string): Promise<Place | undefined> {
    const key = await keyOfFile(this.#catalog, id);
    if (key) return { key, origin: 0 };
    for await (const { store, entry } of this.#stores.crawled()) {
      const row = await activeDocument(store.db, id);
      if (row) return { key: keyOf(row), origin: entry.seq };
    }
    return undefined;
  }
}

interface Place {
  readonly key: ListKey;
  readonly origin: number;
}

interface Placed extends Place {
  readonly file: WireFile;
}

function comparePlaces(a: Place, b: Place): number {
  return a.key.createdAt - b.key.createdAt || a.origin - b.origin || a.key.seq - b.key.seq;
}

/** The cursor as a row of another origin sees it: in the same second, all of that origin lies on one side of it. */
function keyWithin(cursor: Place, origin: number): ListKey {
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

/** Attaching a file takes less. */
const NOTE_SECONDS = 3600;
/** A file lives an hour at least, so what expires within a minute is known a minute ahead. */
const EXPIRY_LOOK_SECONDS = 60;

/** How files leave the backend: by hand, or when their time is over. */
export class FileRemoval {
  readonly #catalog: SqlDatabase;
  readonly #stores: Stores;
  readonly #shelf: FileShelf;
  readonly #nowSeconds: () => number;
  #expiry = { lookedAt: Number.NEGATIVE_INFINITY, next: null as number | null };

  constructor(catalog: SqlDatabase, stores: Stores, shelf: FileShelf, nowSeconds: () => number) {
    this.#catalog = catalog;
    this.#stores = stores;
    this.#shelf = shelf;
    this.#nowSeconds = nowSeconds;
  }

  /**
   * Gone from every store and from search when it returns; false when there was no such file. The file itself goes first:
   * whoever attaches it at this moment either finds that out, or is in time for its rows to be taken out of the stores.
   */
  async delete(id: string): Promise<boolean> {
    if (!(await this.#shelf.find(id))) return false;
    await deleteFile(this.#catalog, id, this.#nowSeconds());
    await this.#takeOut(id);
    return true;
  }

  /** Deletions that a crash cut short. */
  async sweepDeleted(): Promise<void> {
    for (const id of await halfDeleted(this.#catalog)) await this.#takeOut(id);
  }

  /** To be called before anything is shown: what has expired is deleted, like by hand. */
  async sweepExpired(): Promise<void> {
    const now = this.#nowSeconds();
    if (now >= this.#expiry.lookedAt + EXPIRY_LOOK_SECONDS) {
      this.#expiry = { lookedAt: now, next: await nextExpiry(this.#catalog) };
    }
    if (this.#expiry.next === null || this.#expiry.next > now) return;
    for (const id of await expiredFiles(this.#catalog, now)) await this.delete(id);
    this.#expiry = { lookedAt: now, next: await nextExpiry(this.#catalog) };
  }

  async #takeOut(id: string): Promise<void> {
    for await (const { store, entry } of this.#stores.toAsk(id)) {
      await detachFile(this.#catalog, store, { storeId: entry.id, fileId: id });
    }
    await rm(this.#shelf.pathOf(id), { force: true });
    await endDeletion(this.#catalog, id, this.#nowSeconds() - NOTE_SECONDS);
  }
}

/**
 * Final in all generations of the store. false when it did not hold the file. The task goes first: whoever is processing
 * the file finds no document to complete.
 */
export async function detachFile(
  catalog: Sql,
  store: Store,
  { storeId, fileId }: { readonly storeId: VectorStoreId; readonly fileId: string },
): Promise<boolean> {
  if (!(await store.db.get("SELECT id FROM documents WHERE file_id = $1 LIMIT 1", [fileId]))) return false;
  await deleteTasks(catalog, [{ storeId, fileId: fileId as FileId }]);
  const deleted = await writeInTurn(store.db, async (sql) => {
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

/** Before they are in the store: whoever deletes a file asks the stores that are noted. */
export async function noteAttached(sql: Sql, storeId: VectorStoreId, fileIds: readonly FileId[]): Promise<void> {
  const rows = fileIds.map((fileId) => [fileId, storeId]);
  await sql.insert("attached_files (file_id, store_id)", rows, "ON CONFLICT DO NOTHING");
}

/** From here on the file does not exist. The note stays, so that work on it that had begun already finds out. */
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

/** It is out of every store, and its bytes are gone. Notes from before `keptSince` have told everybody. */
async function endDeletion(sql: Sql, id: string, keptSince: number): Promise<void> {
  await sql.run("DELETE FROM attached_files WHERE file_id = $1", [id]);
  await sql.run("UPDATE deleted_files SET done = 1 WHERE id = $1", [id]);
  await sql.run("DELETE FROM deleted_files WHERE done = 1 AND deleted_at < $1", [keptSince]);
}

export async function isDeleted(sql: Sql, id: string): Promise<boolean> {
  return (await sql.get("SELECT id FROM deleted_files WHERE id = $1", [id])) !== undefined;
}

/** What a crash left half deleted. */
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
