import { CancelledError, ConflictError, explain, RemoteError } from "../../contracts/errors.ts";
import type { DomainId, FileId, ItemId, SourceId } from "../../contracts/ids.ts";
import type { DocumentFile, FailedRef, IndexDraft, IndexedRef, Label } from "../../contracts/search-index.ts";
import { forEachConcurrent } from "../../lib/concurrency.ts";
import { type Addition, type AdditionScope, dropAddition, startAddition } from "./addition.ts";
import { throwIfCancelled } from "./clock.ts";
import { detachFile, type Store, updateAttributes } from "./store-files.ts";
import type { Held } from "./survey.ts";
import { readContentHash, toWireAttributes } from "./wire-codec.ts";

type Intent =
  | { readonly kind: "put"; readonly addition: Addition; readonly newLabel: Label | undefined }
  | { readonly kind: "relabel"; readonly label: Label }
  | { readonly kind: "remove" };

const MAX_AT_ONCE = 4;

/**
 * Adds while it is open and detaches only in commit, so a reader may meet an item twice but never not at all. A crash
 * leaves files with our marks beside the ones they were to replace; the next draft of the source sees both and keeps
 * the newest.
 */
export class VectorStoreDraft implements IndexDraft {
  readonly #domainId: DomainId;
  readonly #sourceId: SourceId;
  readonly #held: ReadonlyMap<ItemId, Held>;
  readonly #scope: AdditionScope;
  readonly #intents = new Map<ItemId, Intent>();
  /** Put and then put again or taken back within this draft. */
  readonly #superseded = new Map<ItemId, Addition[]>();
  readonly #stop = new AbortController();
  #ended = false;

  constructor(parts: { store: Store; domainId: DomainId; sourceId: SourceId; held: ReadonlyMap<ItemId, Held> }) {
    this.#domainId = parts.domainId;
    this.#sourceId = parts.sourceId;
    this.#held = parts.held;
    this.#scope = { store: parts.store, unsettled: new Set(), trouble: undefined };
  }

