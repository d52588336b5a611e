import type { FileId, ItemId } from "../../contracts/ids.ts";
import type { Attributes } from "../../contracts/search-index.ts";
import { cutCjk } from "../search/cut-cjk.ts";
import type { Database } from "./open-database.ts";

/** One row of `documents`, without its life span. Times are Unix seconds. */
export interface DocumentRow {
  readonly id: number;
  readonly sourceId: string;
  readonly itemId: ItemId;
  readonly fileId: FileId;
  readonly name: string;
  readonly path: string;
  readonly url: string;
  readonly fileType: string;
  /** JSON; parse only what is shown. */
  readonly attributes: string;
  /** Absolute path of the bytes at the time of the put. */
  readonly file: string;
  readonly sha256: string;
  readonly bytes: number;
  readonly chunking: string;
  readonly bodyId: number | null;
  readonly status: "completed" | "failed";
  readonly errorCode: string | null;
  readonly errorMessage: string | null;
  readonly uploadedAt: number;
  readonly embeddedAt: number;
}

export const DOCUMENT_COLUMNS = `id, source_id AS sourceId, item_id AS itemId, file_id AS fileId, name, path, url,
  file_type AS fileType, attributes, file, sha256, bytes, chunking, body_id AS bodyId, status,
  error_code AS errorCode, error_message AS errorMessage, uploaded_at AS uploadedAt, embedded_at AS embeddedAt`;

export function insertDocument(
  db: Database,
  row: Omit<DocumentRow, "id">,
  life: { readonly born: number; readonly title: string },
): void {
  const { lastInsertRowid } = db
    .statement(
      `INSERT INTO documents (source_id, item_id, file_id, name, path, url, file_type, attributes, file, sha256, bytes,
         chunking, body_id, status, error_code, error_message, uploaded_at, embedded_at, born)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    )
    .run(
      row.sourceId,
      row.itemId,
      row.fileId,
      row.name,
      row.path,
      row.url,
      row.fileType,
      row.attributes,
      row.file,
      row.sha256,
      row.bytes,
      row.chunking,
      row.bodyId,
      row.status,
      row.errorCode,
      row.errorMessage,
      row.uploadedAt,
      row.embeddedAt,
      life.born,
    );
  db.statement("INSERT INTO labels_text (rowid, name, path, title) VALUES (?, ?, ?, ?)").run(
    lastInsertRowid,
    cutCjk(row.name),
    cutCjk(row.path),
    cutCjk(life.title),
  );
}

// `+born` keeps SQLite from looking the row up by its generation: a first crawl has all its documents in one.

/** The item as the draft would leave it: its own row if it has one, else the visible row it has not ended. */
export function draftedDocument(db: Database, source: string, item: string, draft: number): DocumentRow | undefined {
  const own = db
    .statement(`SELECT ${DOCUMENT_COLUMNS} FROM documents WHERE source_id = ? AND item_id = ? AND +born = ?`)
    .get(source, item, draft);
  const row =
    own ??
    db
      .statement(
        `SELECT ${DOCUMENT_COLUMNS} FROM documents_active WHERE source_id = ? AND item_id = ? AND died IS NOT ?`,
      )
      .get(source, item, draft);
  return row as unknown as DocumentRow | undefined;
}

/** Rows the draft brought itself just go; a visible row gets its end, which counts once the draft is committed. */
export function endDocument(db: Database, source: string, item: string, draft: number): number {
  const own = db
    .statement("DELETE FROM documents WHERE source_id = ? AND item_id = ? AND +born = ?")
    .run(source, item, draft);
  const visible = db
    .statement(
      `UPDATE documents SET died = ?1 WHERE died IS NOT ?1 AND id IN
         (SELECT id FROM documents_active WHERE source_id = ?2 AND item_id = ?3)`,
    )
    .run(draft, source, item);
  return Number(own.changes) + Number(visible.changes);
}

export function activeDocument(db: Database, fileId: string): DocumentRow | undefined {
  return db.statement(`SELECT ${DOCUMENT_COLUMNS} FROM documents_active WHERE file_id = ?`).get(fileId) as unknown as
    | DocumentRow
    | undefined;
}

/** Final: gone from every generation, not only from the active one. */
export function deleteDocumentsOfFile(db: Database, fileId: string): number {
  return Number(db.statement("DELETE FROM documents WHERE file_id = ?").run(fileId).changes);
}

export function updateAttributes(db: Database, fileId: string, attributes: Attributes): void {
  db.statement("UPDATE documents SET attributes = ? WHERE file_id = ?").run(JSON.stringify(attributes), fileId);
}

/** What holdings tell of a document. */
export type HeldRow = Pick<DocumentRow, "itemId" | "fileId" | "sha256" | "fileType" | "uploadedAt" | "embeddedAt">;

/**
 * One page of what the given generations show of a source, in the order of the rows on disk: by item id each row would be
 * looked up at another place. Rows come as arrays and are judged here, which spares two joins and an object for each.
 */
export function documentsOfSource(
  db: Database,
  source: string,
  page: { readonly visible: ReadonlySet<number>; readonly afterId: number; readonly limit: number },
): { readonly rows: HeldRow[]; readonly nextAfterId: number | undefined } {
  const statement = db.statement(
    `SELECT item_id, file_id, sha256, file_type, uploaded_at, embedded_at, born, died, id FROM documents
     WHERE source_id = ? AND id > ? ORDER BY id LIMIT ?`,
  );
  statement.setReturnArrays(true);
  const found = statement.all(source, page.afterId, page.limit) as unknown as LifeRow[];
  const rows: HeldRow[] = [];
  for (const [itemId, fileId, sha256, fileType, uploadedAt, embeddedAt, born, died] of found) {
    const ended = died !== null && page.visible.has(died);
    if (page.visible.has(born) && !ended) rows.push({ itemId, fileId, sha256, fileType, uploadedAt, embeddedAt });
  }
  return { rows, nextAfterId: found.length < page.limit ? undefined : found.at(-1)?.[8] };
}

type LifeRow = readonly [
  itemId: ItemId,
  fileId: FileId,
  sha256: string,
  fileType: string,
  uploadedAt: number,
  embeddedAt: number,
  born: number,
  died: number | null,
  id: number,
];
