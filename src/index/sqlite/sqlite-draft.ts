import { ExtractError } from "../../contracts/document.ts";
import { ConflictError, explain } from "../../contracts/errors.ts";
import type { ItemId } from "../../contracts/ids.ts";
import type { DocumentFile, FailedRef, IndexDraft, IndexedRef, Label } from "../../contracts/search-index.ts";
import { hashFile } from "../../lib/hash-file.ts";
import { applyOperations, type Operation } from "./apply-operations.ts";
import { findBody } from "./bodies.ts";
import { cleanup, type Retention } from "./cleanup.ts";
import { activateGeneration, deleteGeneration } from "./generations.ts";
import type { Store } from "./open-store.ts";
import { type BodyParts, bodyKey, DEFAULT_CHUNKING, prepareBody } from "./prepare-body.ts";
import type { SourceKey } from "./source-key.ts";

/** A batch is written in one transaction: large enough to be cheap, small enough that other writers hardly wait. */
const BATCH_OPERATIONS = 400;
const BATCH_CHUNKS = 2000;
const NEVER_ABORTED = new AbortController().signal;

/** Bodies are found by their hash, so one that the caller does not know must be made, not taken as equal to every other. */
const SHA256 = /^[0-9a-f]{64}$/;

export interface DraftContext {
  readonly store: Store;
  readonly source: SourceKey;
  readonly parts: BodyParts;
  readonly retention: Retention;
  readonly nowSeconds: () => number;
}

/**
 * Changes gathered under a generation that has no number yet, so no reader sees them. They are on disk batch by batch; a
 * crash leaves rows that the next draft of the source sweeps, and bodies it can use again.
 */
export class SqliteDraft implements IndexDraft {
  readonly #context: DraftContext;
  readonly #refs = new Map<ItemId, IndexedRef>();
  readonly #failed = new Map<ItemId, FailedRef>();
  #pending: Operation[] = [];
  #pendingChunks = 0;
  #pendingBodies = new Set<string>();
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
    this.#failed.delete(file.itemId);
    await this.#admit(file, signal);
    await this.#flushIfLarge(signal);
  }

  async relabel(itemId: ItemId, label: Label): Promise<void> {
    this.#checkOpen();
    this.#pending.push({ kind: "relabel", itemId, label });
    await this.#flushIfLarge(NEVER_ABORTED);
  }

  async remove(itemId: ItemId): Promise<void> {
    this.#checkOpen();
    this.#failed.delete(itemId);
    this.#pending.push({ kind: "end", itemId });
    await this.#flushIfLarge(NEVER_ABORTED);
  }

  async commit(signal: AbortSignal): Promise<{ ready: IndexedRef[]; failed: FailedRef[] }> {
    this.#checkOpen();
    while (this.#pending.length > 0) await this.#flush(signal);
    signal.throwIfAborted();
    const { store, nowSeconds } = this.#context;
    const generation = this.#generation;
    if (generation !== null) {
      store.db.write(() => activateGeneration(store.db, generation, nowSeconds()));
    }
    this.#open = false;
    if (generation !== null) await this.#cleanUp();
    return { ready: [...this.#refs.values()], failed: [...this.#failed.values()] };
  }

  async discard(): Promise<void> {
    if (!this.#open) return;
    this.#open = false;
    this.#pending = [];
    const { db } = this.#context.store;
    const generation = this.#generation;
    if (generation !== null) db.write(() => deleteGeneration(db, generation));
  }

  /** Extracts and embeds, unless the very same content is there already. */
  async #admit(file: DocumentFile, signal: AbortSignal): Promise<void> {
    const { store, parts } = this.#context;
    try {
      const sha256 = SHA256.test(file.sha256) ? file.sha256 : await hashFile(file.path);
      const source = { path: file.path, sha256, fileType: file.label.fileType, chunking: DEFAULT_CHUNKING };
      const key = bodyKey(parts, source);
      const name = JSON.stringify(key);
      const known = this.#pendingBodies.has(name) || findBody(store.db, key) !== undefined;
      const body = known ? null : await prepareBody(parts, source, signal);
      this.#pending.push({ kind: "put", file: { ...file, sha256 }, key, body });
      this.#pendingBodies.add(name);
      this.#pendingChunks += body?.chunks.length ?? 0;
    } catch (error) {
      signal.throwIfAborted();
      this.#fail(file.itemId, error);
    }
  }

  /** What can never be indexed must not leave its outdated predecessor in search; what may work tomorrow keeps it. */
  #fail(itemId: ItemId, error: unknown): void {
    const permanent = error instanceof ExtractError;
    this.#failed.set(itemId, { itemId, reason: explain(error), permanent });
    if (permanent) this.#pending.push({ kind: "end", itemId });
  }

  async #flushIfLarge(signal: AbortSignal): Promise<void> {
    if (this.#pending.length >= BATCH_OPERATIONS || this.#pendingChunks >= BATCH_CHUNKS) await this.#flush(signal);
  }

  async #flush(signal: AbortSignal): Promise<void> {
    const { store, source, nowSeconds } = this.#context;
    const outcome = store.db.write(() =>
      applyOperations(store.db, this.#pending, { source, generation: this.#generation, nowSeconds: nowSeconds() }),
    );
    this.#pending = [];
    this.#pendingChunks = 0;
    this.#pendingBodies = new Set();
    this.#generation = outcome.generation;
    this.#changes += outcome.changes;
    for (const failed of outcome.failed) this.#failed.set(failed.itemId, failed);
    for (const [itemId, ref] of outcome.refs) {
      if (ref) this.#failed.delete(itemId);
      if (ref) this.#refs.set(itemId, ref);
      else this.#refs.delete(itemId);
    }
    // Their body was there when they came and has been cleaned up since by another process.
    for (const file of outcome.bodiless) await this.#admit(file, signal);
  }

  /** Two documents for each changed one: cleaning keeps up with changing, and a commit costs what changed. */
  async #cleanUp(): Promise<void> {
    const { store, retention, nowSeconds } = this.#context;
    const budget = 2 * this.#changes + 200;
    try {
      await cleanup(store.db, { retention, nowSeconds: nowSeconds(), budget });
    } catch {
      // The commit stands whatever happens here, and must not be reported as failed; the next one cleans up again.
    }
  }

  #checkOpen(): void {
    if (!this.#open) throw new ConflictError("use draft: it was committed or discarded");
  }
}