  /** Returns when the bytes are on their way; the service works on them while the next file is put. */
  async put(file: DocumentFile, signal: AbortSignal): Promise<void> {
    this.#assertOpen();
    const attributes = () => this.#attributes(file.itemId, file.sha256, file.label);
    const addition = startAddition(this.#scope, file, attributes, AbortSignal.any([signal, this.#stop.signal]));
    this.#intend(file.itemId, { kind: "put", addition, newLabel: undefined });
    await addition.sent;
  }

  async relabel(itemId: ItemId, label: Label): Promise<void> {
    this.#assertOpen();
    const intent = this.#intents.get(itemId);
    if (intent?.kind === "put") this.#intents.set(itemId, { ...intent, newLabel: label });
    else this.#intents.set(itemId, { kind: "relabel", label });
  }

  async remove(itemId: ItemId): Promise<void> {
    this.#assertOpen();
    this.#intend(itemId, { kind: "remove" });
  }

  /** Cancelled half-way it can still be discarded: what was already replaced stays replaced. */
  async commit(signal: AbortSignal): Promise<{ ready: IndexedRef[]; failed: FailedRef[] }> {
    this.#assertOpen();
    await this.#additionsEnded(signal);
    const ready: IndexedRef[] = [];
    const failed: FailedRef[] = [];
    await forEachConcurrent(new Set([...this.#intents.keys(), ...this.#held.keys()]), MAX_AT_ONCE, async (itemId) => {
      try {
        const ref = await this.#settle(itemId, failed, signal);
        if (ref) ready.push(ref);
      } catch (error) {
        if (error instanceof CancelledError) throw error;
        failed.push({ itemId, reason: explain(error), permanent: false });
      }
    });
    this.#ended = true;
    return { ready, failed };
  }

  async discard(): Promise<void> {
    if (this.#ended) return;
    this.#ended = true;
    this.#stop.abort();
    await Promise.all(this.#additions().map((addition) => addition.outcome));
    await forEachConcurrent([...this.#scope.unsettled], MAX_AT_ONCE, (fileId) => dropAddition(this.#scope, fileId));
  }

  /** Brings what the store holds of one item to what was intended; the ref of a new document, if there is one. */
  async #settle(itemId: ItemId, failed: FailedRef[], signal: AbortSignal): Promise<IndexedRef | undefined> {
    const intent = this.#intents.get(itemId);
    const held = this.#held.get(itemId);
    if (intent?.kind === "put") return this.#settlePut(itemId, intent, failed, signal);
    if (intent?.kind === "relabel") await this.#applyLabel(itemId, intent.label, signal);
    if (intent?.kind === "remove" && held?.current) await detachFile(this.#scope.store, held.current.fileId, signal);
    await this.#dropLeftovers(itemId, signal);
    return undefined;
  }

  async #settlePut(
    itemId: ItemId,
    intent: Intent & { kind: "put" },
    failed: FailedRef[],
    signal: AbortSignal,
  ): Promise<IndexedRef | undefined> {
    const outcome = await intent.addition.outcome;
    if (outcome.status === "failed") failed.push(outcome.failure);
    const ref = outcome.status === "ready" ? outcome.ref : undefined;
    // From here on the old version may be gone, so not even a discard may delete the new one.
    if (ref) this.#scope.unsettled.delete(ref.fileId);
    if (ref && intent.newLabel) {
      await this.#update(ref.fileId, itemId, ref.sha256, intent.newLabel, signal);
    }
    // A version that can never be embedded still ends the old one: nothing outdated is served.
    const replaced = ref !== undefined || (outcome.status === "failed" && outcome.failure.permanent);
    const old = this.#held.get(itemId)?.current;
    if (replaced && old) await detachFile(this.#scope.store, old.fileId, signal);
    await this.#dropLeftovers(itemId, signal);
    return ref;
  }

  async #applyLabel(itemId: ItemId, label: Label, signal: AbortSignal): Promise<void> {
    const current = this.#held.get(itemId)?.current;
    if (!current) throw new RemoteError(`relabel '${label.name}': the vector store holds no document of it`);
    await this.#update(current.fileId, itemId, readContentHash(current), label, signal);
  }

  #update(fileId: FileId, itemId: ItemId, sha256: string, label: Label, signal: AbortSignal): Promise<void> {
    return updateAttributes(this.#scope.store, fileId, this.#attributes(itemId, sha256, label), signal);
  }

  #attributes(itemId: ItemId, sha256: string, label: Label) {
    return toWireAttributes({ domainId: this.#domainId, sourceId: this.#sourceId, itemId, sha256 }, label);
  }

  async #dropLeftovers(itemId: ItemId, signal: AbortSignal): Promise<void> {
    for (const stray of this.#held.get(itemId)?.strays ?? []) {
      await detachFile(this.#scope.store, stray.fileId, signal);
    }
    for (const addition of this.#superseded.get(itemId) ?? []) {
      const outcome = await addition.outcome;
      if (outcome.status === "ready") await dropAddition(this.#scope, outcome.ref.fileId, signal);
    }
  }

  /** The last word about an item counts. */
  #intend(itemId: ItemId, intent: Intent): void {
    const before = this.#intents.get(itemId);
    if (before?.kind === "put") {
      this.#superseded.set(itemId, [...(this.#superseded.get(itemId) ?? []), before.addition]);
    }
    this.#intents.set(itemId, intent);
  }

  #additions(): Addition[] {
    const current = [...this.#intents.values()].flatMap((intent) => (intent.kind === "put" ? [intent.addition] : []));
    return [...current, ...[...this.#superseded.values()].flat()];
  }

  async #additionsEnded(signal: AbortSignal): Promise<void> {
    const stop = (): void => this.#stop.abort(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) stop();
    await Promise.all(this.#additions().map((addition) => addition.outcome));
    signal.removeEventListener("abort", stop);
    throwIfCancelled("commit draft", signal);
  }

  #assertOpen(): void {
    if (this.#ended) throw new ConflictError("use draft: it was committed or discarded");
  }
}
