import { ConflictError } from "../../contracts/errors.ts";
import type { FileId, ItemId } from "../../contracts/ids.ts";
import type { DocumentFile, FailedRef, IndexedRef, Label } from "../../contracts/search-index.ts";
import { toUtcMicros } from "../../lib/time.ts";
import { type BodyKey, findBody, insertBody, type PreparedBody } from "./bodies.ts";
import { type DocumentRow, draftedDocument, endDocument, type HeldRow, insertDocument } from "./documents.ts";
import { insertGeneration } from "./generations.ts";
import type { Database } from "./open-database.ts";
import { chunkingKey, DEFAULT_CHUNKING } from "./prepare-body.ts";
import { randomId } from "./random-id.ts";
import type { SourceKey } from "./source-key.ts";
import { storedPath } from "./stored-path.ts";

export type Operation =
  | { readonly kind: "put"; readonly file: DocumentFile; readonly key: BodyKey; readonly body: PreparedBody | null }
  | { readonly kind: "relabel"; readonly itemId: ItemId; readonly label: Label }
  | { readonly kind: "end"; readonly itemId: ItemId };

export interface Outcome {
  /** null as long as nothing has changed. */
  generation: number | null;
  changes: number;
  /** What the last operation on an item left of it: null when it ended. */
  readonly refs: Map<ItemId, IndexedRef | null>;
  readonly failed: FailedRef[];
  /** Came without a body because it was there, and now it is not. */
  readonly bodiless: DocumentFile[];
}

interface Target {
  readonly source: SourceKey;
  readonly generation: number | null;
  readonly nowSeconds: number;
}

/** Writes a batch of a draft. The caller holds the transaction: a batch is there as a whole or not at all. */
export function applyOperations(db: Database, operations: readonly Operation[], target: Target): Outcome {
  const { source, generation, nowSeconds } = target;
  if (
    generation !== null &&
    !db.statement("SELECT 1 FROM generations WHERE id = ? AND number IS NULL").get(generation)
  ) {
    throw new ConflictError(`write draft of ${source}: another run of this source has taken over`);
  }
  const batch = new Batch(db, source, generation, nowSeconds);
  for (const operation of operations) {
    if (operation.kind === "put") batch.put(operation.file, operation.key, operation.body);
    else if (operation.kind === "relabel") batch.relabel(operation.itemId, operation.label);
    else batch.end(operation.itemId);
  }
  return batch.outcome;
}

class Batch {
  readonly outcome: Outcome;
  readonly #db: Database;
  readonly #source: SourceKey;
  readonly #nowSeconds: number;

  constructor(db: Database, source: SourceKey, generation: number | null, nowSeconds: number) {
    this.#db = db;
    this.#source = source;
    this.#nowSeconds = nowSeconds;
    this.outcome = { generation, changes: 0, refs: new Map(), failed: [], bodiless: [] };
  }

  put(file: DocumentFile, key: BodyKey, body: PreparedBody | null): void {
    const known = findBody(this.#db, key) ?? (body && insertBody(this.#db, key, body));
    if (!known) {
      this.outcome.bodiless.push(file);
      return;
    }
    const current = this.#current(file.itemId);
    if (current?.bodyId === known.id) {
      this.#relabelTo(current, { ...labelColumns(file.label), file: storedPath(this.#db, file.path) }, known.title);
      this.outcome.refs.set(file.itemId, refOf(current));
      return;
    }
    const row: Omit<DocumentRow, "id"> = {
      ...labelColumns(file.label),
      sourceId: this.#source,
      itemId: file.itemId,
      fileId: randomId("file-") as FileId,
      file: storedPath(this.#db, file.path),
      sha256: file.sha256,
      bytes: file.bytes,
      chunking: chunkingKey(DEFAULT_CHUNKING),
      bodyId: known.id,
      status: "completed",
      errorCode: null,
      errorMessage: null,
      uploadedAt: this.#nowSeconds,
      embeddedAt: this.#nowSeconds,
    };
    this.#replace(current, row, known.title);
    this.outcome.refs.set(file.itemId, refOf(row));
  }

  relabel(itemId: ItemId, label: Label): void {
    const current = this.#current(itemId);
    if (!current) {
      const reason = "relabel item: the index does not hold it";
      this.outcome.failed.push({ itemId, reason, permanent: false });
      return;
    }
    const file = movedFile(current, label.path);
    this.#relabelTo(current, { ...labelColumns(label), file }, this.#titleOf(current));
  }

  end(itemId: ItemId): void {
    this.outcome.refs.set(itemId, null);
    if (!this.#current(itemId)) return;
    endDocument(this.#db, this.#source, itemId, this.#generation());
    this.outcome.changes++;
  }

  /** The same document under a new label is a new row with the same file id, so that an earlier generation keeps its own. */
  #relabelTo(current: DocumentRow, label: LabelColumns & { readonly file: string }, title: string): void {
    const unchanged = Object.entries(label).every(([column, value]) => current[column as keyof DocumentRow] === value);
    if (!unchanged) this.#replace(current, { ...current, ...label }, title);
  }

  /** A statement that may delete makes the full-text index write out what it has gathered, so none runs without need. */
  #replace(current: DocumentRow | undefined, row: Omit<DocumentRow, "id">, title: string): void {
    const generation = this.#generation();
    if (current) endDocument(this.#db, this.#source, row.itemId, generation);
    insertDocument(this.#db, row, { born: generation, title });
    this.outcome.changes++;
  }

  #current(itemId: ItemId): DocumentRow | undefined {
    return draftedDocument(this.#db, this.#source, itemId, this.outcome.generation ?? 0);
  }

  #titleOf(row: DocumentRow): string {
    return String(this.#db.statement("SELECT title FROM bodies WHERE id = ?").get(row.bodyId)?.["title"] ?? "");
  }

  #generation(): number {
    this.outcome.generation ??= insertGeneration(this.#db, this.#source, this.#nowSeconds);
    return this.outcome.generation;
  }
}

type LabelColumns = Pick<DocumentRow, "name" | "path" | "url" | "fileType" | "attributes">;

function labelColumns({ name, path, url, fileType, attributes }: Label): LabelColumns {
  return { name, path, url, fileType, attributes: JSON.stringify(attributes) };
}

/** The mirror lays files out like the source, so where the one ended in the old path the other ends in the new. */
function movedFile(current: DocumentRow, path: string): string {
  const native = (text: string): string => (current.file.includes("\\") ? text.replaceAll("/", "\\") : text);
  if (current.path === "" || !current.file.endsWith(native(current.path))) return current.file;
  return current.file.slice(0, -current.path.length) + native(path);
}

export function refOf(row: HeldRow): IndexedRef {
  return {
    itemId: row.itemId,
    fileId: row.fileId,
    sha256: row.sha256,
    fileType: row.fileType,
    uploadedAt: fromUnixSeconds(row.uploadedAt),
    embeddedAt: fromUnixSeconds(row.embeddedAt),
  };
}

let lastSecond = { seconds: 0, instant: toUtcMicros(new Date(0)) };

/** Documents of one crawl share their seconds, and formatting an instant is what listing them would spend its time on. */
function fromUnixSeconds(seconds: number): string {
  if (seconds !== lastSecond.seconds) lastSecond = { seconds, instant: toUtcMicros(new Date(seconds * 1000)) };
  return lastSecond.instant;
}
