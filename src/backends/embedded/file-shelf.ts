import { copyFile, mkdir, readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { FileId } from "../../contracts/ids.ts";
import { dropLooseBodies } from "../../index/sqlite/cleanup.ts";
import {
  activeDocument,
  DOCUMENT_COLUMNS,
  type DocumentRow,
  deleteDocumentsOfFile,
} from "../../index/sqlite/documents.ts";
import { bumpVisibleRevision } from "../../index/sqlite/generations.ts";
import type { Database } from "../../index/sqlite/open-database.ts";
import type { Store } from "../../index/sqlite/open-store.ts";
import { DIRECT_SOURCE } from "../../index/sqlite/store-schema.ts";
import { actualPath } from "../../index/sqlite/stored-path.ts";
import { isErrno } from "../../lib/atomic-file.ts";
import { hashFile } from "../../lib/hash-file.ts";
import type { Catalog, UploadedFile } from "./catalog.ts";
import { type ListKey, type PageRequest, readPage } from "./read-page.ts";
import type { StoreFolder } from "./store-folder.ts";

/** A file as the wire shows it: uploaded, or crawled into a store, where its bytes stay in the mirror. */
export interface WireFile extends UploadedFile {
  readonly path: string;
}

export const CRAWLED_PURPOSE = "assistants";
const ABANDONED_MS = 24 * 3600 * 1000;

/** All files of the backend: the catalog has the uploaded ones, each store has its own crawled ones. */
export class FileShelf {
  readonly #folder: string;
  readonly #catalog: Catalog;
  readonly #stores: StoreFolder;

  constructor(folder: string, catalog: Catalog, stores: StoreFolder) {
    this.#folder = join(folder, "files");
    this.#catalog = catalog;
    this.#stores = stores;
  }

  /** Where an upload is received; `keep` makes it a file. */
  async incomingPath(id: FileId): Promise<string> {
    await mkdir(this.#folder, { recursive: true });
    return `${this.#pathOf(id)}.part`;
  }

  async keep(file: UploadedFile): Promise<void> {
    await rename(await this.incomingPath(file.id), this.#pathOf(file.id));
    this.#catalog.insertFile(file);
  }

  /** A crawled file that somebody attaches elsewhere gets a life of its own, independent of what the crawl does next. */
  async adopt(file: WireFile): Promise<WireFile | undefined> {
    if (this.#catalog.file(file.id)) return file;
    const path = await this.verifiedPath(file);
    if (path === undefined) return undefined;
    await copyFile(path, await this.incomingPath(file.id));
    await this.keep(file);
    return { ...file, path: this.#pathOf(file.id) };
  }

  find(id: string): WireFile | undefined {
    const uploaded = this.#catalog.file(id);
    if (uploaded) return { ...uploaded, path: this.#pathOf(id) };
    for (const { store } of this.#stores.all()) {
      const row = activeDocument(store.db, id);
      if (row) return toWireFile(row, store.db);
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
  list(
    request: { readonly limit: number; readonly order: "asc" | "desc"; readonly after: string | undefined },
    purpose: string | undefined,
  ): { readonly rows: WireFile[]; readonly hasMore: boolean } | undefined {
    const cursor = request.after === undefined ? undefined : this.#place(request.after);
    if (request.after !== undefined && !cursor) return undefined;
    const { limit, order } = request;
    const pageFor = (origin: number): PageRequest => ({ limit, order, after: cursor && keyWithin(cursor, origin) });
    const found = new Map<string, Placed>();
    const uploaded = this.#catalog.files(pageFor(0), purpose);
    for (const row of uploaded.rows) {
      found.set(row.id, { file: { ...row, path: this.#pathOf(row.id) }, key: row, origin: 0 });
    }
    let more = uploaded.hasMore;
    if (purpose === undefined || purpose === CRAWLED_PURPOSE) {
      for (const { store, entry } of this.#stores.all()) {
        const page = crawledFiles(store, pageFor(entry.seq));
        more ||= page.hasMore;
        for (const row of page.rows) {
          if (this.#catalog.file(row.fileId)) continue;
          found.set(row.fileId, { file: toWireFile(row, store.db), key: keyOf(row), origin: entry.seq });
        }
      }
    }
    const sign = order === "asc" ? 1 : -1;
    const rows = [...found.values()].sort((a, b) => sign * comparePlaces(a, b)).map(({ file }) => file);
    return { rows: rows.slice(0, limit), hasMore: more || rows.length > limit };
  }

  /** Gone from every store and from search first, so that nothing shows text of a file that is no more. */
  async delete(id: string): Promise<boolean> {
    const uploaded = this.#catalog.file(id) !== undefined;
    let held = false;
    for (const { store } of this.#stores.all()) held = (await detachFile(store, id)) || held;
    if (uploaded) {
      await rm(this.#pathOf(id), { force: true });
      this.#catalog.deleteFile(id);
    }
    return uploaded || held;
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

  #place(id: string): Place | undefined {
    const key = this.#catalog.fileKey(id);
    if (key) return { key, origin: 0 };
    for (const { store, entry } of this.#stores.all()) {
      const row = activeDocument(store.db, id);
      if (row) return { key: keyOf(row), origin: entry.seq };
    }
    return undefined;
  }

  #pathOf(id: string): string {
    return join(this.#folder, id);
  }
}

/** Final in all generations of the store. false when it did not hold the file. */
export async function detachFile(store: Store, fileId: string): Promise<boolean> {
  if (!store.db.statement("SELECT 1 FROM documents WHERE file_id = ? LIMIT 1").get(fileId)) return false;
  const deleted = store.db.write(() => {
    bumpVisibleRevision(store.db);
    return deleteDocumentsOfFile(store.db, fileId);
  });
  await dropLooseBodies(store.db, 10);
  return deleted > 0;
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

function crawledFiles(store: Store, request: PageRequest): { rows: readonly DocumentRow[]; hasMore: boolean } {
  return readPage<DocumentRow>(
    store.db,
    {
      columns: DOCUMENT_COLUMNS,
      from: "documents_active",
      createdAt: "uploaded_at",
      seq: "id",
      where: "source_id <> ?",
      values: [DIRECT_SOURCE],
    },
    request,
  );
}

function toWireFile(row: DocumentRow, db: Database): WireFile {
  const { fileId: id, name: filename, bytes, sha256, uploadedAt: createdAt } = row;
  return { id, filename, purpose: CRAWLED_PURPOSE, bytes, sha256, createdAt, path: actualPath(db, row.file) };
}
