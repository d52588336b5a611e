import { join } from "node:path";
import type { FileId, VectorStoreId } from "../../contracts/ids.ts";
import { type Database, openDatabase, type Schema } from "../../index/sqlite/open-database.ts";
import { type ListKey, type Page, type PageRequest, readPage } from "./read-page.ts";

/** A file uploaded over the wire. Times are Unix seconds. */
export interface UploadedFile {
  readonly id: FileId;
  readonly filename: string;
  readonly purpose: string;
  readonly bytes: number;
  readonly sha256: string;
  readonly createdAt: number;
}

export interface StoreEntry {
  readonly seq: number;
  readonly id: VectorStoreId;
  readonly name: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly createdAt: number;
  readonly lastActiveAt: number;
}

/** The format is described in docs/formats/backend-sqlite.md. */
const CATALOG_SCHEMA: Schema = {
  version: 1,
  sql: `
CREATE TABLE files (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  filename TEXT NOT NULL,
  purpose TEXT NOT NULL,
  bytes INTEGER NOT NULL,
  sha256 TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX files_created ON files (created_at, seq);

CREATE TABLE vector_stores (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  metadata TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  last_active_at INTEGER NOT NULL
) STRICT;
CREATE INDEX vector_stores_created ON vector_stores (created_at, seq);

CREATE TABLE deleted_stores (id TEXT PRIMARY KEY) STRICT, WITHOUT ROWID
`,
};

const FILE_COLUMNS = "id, filename, purpose, bytes, sha256, created_at AS createdAt";
const STORE_COLUMNS = "seq, id, name, metadata, created_at AS createdAt, last_active_at AS lastActiveAt";

type StoreRow = Omit<StoreEntry, "metadata"> & { readonly metadata: string };

/** Which files were uploaded and which vector stores exist. A store that is not in here does not exist, whatever is on disk. */
export class Catalog {
  readonly #db: Database;

  constructor(folder: string) {
    this.#db = openDatabase(join(folder, "catalog.sqlite"), CATALOG_SCHEMA);
  }

  insertFile(file: UploadedFile): void {
    this.#db
      .statement("INSERT INTO files (id, filename, purpose, bytes, sha256, created_at) VALUES (?, ?, ?, ?, ?, ?)")
      .run(file.id, file.filename, file.purpose, file.bytes, file.sha256, file.createdAt);
  }

  file(id: string): UploadedFile | undefined {
    return this.#db.statement(`SELECT ${FILE_COLUMNS} FROM files WHERE id = ?`).get(id) as unknown as
      | UploadedFile
      | undefined;
  }

  deleteFile(id: string): void {
    this.#db.statement("DELETE FROM files WHERE id = ?").run(id);
  }

  files(request: PageRequest, purpose: string | undefined): Page<UploadedFile & { readonly seq: number }> {
    const filter = purpose === undefined ? {} : { where: "purpose = ?", values: [purpose] };
    const columns = `${FILE_COLUMNS}, seq`;
    return readPage(this.#db, { columns, from: "files", createdAt: "created_at", seq: "seq", ...filter }, request);
  }

  fileKey(id: string): ListKey | undefined {
    return this.#key("files", id);
  }

  insertStore(store: Omit<StoreEntry, "seq">): void {
    this.#db
      .statement("INSERT INTO vector_stores (id, name, metadata, created_at, last_active_at) VALUES (?, ?, ?, ?, ?)")
      .run(store.id, store.name, JSON.stringify(store.metadata), store.createdAt, store.lastActiveAt);
  }

  store(id: string): StoreEntry | undefined {
    const row = this.#db.statement(`SELECT ${STORE_COLUMNS} FROM vector_stores WHERE id = ?`).get(id);
    return row && toEntry(row as unknown as StoreRow);
  }

  /** Oldest first. */
  allStores(): StoreEntry[] {
    const rows = this.#db.statement(`SELECT ${STORE_COLUMNS} FROM vector_stores ORDER BY seq`).all();
    return (rows as unknown as StoreRow[]).map(toEntry);
  }

  stores(request: PageRequest): Page<StoreEntry> {
    const query = { columns: STORE_COLUMNS, from: "vector_stores", createdAt: "created_at", seq: "seq" };
    const page = readPage<StoreRow>(this.#db, query, request);
    return { rows: page.rows.map(toEntry), hasMore: page.hasMore };
  }

  storeKey(id: string): ListKey | undefined {
    return this.#key("vector_stores", id);
  }

  updateStore(id: string, changes: Pick<StoreEntry, "name" | "metadata" | "lastActiveAt">): void {
    this.#db
      .statement("UPDATE vector_stores SET name = ?, metadata = ?, last_active_at = ? WHERE id = ?")
      .run(changes.name, JSON.stringify(changes.metadata), changes.lastActiveAt, id);
  }

  touchStore(id: string, lastActiveAt: number): void {
    this.#db.statement("UPDATE vector_stores SET last_active_at = ? WHERE id = ?").run(lastActiveAt, id);
  }

  /** From here on the store does not exist; the note stays until its file is deleted, which a crash may delay. */
  deleteStore(id: string): void {
    this.#db.write(() => {
      this.#db.statement("DELETE FROM vector_stores WHERE id = ?").run(id);
      this.#db.statement("INSERT OR IGNORE INTO deleted_stores (id) VALUES (?)").run(id);
    });
  }

  deletedStores(): string[] {
    return this.#db
      .statement("SELECT id FROM deleted_stores")
      .all()
      .map((row) => String(row["id"]));
  }

  forgetDeletedStore(id: string): void {
    this.#db.statement("DELETE FROM deleted_stores WHERE id = ?").run(id);
  }

  close(): void {
    this.#db.close();
  }

  #key(table: "files" | "vector_stores", id: string): ListKey | undefined {
    return this.#db.statement(`SELECT created_at AS createdAt, seq FROM ${table} WHERE id = ?`).get(id) as unknown as
      | ListKey
      | undefined;
  }
}

function toEntry(row: StoreRow): StoreEntry {
  return { ...row, metadata: JSON.parse(row.metadata) as Record<string, string> };
}
