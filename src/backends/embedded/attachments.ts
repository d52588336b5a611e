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
import { bumpVisibleRevision, writeInTurn } from "../../index/store-state.ts";
import { fileTypeOf } from "../../lib/file-type.ts";
import { isListed, listOf } from "../../lib/sql/is-listed.ts";
import type { Sql, SqlDatabase } from "../../lib/sql/sql.ts";
import { detachFile, findFiles, noteAttached, type WireFile } from "./file-repository.ts";
import { type AttachTask, deleteTasks, filesWithTask, type Processing } from "./processing-queue.ts";

/** A vector store that is open. */
export interface OpenStore {
  readonly id: VectorStoreId;
  readonly store: Store;
}

/** Files coming into vector stores and leaving them. */
export class Attachments {
  readonly #catalog: SqlDatabase;
  readonly #processing: Processing;
  readonly #nowSeconds: () => number;

  constructor(catalog: SqlDatabase, processing: Processing, nowSeconds: () => number) {
    this.#catalog = catalog;
    this.#processing = processing;
    this.#nowSeconds = nowSeconds;
  }

  /**
   * When it returns, all of them are in the store, and being processed. `before` runs when what is to be done is noted
   * already and nothing of it is visible yet. The ids of files that were deleted meanwhile are returned; they are not in.
   */
  async attach(
    { id, store }: OpenStore,
    attachments: readonly Attachment[],
    before = async (): Promise<void> => undefined,
  ): Promise<FileId[]> {
    const ids = attachments.map(({ file }) => file.id);
    const taskOf = (fileId: FileId): AttachTask => ({ storeId: id, fileId });
    const held = await heldDocuments(store.db, ids);
    const wanted = attachments.filter((attachment) => needsProcessing(held.get(attachment.file.id), attachment));
    const reserved = wanted.map(({ file }) => file.id);
    await noteAttached(this.#catalog, id, ids);
    await this.#processing.reserve(reserved.map(taskOf));
    const begun = await this.#begin(store, attachments, reserved.map(taskOf), before);
    // Somebody detached it since the look above: what was done already has to be done again.
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

  /** What is done already stays. */
  async cancel({ id, store }: OpenStore, fileIds: readonly FileId[]): Promise<void> {
    await deleteTasks(
      this.#catalog,
      fileIds.map((fileId) => ({ storeId: id, fileId })),
    );
    await cancelFiles(store, fileIds);
  }

  /** By file id. */
  async look(open: OpenStore, fileIds: readonly string[]): Promise<Map<string, DocumentRow>> {
    const rows = await heldDocuments(open.store.db, fileIds);
    await this.noteLook(open, [...rows.values()]);
    return rows;
  }

  /** Somebody who looks at files in progress makes sure that somebody works on them, whatever became of their tasks. */
  async noteLook({ id }: OpenStore, rows: readonly DocumentRow[]): Promise<void> {
    const unfinished = rows.filter(({ status }) => status === "in_progress");
    if (unfinished.length === 0 || !(await this.#processing.takeUp())) return;
    const tasks = unfinished.map(({ fileId }): AttachTask => ({ storeId: id, fileId }));
    const known = await filesWithTask(this.#catalog, tasks);
    const lost = tasks.filter(({ fileId }) => !known.has(fileId));
    await this.#processing.reserve(lost);
    this.#processing.start(lost);
  }
}

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
function needsProcessing(held: DocumentRow | undefined, { chunking }: Attachment): boolean {
  if (!held) return true;
  if (held.sourceId !== DIRECT_SOURCE) return false;
  if (held.status === "failed" || held.status === "cancelled") return true;
  return chunking !== undefined && held.chunking !== chunkingKey(chunking);
}

/**
 * The files are in the store from here on, in every generation; those that have to be processed are `in_progress`. What
 * search found of a file that is processed anew it goes on finding until then. Returns the ids of those in progress.
 */
async function attachFiles(store: Store, attachments: readonly Attachment[], nowSeconds: number): Promise<FileId[]> {
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
async function cancelFiles(store: Store, fileIds: readonly string[]): Promise<void> {
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
