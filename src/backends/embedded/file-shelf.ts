import { copyFile, mkdir, readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { FileId } from "../../contracts/ids.ts";
import { activeDocument, actualPath, DOCUMENT_COLUMNS, type DocumentRow } from "../../index/documents.ts";
import { DIRECT_SOURCE } from "../../index/shared-schema.ts";
import type { Store } from "../../index/store.ts";
import { isErrno } from "../../lib/atomic-file.ts";
import { withFileType } from "../../lib/file-type.ts";
import { hashFile } from "../../lib/hash-file.ts";
import type { SqlDatabase } from "../../lib/sql/sql.ts";
import { findFile, findFiles, insertFile, keyOfFile, listFiles, type UploadedFile } from "./catalog/files.ts";
import { type ListKey, type Page, type PageRequest, readPage } from "./catalog/read-page.ts";
import type { Stores } from "./stores.ts";

/** A file as the wire shows it: uploaded, or crawled into a store, where its bytes stay in the mirror. */
export interface WireFile extends UploadedFile {
  readonly path: string;
}

export const CRAWLED_PURPOSE = "assistants";
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
