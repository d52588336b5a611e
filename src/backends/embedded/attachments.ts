import type { FileId, ItemId, VectorStoreId } from "../../contracts/ids.ts";
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
import { bumpVisibleRevision, writeLocked } from "../../index/store-state.ts";
import { fileTypeOf } from "../../lib/file-type.ts";
import { isListed, listOf, type Sql, type SqlDatabase } from "../../lib/sql/sql.ts";
import { detachFile, findFiles, recordAttached, type WireFile } from "./file-repository.ts";
import { type AttachTask, deleteTasks, filesWithTask, type ProcessingQueue } from "./processing-queue.ts";

/** A vector store that is open. */
export interface OpenStore {
  readonly id: VectorStoreId;
  readonly store: Store;
}

/** Attaches files to vector stores and detaches them. */
export class Attachments {
  readonly #catalog: SqlDatabase;
  readonly #processing: ProcessingQueue;
  readonly #nowSeconds: () => number;

  constructor(catalog: SqlDatabase, processing: ProcessingQueue, nowSeconds: () => number) {
    this.#catalog = catalog;
    this.#processing = processing;
    this.#nowSeconds = nowSeconds;
  }

  /**
   * Adds the files to the store and queues them for processing. `before` runs when the tasks are recorded and nothing is
   * visible yet. Returns the ids of files that were deleted meanwhile, which are not added.
   */
  async attach(
    { id, store }: OpenStore,
    attachments: readonly Attachment[],
    before = async (): Promise<void> => undefined,
  ): Promise<FileId[]> {
    const ids = attachments.map(({ file }) => file.id);
    const taskOf = (fileId: FileId): AttachTask => ({ storeId: id, fileId });
    const held = await findDocuments(store.db, ids);
    const wanted = attachments.filter((attachment) => needsProcessing(held.get(attachment.file.id), attachment));
    const reserved = wanted.map(({ file }) => file.id);
    await recordAttached(this.#catalog, id, ids);
    await this.#processing.reserve(reserved.map(taskOf));
    const begun = await this.#begin(store, attachments, reserved.map(taskOf), before);
    // Detached since they were looked up: they have to be processed again.
    await this.#processing.reserve(begun.filter((fileId) => !reserved.includes(fileId)).map(taskOf));
    const known = await findFiles(this.#catalog, begun);
    const gone = begun.filter((fileId) => !known.has(fileId));
    for (const fileId of gone) await detachFile(this.#catalog, store, taskOf(fileId));
    const tasks = [...new Set([...reserved, ...begun])].filter((fileId) => !gone.includes(fileId));
    this.#processing.start(tasks.map(taskOf));
    return gone;
  }

  async #begin(
    store: Store,
    attachments: readonly Attachment[],
    tasks: readonly AttachTask[],
    before: () => Promise<void>,
  ): Promise<FileId[]> {
    try {
      await before();
      return await attachFiles(store, attachments, this.#nowSeconds());
    } catch (error) {
      await deleteTasks(this.#catalog, tasks);
      throw error;
    }
  }

  async detach({ id, store }: OpenStore, fileId: string): Promise<boolean> {
    return detachFile(this.#catalog, store, { storeId: id, fileId });
  }

  /** Cancels unfinished files; finished ones stay. */
  async cancel({ id, store }: OpenStore, fileIds: readonly FileId[]): Promise<void> {
    await deleteTasks(
      this.#catalog,
      fileIds.map((fileId) => ({ storeId: id, fileId })),
    );
    await cancelFiles(store, fileIds);
  }

  /** Returns the documents of these files, by file id. */
  async find(open: OpenStore, fileIds: readonly string[]): Promise<Map<string, DocumentRow>> {
    const rows = await findDocuments(open.store.db, fileIds);
    await this.ensureProcessing(open, [...rows.values()]);
    return rows;
  }

  /** Queues files in progress again whose task was lost. Called whenever a client reads them. */
  async ensureProcessing({ id }: OpenStore, rows: readonly DocumentRow[]): Promise<void> {
    const unfinished = rows.filter(({ status }) => status === "in_progress");
    if (unfinished.length === 0 || !(await this.#processing.takeOver())) return;
    const tasks = unfinished.map(({ fileId }): AttachTask => ({ storeId: id, fileId }));
    const known = await filesWithTask(this.#catalog, tasks);
    const lost = tasks.filter(({ fileId }) => !known.has(fileId));
    await this.#processing.reserve(lost);
    this.#processing.start(lost);
  }
}

export interface Attachment {
  readonly file: WireFile;
  /** undefined: a file that is attached already keeps its own. */
  readonly attributes: Attributes | undefined;
  /** undefined: likewise. */
  readonly chunking: Chunking | undefined;
}

/** Returns the visible documents of these files, by file id. */
export async function findDocuments(sql: Sql, fileIds: readonly string[]): Promise<Map<string, DocumentRow>> {
  const rows = await sql.all<DocumentRow>(
    `SELECT ${DOCUMENT_COLUMNS} FROM documents_active WHERE ${isListed(sql, "file_id", "$1", "text")}`,
    [listOf(fileIds)],
  );
  return new Map(rows.map((row) => [row.fileId, row]));
}

/**
 * Returns whether attaching the file requires processing. A file attached again is no second document; a crawled document keeps
 * its chunking.
 */
function needsProcessing(held: DocumentRow | undefined, { chunking }: Attachment): boolean {
  if (!held) return true;
  if (held.sourceId !== DIRECT_SOURCE) return false;
  if (held.status === "failed" || held.status === "cancelled") return true;
  return chunking !== undefined && held.chunking !== chunkingKey(chunking);
}

/**
 * Adds the files to every generation of the store; those that need processing are `in_progress`. A file that is processed again
 * stays searchable meanwhile. Returns the ids of files in progress.
 */
async function attachFiles(store: Store, attachments: readonly Attachment[], nowSeconds: number): Promise<FileId[]> {
  return writeLocked(store.db, async (sql) => {
    const held = await findDocuments(
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
  await writeLocked(store.db, async (sql) => {
    await updateAttributes(sql, fileId, attributes);
    await bumpVisibleRevision(sql);
  });
}

/** Marks unfinished files as cancelled, for good. */
async function cancelFiles(store: Store, fileIds: readonly string[]): Promise<void> {
  await writeLocked(store.db, async (sql) => {
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
