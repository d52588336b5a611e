import type { FileId, VectorStoreId } from "../../contracts/ids.ts";
import type { DocumentRow } from "../../index/documents.ts";
import type { Store } from "../../index/store.ts";
import type { SqlDatabase } from "../../lib/sql/sql.ts";
import { type Attachment, attachFiles, cancelFiles, heldDocuments, needsProcessing } from "./attach-files.ts";
import { type AttachTask, deleteTasks, filesWithTask } from "./catalog/attach-tasks.ts";
import { findFiles, noteAttached } from "./catalog/files.ts";
import { detachFile } from "./detach-file.ts";
import type { Processing } from "./processing.ts";

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
