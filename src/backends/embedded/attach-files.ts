import type { FileId, ItemId } from "../../contracts/ids.ts";
import type { Attributes } from "../../contracts/search-index.ts";
import { labelWords } from "../../index/analyzer.ts";
import { type Chunking, chunkingKey, DEFAULT_CHUNKING } from "../../index/chunk-sections.ts";
import {
  DOCUMENT_COLUMNS,
  type DocumentRow,
  insertDocuments,
  type NewDocument,
  storedPath,
  updateAttributes,
} from "../../index/documents.ts";
import { deleteDocumentsOfFile } from "../../index/retention.ts";
import { DIRECT_GENERATION, DIRECT_SOURCE } from "../../index/shared-schema.ts";
import type { Store } from "../../index/store.ts";
import { bumpVisibleRevision, writeInTurn } from "../../index/store-state.ts";
import { fileTypeOf } from "../../lib/file-type.ts";
import { isListed, listOf } from "../../lib/sql/is-listed.ts";
import type { Sql } from "../../lib/sql/sql.ts";
import type { WireFile } from "./file-shelf.ts";

export interface Attachment {
  readonly file: WireFile;
  /** undefined: none given, so a file that is attached already keeps its own. */
  readonly attributes: Attributes | undefined;
  /** undefined: none given, likewise. */
  readonly chunking: Chunking | undefined;
}

/** Documents of the store by their file ids; of each file the one that readers see. */
export async function heldDocuments(sql: Sql, fileIds: readonly string[]): Promise<Map<string, DocumentRow>> {
  const rows = await sql.all<DocumentRow>(
    `SELECT ${DOCUMENT_COLUMNS} FROM documents_active WHERE ${isListed(sql, "file_id", "$1", "text")}`,
    [listOf(fileIds)],
  );
  return new Map(rows.map((row) => [row.fileId, row]));
}

/**
 * Whether attaching it means that it has to be processed. Attaching a file again is no second document; what a crawl
 * brought stays the crawl's, whatever chunking is asked for.
 */
export function needsProcessing(held: DocumentRow | undefined, { chunking }: Attachment): boolean {
  if (!held) return true;
  if (held.sourceId !== DIRECT_SOURCE) return false;
  if (held.status === "failed" || held.status === "cancelled") return true;
  return chunking !== undefined && held.chunking !== chunkingKey(chunking);
}

/**
 * The files are in the store from here on, in every generation; those that have to be processed are `in_progress`. What
 * search found of a file that is processed anew it goes on finding until then. Returns the ids of those in progress.
 */
export async function attachFiles(
  store: Store,
  attachments: readonly Attachment[],
  nowSeconds: number,
): Promise<FileId[]> {
  return writeInTurn(store.db, async (sql) => {
    const held = await heldDocuments(
      sql,
      attachments.map(({ file }) => file.id),
    );
    const added: NewDocument[] = [];
    const begun: FileId[] = [];
    for (const attachment of attachments) {
      const { file, attributes, chunking } = attachment;
      const row = held.get(file.id);
      if (needsProcessing(row, attachment)) begun.push(file.id);
      if (!row) {
        await deleteDocumentsOfFile(sql, store, file.id);
        added.push(newDocument(store, attachment, nowSeconds));
        continue;
      }
      if (attributes) await updateAttributes(sql, file.id, attributes);
      if (needsProcessing(row, attachment)) {
        await sql.run(
          `UPDATE documents SET status = 'in_progress', error_code = NULL, error_message = NULL, chunking = $1,
             file_type = $2 WHERE id = $3`,
          [chunking ? chunkingKey(chunking) : row.chunking, fileTypeOf(file.filename), row.id],
        );
      }
    }
    if (added.length > 0) await insertDocuments(sql, store, added);
    await bumpVisibleRevision(sql);
    return begun;
  });
}

export async function changeAttributes(store: Store, fileId: string, attributes: Attributes): Promise<void> {
  await writeInTurn(store.db, async (sql) => {
    await updateAttributes(sql, fileId, attributes);
    await bumpVisibleRevision(sql);
  });
}

/** What was not finished stays unfinished for good. */
export async function cancelFiles(store: Store, fileIds: readonly string[]): Promise<void> {
  await writeInTurn(store.db, async (sql) => {
    await sql.run(
      `UPDATE documents SET status = 'cancelled' WHERE status = 'in_progress' AND ${isListed(sql, "file_id", "$1", "text")}`,
      [listOf(fileIds)],
    );
    await bumpVisibleRevision(sql);
  });
}

function newDocument(store: Store, { file, attributes, chunking }: Attachment, nowSeconds: number): NewDocument {
  return {
    domainId: "",
    sourceId: DIRECT_SOURCE,
    itemId: file.id as string as ItemId,
    fileId: file.id,
    name: file.filename,
    path: "",
    url: "",
    fileType: fileTypeOf(file.filename),
    modifiedAt: "",
    attributes: JSON.stringify(attributes ?? {}),
    file: storedPath(store, file.path),
    sha256: file.sha256,
    bytes: file.bytes,
    chunking: chunkingKey(chunking ?? DEFAULT_CHUNKING),
    bodyId: null,
    status: "in_progress",
    errorCode: null,
    errorMessage: null,
    uploadedAt: nowSeconds,
    embeddedAt: nowSeconds,
    born: DIRECT_GENERATION,
    words: labelWords({ name: file.filename, path: "", title: "" }),
  };
}
