import { ExtractError, type Extractor, ReaderError } from "../../contracts/document.ts";
import { ConflictError, explain } from "../../contracts/errors.ts";
import type { ItemId } from "../../contracts/ids.ts";
import type { DocumentFile, FailedRef, IndexDraft, IndexedRef, Label } from "../../contracts/search-index.ts";
import { hashFile } from "../../lib/hash-file.ts";
import { findBody, nameOfKey } from "../storage/bodies.ts";
import { cleanupOldGenerations, type Retention, sweepAbandoned } from "../storage/cleanup.ts";
import type { SourceKey } from "../storage/documents.ts";
import { abandonGeneration } from "../storage/generations.ts";
import { writeInTurn } from "../storage/state.ts";
import type { Store } from "../storage/store.ts";
import type { Outcome } from "./apply-operations.ts";
import { DEFAULT_CHUNKING } from "./chunking.ts";
import { commitGeneration } from "./commit-generation.ts";
import type { Operation } from "./operation.ts";
import { AlteredError, bodyKey, type PreparedBody, prepareBody } from "./prepare-body.ts";
import { writeBatch } from "./write-batch.ts";

/** From here on a batch is written: large enough to be cheap, small enough that other writers hardly wait. See write-ahead.ts. */
const BATCH_OPERATIONS = 400;
const BATCH_CHUNKS = 2000;
const NEVER_ABORTED = new AbortController().signal;

/** Bodies are found by their hash, so one that the caller does not know must be made, not taken as equal to every other. */
const SHA256 = /^[0-9a-f]{64}$/;

export interface DraftContext {
  readonly store: Store;
  readonly source: SourceKey;
  /** The same for all that one crawl commits; "" for none. */
  readonly crawl: string;
  readonly extractor: Extractor;
  readonly retention: Retention;
  readonly nowSeconds: () => number;
}

/**
 * Changes gathered under a generation that has no number yet, so no reader sees them. They are on disk batch by batch; a
 * crash leaves rows that the next draft of the source sweeps, and bodies it can use again. Puts may run side by side.
 */
export class EmbeddedDraft implements IndexDraft {
  readonly #context: DraftContext;
  readonly #refs = new Map<ItemId, IndexedRef>();
  readonly #failed = new Map<ItemId, FailedRef>();
  #pending: Operation<PreparedBody>[] = [];
  #pendingChunks = 0;
  /** Bodies that are on their way into the store, by nameOfKey. */
  readonly #bodies = new Set<string>();
  /** Batches are written one after the other, so that the last operation on an item is the one that counts. */
  #written: Promise<void> = Promise.resolve();
  /** null until the first change is written: a draft without changes leaves no trace. */
  #generation: number | null = null;
  #changes = 0;
  #open = true;

  constructor(context: DraftContext) {
    this.#context = context;
  }

  async put(file: DocumentFile, signal: AbortSignal): Promise<void> {
    this.#checkOpen();
    signal.throwIfAborted();
    await this.#admit(file, signal);
    await this.#flushIfLarge(signal);
  }

  async relabel(itemId: ItemId, label: Label): Promise<void> {
    this.#checkOpen();
    this.#pending.push({ kind: "relabel", itemId, label });
    await this.#flushIfLarge(NEVER_ABORTED);
  }

  async remove(itemId: ItemId, { mayReturn } = { mayReturn: false }): Promise<void> {
    this.#checkOpen();
    this.#pending.push({ kind: "end", itemId, mayReturn });
    await this.#flushIfLarge(NEVER_ABORTED);
  }

