import { ConflictError, RemoteError } from "../../contracts/errors.ts";
import type { FileId, ItemId } from "../../contracts/ids.ts";
import type { DocumentFile, FailedRef, IndexDraft, IndexedRef, Label } from "../../contracts/search-index.ts";
import { forEachConcurrent } from "../../lib/concurrency.ts";
import { type ArrivalOutcome, type ArrivalScope, arrive, type Leftovers } from "./arrival.ts";
import { throwIfCancelled } from "./clock.ts";
import { type ArrivedPut, DraftCommit, type DraftParts } from "./draft-commit.ts";
import { detachFile } from "./store-files.ts";
import { readItemId } from "./wire-codec.ts";

interface Put {
  readonly file: DocumentFile;
  readonly label: Label;
  /** Rejects only with what also rejected the put. */
  readonly outcome: Promise<ArrivalOutcome>;
}

type Intent =
  | { readonly kind: "put"; readonly put: Put }
  | { readonly kind: "relabel"; readonly label: Label }
  | { readonly kind: "remove" };

const AT_ONCE = 4;

/**
 * Uploads while it is open, which no reader sees, and attaches and detaches only in commit. A crash leaves uploads that
 * the journal knows, or files with our marks beside the ones they were to replace; the next draft of the source takes
 * over the first and keeps the newest of the second.
 */
export class VectorStoreDraft implements IndexDraft {
  readonly #parts: DraftParts;
  readonly #scope: ArrivalScope;
  readonly #intents = new Map<ItemId, Intent>();
  /** Put and then put again or taken back within this draft. */
  readonly #superseded: Put[] = [];
  readonly #claimed = new Map<FileId, ItemId>();
  readonly #stop = new AbortController();
  #commit: DraftCommit | undefined;
  #ended = false;

  constructor(parts: DraftParts, leftovers: Leftovers) {
    this.#parts = parts;
    const { store, journal } = parts;
    const claim = (fileId: FileId, itemId: ItemId) => this.#claim(fileId, itemId);
    this.#scope = { store, journal, leftovers, claim, unanswered: 0, trouble: undefined };
  }

  /** Returns when the bytes are there. Rejects for what would meet every other file, too: a used-up quota, a refused key. */
  async put(file: DocumentFile, signal: AbortSignal): Promise<void> {
    this.#assertOpen();
    const outcome = arrive(this.#scope, file, AbortSignal.any([signal, this.#stop.signal]));
    this.#intend(file.itemId, { kind: "put", put: { file, label: file.label, outcome } });
    await outcome;
  }

  async relabel(itemId: ItemId, label: Label): Promise<void> {
    this.#assertOpen();
    const intent = this.#intents.get(itemId);
    if (intent?.kind === "put") this.#intents.set(itemId, { kind: "put", put: { ...intent.put, label } });
    else this.#intents.set(itemId, { kind: "relabel", label });
  }

  async remove(itemId: ItemId): Promise<void> {
    this.#assertOpen();
    this.#intend(itemId, { kind: "remove" });
  }

  /**
   * Cancelled half-way it can still be discarded: what was already replaced stays replaced. The same when the service
   * stops working for us (a used-up quota): that is thrown, once, and the next draft goes on from there.
   */
  async commit(
    signal: AbortSignal,
    options?: { readonly allowEmpty: boolean },
  ): Promise<{ ready: IndexedRef[]; failed: FailedRef[] }> {
    this.#assertOpen();
    const puts = await this.#arrivals(signal);
    const relabels = new Map<ItemId, Label>();
    const removals = new Set<ItemId>();
    for (const [itemId, intent] of this.#intents) {
      if (intent.kind === "relabel") relabels.set(itemId, intent.label);
      if (intent.kind === "remove") removals.add(itemId);
    }
    const changes = { relabels, removals, allowEmpty: options?.allowEmpty ?? false };
    this.#commit = new DraftCommit(this.#parts, puts, changes);
    const result = await this.#commit.run(signal);
    this.#ended = true;
    return result;
  }

  /**
   * Takes out what a commit had attached and not come to give up the old for. Uploads wait in the journal for the next
   * draft of the source. Never fails for what the service does not do now.
   */
  async discard(): Promise<void> {
    if (this.#ended) return;
    this.#ended = true;
    this.#stop.abort();
    await Promise.allSettled(this.#puts().map(({ outcome }) => outcome));
    const { store } = this.#parts;
    try {
      await forEachConcurrent(this.#commit?.inFlight ?? [], AT_ONCE, (fileId) => detachFile(store, fileId));
    } catch (error) {
      // What is left carries our marks, and the next draft of the source detaches it.
      if (!(error instanceof RemoteError)) throw error;
    }
  }

  async #arrivals(signal: AbortSignal): Promise<Map<ItemId, ArrivedPut>> {
    const stop = (): void => this.#stop.abort(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) stop();
    await Promise.allSettled(this.#puts().map(({ outcome }) => outcome));
    signal.removeEventListener("abort", stop);
    throwIfCancelled("commit draft", signal);
    if (this.#scope.trouble) throw this.#scope.trouble;
    const puts = new Map<ItemId, ArrivedPut>();
    for (const [itemId, intent] of this.#intents) {
      if (intent.kind !== "put") continue;
      const { file, label, outcome } = intent.put;
      puts.set(itemId, { file, label, outcome: await outcome });
    }
    return puts;
  }

  /** A file can be the document of one item only: its marks name it. */
  #claim(fileId: FileId, itemId: ItemId): boolean {
    const { survey, domainId, sourceId } = this.#parts;
    const attached = survey.files.get(fileId);
    const isFree = !attached || readItemId(attached, domainId, sourceId) === itemId;
    if (!isFree || (this.#claimed.get(fileId) ?? itemId) !== itemId) return false;
    this.#claimed.set(fileId, itemId);
    return true;
  }

  /** The last word about an item counts. */
  #intend(itemId: ItemId, intent: Intent): void {
    const before = this.#intents.get(itemId);
    if (before?.kind === "put") this.#superseded.push(before.put);
    this.#intents.set(itemId, intent);
  }

  #puts(): Put[] {
    const current = [...this.#intents.values()].flatMap((intent) => (intent.kind === "put" ? [intent.put] : []));
    return [...current, ...this.#superseded];
  }

  #assertOpen(): void {
    if (this.#ended) throw new ConflictError("use draft: it was committed or discarded");
  }
}