  async commit(
    signal: AbortSignal,
    options: { readonly allowEmpty: boolean } = { allowEmpty: false },
  ): Promise<{ ready: IndexedRef[]; failed: FailedRef[] }> {
    this.#checkOpen();
    for (;;) {
      await this.#written;
      if (this.#pending.length === 0) break;
      await this.#flush(signal);
    }
    signal.throwIfAborted();
    const { store, source, nowSeconds } = this.#context;
    await commitGeneration(store, { source, generation: this.#generation, nowSeconds: nowSeconds(), ...options });
    this.#open = false;
    if (this.#generation !== null) await this.#cleanUp();
    return { ready: [...this.#refs.values()], failed: [...this.#failed.values()] };
  }

  async discard(): Promise<void> {
    if (!this.#open) return;
    this.#open = false;
    this.#pending = [];
    await this.#written.catch(() => undefined);
    const { store, nowSeconds } = this.#context;
    const generation = this.#generation;
    if (generation === null) return;
    await writeInTurn(store.db, (sql) => abandonGeneration(sql, generation, nowSeconds()));
    await sweepAbandoned(store);
  }

  /** Extracts, unless the very same content is there already. */
  async #admit(file: DocumentFile, signal: AbortSignal): Promise<void> {
    const { store, extractor } = this.#context;
    try {
      const sha256 = SHA256.test(file.sha256) ? file.sha256 : await hashFile(file.path);
      const { path, keptText, label } = file;
      const source = {
        path,
        sha256,
        fileType: label.fileType,
        chunking: DEFAULT_CHUNKING,
        ...(keptText && { keptText }),
      };
      const key = bodyKey(extractor, source);
      const name = nameOfKey(key);
      const known = this.#bodies.has(name) || (await findBody(store.db, key)) !== undefined;
      const body = known ? null : await prepareBody(extractor, source, signal);
      this.#pending.push({ kind: "put", file: { ...file, sha256 }, key, body });
      if (body) this.#bodies.add(name);
      this.#pendingChunks += body?.chunks.length ?? 0;
    } catch (error) {
      signal.throwIfAborted();
      // What can never be indexed must not leave its outdated predecessor in search; what may work tomorrow keeps it.
      const byReader = error instanceof ReaderError;
      const permanent = error instanceof ExtractError && (!byReader || file.isLastTry === true);
      const isAltered = error instanceof AlteredError;
      const why = { ...(byReader && { byReader }), ...(isAltered && { isAltered }) };
      const failed = { itemId: file.itemId, reason: explain(error), permanent, ...why };
      this.#pending.push({ kind: "fail", failed });
    }
  }

  /** Waits for the batch before: while one is being written the next is gathered, and no more than that is in memory. */
  async #flushIfLarge(signal: AbortSignal): Promise<void> {
    if (this.#pending.length < BATCH_OPERATIONS && this.#pendingChunks < BATCH_CHUNKS) return;
    const before = this.#written;
    void this.#flush(signal);
    await before;
  }

  #flush(signal: AbortSignal): Promise<void> {
    const operations = this.#pending;
    this.#pending = [];
    this.#pendingChunks = 0;
    const mine = this.#written.then(() => this.#write(operations, signal));
    this.#written = mine;
    // A failed batch fails the draft: every later call hears of it, and nobody may commit what is incomplete.
    mine.catch(() => undefined);
    return mine;
  }

  async #write(operations: readonly Operation<PreparedBody>[], signal: AbortSignal): Promise<void> {
    const { store, source, crawl, nowSeconds } = this.#context;
    const target = { source, crawl, generation: this.#generation, nowSeconds: nowSeconds() };
    const outcome = await writeBatch(store, operations, target, signal);
    for (const operation of operations) {
      if (operation.kind === "put" && operation.body) this.#bodies.delete(nameOfKey(operation.key));
    }
    this.#note(outcome);
    // Their body was there when they came and has been cleaned up since by another process.
    for (const file of outcome.bodiless) await this.#admit(file, signal);
  }

  #note(outcome: Outcome): void {
    this.#generation = outcome.generation;
    this.#changes += outcome.changes;
    for (const [itemId, failed] of outcome.failed) {
      if (failed) this.#failed.set(itemId, failed);
      else this.#failed.delete(itemId);
    }
    for (const [itemId, ref] of outcome.refs) {
      if (ref) this.#refs.set(itemId, withoutLabel(ref));
      else this.#refs.delete(itemId);
    }
  }

  /** Two documents for each changed one: cleaning keeps up with changing, and a commit costs what changed. */
  async #cleanUp(): Promise<void> {
    const { store, retention, nowSeconds } = this.#context;
    const budget = 2 * this.#changes + 200;
    try {
      await cleanupOldGenerations(store, { retention, nowSeconds: nowSeconds(), budget });
    } catch {
      // The commit stands whatever happens here, and must not be reported as failed; the next one cleans up again.
    }
  }

  #checkOpen(): void {
    if (!this.#open) throw new ConflictError("use draft: it was committed or discarded");
  }
}

/** Whoever put it knows its label, and a first crawl puts everything there is. */
function withoutLabel({ itemId, fileId, sha256, uploadedAt, embeddedAt }: IndexedRef): IndexedRef {
  return { itemId, fileId, sha256, uploadedAt, embeddedAt };
}
