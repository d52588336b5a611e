import { CancelledError, ConflictError, explain, RemoteError } from "../../contracts/errors.ts";
import type { DomainId, FileId, ItemId, SourceId } from "../../contracts/ids.ts";
import type {
  DocumentFile,
  FailedRef,
  IndexDraft,
  IndexedRef,
  Label,
  StoredDocument,
} from "../../contracts/search-index.ts";
import type { UploadJournal } from "../../contracts/uploads.ts";
import { forEachConcurrent } from "../../lib/concurrency.ts";
import { nowUtcMicros } from "../../lib/time.ts";
import { refOf } from "./audit-store.ts";
import { throwIfCancelled } from "./connection.ts";
import type { Attachment } from "./embed-files.ts";
import { type Embedded, embedFiles } from "./embed-files.ts";
import { ServiceError } from "./service-error.ts";
import { detachFile, type Store, updateAttributes, type WireAttributes } from "./store-files.ts";
import type { StoreSnapshot } from "./store-snapshot.ts";
import {
  type DocumentUploadOutcome,
  discardUpload,
  type ReusableUploads,
  recordDetached,
  removeLostUploads,
  type UploadedDocument,
  type UploadScope,
  uploadDocument,
  uploadName,
} from "./uploads.ts";
import { readContentHash, readItemId, type StoreFile, toWireAttributes } from "./wire-codec.ts";

interface Put {
  readonly file: DocumentFile;
  readonly label: Label;
  /** Rejects only if the put rejected too. */
  readonly outcome: Promise<DocumentUploadOutcome>;
}

type Intent =
  | { readonly kind: "put"; readonly put: Put }
  | { readonly kind: "relabel"; readonly label: Label }
  | { readonly kind: "remove" };

const AT_ONCE = 4;
/** Of a document that is neither put nor named anew. */
const NO_LABEL: Label = { name: "", path: "", url: "", fileType: "", modifiedAt: "", attributes: {} };

/**
 * Uploads while it is open, unseen by readers; attaches, and detaches what that replaces, in slices (stage); removes in commit. A crash leaves uploads that are in the
 * journal, or files with our attributes beside those they were to replace. The next draft of the source reuses the former
 * and keeps the newest of the latter.
 */
export class VectorStoreDraft implements IndexDraft {
  readonly #parts: DraftParts;
  readonly #scope: UploadScope;
  readonly #intents = new Map<ItemId, Intent>();
  /** Puts that a later put or remove of the same draft replaced. */
  readonly #superseded: Put[] = [];
  readonly #claimed = new Map<FileId, ItemId>();
  readonly #stop = new AbortController();
  readonly #commit: DraftCommit;
  readonly #staged = new Set<Put>();
  #staging: Promise<unknown> = Promise.resolve();
  #ended = false;

  constructor(parts: DraftParts, reusable: ReusableUploads) {
    this.#parts = parts;
    const { store, journal } = parts;
    const claim = (fileId: FileId, itemId: ItemId) => this.#claim(fileId, itemId);
    this.#scope = { store, journal, reusable, claim, consecutiveFailures: 0, fatal: undefined };
    this.#commit = new DraftCommit(parts);
  }

  /** Returns when the bytes are uploaded. Rejects with errors that would hit every other file too: a used-up quota, a rejected key. */
  async put(file: DocumentFile, signal: AbortSignal): Promise<void> {
    this.#assertOpen();
    const outcome = uploadDocument(this.#scope, file, AbortSignal.any([signal, this.#stop.signal]));
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
   * When cancelled half-way, it can still be discarded: files that were replaced stay replaced. The same holds for a fatal
   * error of the service (a used-up quota), which is thrown; the next draft goes on from there.
   */
  async commit(
    signal: AbortSignal,
    options = { allowEmpty: false },
  ): Promise<{ ready: IndexedRef[]; failed: FailedRef[] }> {
    await this.stage(signal, options);
    const result = await this.#commit.finish(this.#changes(options), signal);
    this.#ended = true;
    return result;
  }

  /** One after the other: a slice knows what the slices before it did. */
  async stage(signal: AbortSignal, options = { allowEmpty: false }): Promise<readonly FailedRef[]> {
    this.#assertOpen();
    const mine = this.#staging.then(async () => {
      const puts = await this.#uploadedPuts(signal);
      return await this.#commit.add(puts, this.#changes(options), signal);
    });
    this.#staging = mine.catch(() => undefined);
    return await mine;
  }

  /** From memory: the service takes a while to list a store. */
  async stored(items: readonly ItemId[]): Promise<readonly StoredDocument[]> {
    return items.flatMap((itemId) => {
      const ref = this.#commit.stored(itemId);
      const intent = this.#intents.get(itemId);
      const label = intent?.kind === "put" ? intent.put.label : intent?.kind === "relabel" ? intent.label : NO_LABEL;
      return ref ? [{ ...ref, label }] : [];
    });
  }

  #changes({ allowEmpty }: { readonly allowEmpty: boolean }): OtherChanges {
    const relabels = new Map<ItemId, Label>();
    const removals = new Set<ItemId>();
    for (const [itemId, intent] of this.#intents) {
      if (intent.kind === "relabel") relabels.set(itemId, intent.label);
      if (intent.kind === "remove") removals.add(itemId);
    }
    return { relabels, removals, allowEmpty };
  }

  /**
   * Detaches files of an unfinished commit whose predecessors are still there. Uploads wait in the journal for the next
   * draft of the source. Errors of the service are ignored.
   */
  async discard(): Promise<void> {
    if (this.#ended) return;
    this.#ended = true;
    this.#stop.abort();
    await Promise.allSettled(this.#puts().map(({ outcome }) => outcome));
    const { store } = this.#parts;
    try {
      await forEachConcurrent(this.#commit.inFlight, AT_ONCE, (fileId) => detachFile(store, fileId));
    } catch (error) {
      // What is left has our attributes, and the next draft of the source detaches it.
      if (!(error instanceof RemoteError)) throw error;
    }
  }

  async #uploadedPuts(signal: AbortSignal): Promise<Map<ItemId, UploadedPut>> {
    const stop = (): void => this.#stop.abort(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) stop();
    await Promise.allSettled(this.#puts().map(({ outcome }) => outcome));
    signal.removeEventListener("abort", stop);
    throwIfCancelled("commit draft", signal);
    if (this.#scope.fatal) throw this.#scope.fatal;
    const puts = new Map<ItemId, UploadedPut>();
    for (const [itemId, intent] of this.#intents) {
      if (intent.kind !== "put" || this.#staged.has(intent.put)) continue;
      const { file, label, outcome } = intent.put;
      this.#staged.add(intent.put);
      puts.set(itemId, { file, label, outcome: await outcome });
    }
    return puts;
  }

  /** A file can be the document of one item only: its attributes name it. */
  #claim(fileId: FileId, itemId: ItemId): boolean {
    const { snapshot, domainId, sourceId } = this.#parts;
    const attached = snapshot.files.get(fileId);
    const isFree = !attached || readItemId(attached, domainId, sourceId) === itemId;
    if (!isFree || (this.#claimed.get(fileId) ?? itemId) !== itemId) return false;
    this.#claimed.set(fileId, itemId);
    return true;
  }

  /** The last operation on an item counts. */
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

interface DraftParts {
  readonly store: Store;
  readonly domainId: DomainId;
  readonly sourceId: SourceId;
  /** The store when the draft was opened. */
  readonly snapshot: StoreSnapshot;
  readonly journal: UploadJournal;
}

interface UploadedPut {
  readonly file: DocumentFile;
  readonly label: Label;
  readonly outcome: DocumentUploadOutcome;
}

interface OtherChanges {
  readonly relabels: ReadonlyMap<ItemId, Label>;
  readonly removals: ReadonlySet<ItemId>;
  readonly allowEmpty: boolean;
}

interface Addition {
  readonly file: DocumentFile;
  readonly label: Label;
  readonly uploaded: UploadedDocument;
}

/** Smaller than the batches of the service, to shorten the time in which a reader sees a document twice. */
const LARGEST_SLICE = 500;
/** Limit of older stores, and of those of Azure. The service does not tell the limit of a store. */
const SMALLEST_LIMIT = 10_000;

/** Applies a draft to a store: adds, waits until the files are found, detaches the old ones, slice by slice; removals last, unless the store is nearly full. */
class DraftCommit {
  /** Attached files whose predecessors are still attached. */
  readonly inFlight = new Set<FileId>();
  readonly #parts: DraftParts;
  #changes: OtherChanges = { relabels: new Map(), removals: new Set(), allowEmpty: false };
  readonly #ready = new Map<ItemId, IndexedRef>();
  readonly #failed = new Map<ItemId, FailedRef>();
  /** Items whose new version failed permanently. The old one is removed too, because nothing outdated is served. */
  readonly #failedForGood = new Set<ItemId>();
  readonly #detached = new Set<FileId>();
  #filesInStore: number;

  constructor(parts: DraftParts) {
    this.#parts = parts;
    this.#filesInStore = parts.snapshot.files.size;
  }

  /** Returns what failed so far. */
  async add(
    puts: ReadonlyMap<ItemId, UploadedPut>,
    changes: OtherChanges,
    signal: AbortSignal,
  ): Promise<readonly FailedRef[]> {
    this.#changes = changes;
    const additions: Addition[] = [];
    for (const { file, label, outcome } of puts.values()) {
      this.#failed.delete(file.itemId);
      this.#failedForGood.delete(file.itemId);
      if (outcome.status === "uploaded") additions.push({ file, label, uploaded: outcome.uploaded });
      else this.#fail(outcome.failure);
    }
    await this.#each(this.#parts.snapshot.items.keys(), (itemId) =>
      this.#detachAll(this.#parts.snapshot.items.get(itemId)?.strays, signal),
    );
    const isTight = this.#filesInStore + additions.length > SMALLEST_LIMIT;
    if (isTight) {
      this.#assertNotEmptied(this.#ready.size + additions.length);
      await this.#removeAll(signal);
    }
    await this.#addAll(additions, signal);
    return [...this.#failed.values()];
  }

  async finish(changes: OtherChanges, signal: AbortSignal): Promise<{ ready: IndexedRef[]; failed: FailedRef[] }> {
    this.#changes = changes;
    this.#assertNotEmptied(this.#ready.size);
    await this.#each(this.#changes.relabels.keys(), (itemId) => this.#relabel(itemId, signal));
    await this.#removeAll(signal);
    await this.#each(this.#failedForGood, (itemId) => this.#detachOld(itemId, undefined, signal));
    await this.#deleteUnusedUploads(signal);
    const ready = [...this.#ready.values()].filter(({ itemId, fileId }) => {
      return !this.#failed.has(itemId) && !this.#detached.has(fileId);
    });
    return { ready, failed: [...this.#failed.values()] };
  }

  /** What the store has of an item now, as far as this draft knows. */
  stored(itemId: ItemId): IndexedRef | undefined {
    const current = this.#parts.snapshot.items.get(itemId)?.current;
    const before = current && refOf(itemId, current);
    return [this.#ready.get(itemId), before].find((ref) => ref && !this.#detached.has(ref.fileId));
  }

  /** Called before anything is detached: a domain that had documents keeps one, unless the caller allows it to become empty. */
  #assertNotEmptied(added: number): void {
    const { snapshot } = this.#parts;
    const visible = [...snapshot.items].filter(([, { current }]) => current).map(([itemId]) => itemId);
    const remains = (itemId: ItemId) => !this.#changes.removals.has(itemId) && !this.#failedForGood.has(itemId);
    const emptied = visible.length > 0 && snapshot.elsewhere === 0 && added === 0 && !visible.some(remains);
    if (!emptied || this.#changes.allowEmpty) return;
    const { domainId, sourceId } = this.#parts;
    throw new ConflictError(
      `commit draft of ${domainId}/${sourceId}: nothing of the domain ${domainId} would be left; readers keep what they have until the removals are confirmed`,
    );
  }

  async #addAll(additions: readonly Addition[], signal: AbortSignal): Promise<void> {
    for (let at = 0; at < additions.length; ) {
      const room = SMALLEST_LIMIT - this.#filesInStore;
      // A store with more files than the smallest limit has a larger one. A full store rejects each file.
      const size = room > 0 ? Math.min(room, LARGEST_SLICE) : LARGEST_SLICE;
      const slice = additions.slice(at, at + size);
      at += slice.length;
      await this.#addSlice(slice, signal);
    }
  }

  async #addSlice(slice: readonly Addition[], signal: AbortSignal): Promise<void> {
    const there = new Set<Addition>();
    const fresh = new Map<Addition, Attachment>();
    await this.#each(slice, async (addition) => {
      const { file, label, uploaded } = addition;
      const attributes = this.#attributes(file.itemId, file.sha256, label);
      const isThere = await this.#isThereAlready(uploaded.fileId, attributes, signal);
      if (isThere) there.add(addition);
      else fresh.set(addition, { fileId: uploaded.fileId, attributes });
    });
    const outcomes = await this.#embed([...fresh.values()], signal);
    await this.#each([...there, ...fresh.keys()], (addition) =>
      this.#finishAddition(addition, outcomes.get(addition.uploaded.fileId) ?? { status: "completed" }, signal),
    );
  }

  /** Updates a file that the store already has: attached again, it might be rejected, or listed twice. */
  async #isThereAlready(fileId: FileId, attributes: WireAttributes, signal: AbortSignal): Promise<boolean> {
    const { store, snapshot } = this.#parts;
    const there = this.#detached.has(fileId) ? undefined : snapshot.files.get(fileId);
    if (there?.status === "completed") {
      await updateAttributes(store, fileId, attributes, signal);
      return true;
    }
    if (there) await this.#detachAll([there], signal);
    return false;
  }

  async #embed(files: readonly Attachment[], signal: AbortSignal): Promise<ReadonlyMap<FileId, Embedded>> {
    if (files.length === 0) return new Map();
    this.#filesInStore += files.length;
    for (const { fileId } of files) this.inFlight.add(fileId);
    try {
      return await embedFiles(this.#parts.store, files, signal);
    } catch (error) {
      if (endsCommit(error) || (error instanceof ServiceError && error.isFatal)) throw error;
      const outcome: Embedded = { status: "failed", reason: explain(error), permanent: false };
      return new Map(files.map(({ fileId }) => [fileId, outcome]));
    }
  }

  async #finishAddition(addition: Addition, outcome: Embedded, signal: AbortSignal): Promise<void> {
    const { file, uploaded } = addition;
    if (outcome.status === "completed") return this.#replaceOld(addition, signal);
    const reason = `embed '${uploadName(file)}': ${outcome.reason}`;
    this.#fail({ itemId: file.itemId, reason, permanent: outcome.permanent });
    this.#filesInStore -= 1;
    try {
      await discardUpload(this.#parts, uploaded, signal);
      this.inFlight.delete(uploaded.fileId);
    } catch (error) {
      // The next draft of the source finds it by its attributes or in the journal.
      if (endsCommit(error) || !(error instanceof RemoteError)) throw error;
    }
  }

  /** From here on the old version may be detached, so not even discard() may delete the new one. */
  async #replaceOld({ file, uploaded }: Addition, signal: AbortSignal): Promise<void> {
    if (uploaded.key !== undefined) await this.#parts.journal.settle(uploaded.key);
    this.inFlight.delete(uploaded.fileId);
    await this.#detachOld(file.itemId, uploaded.fileId, signal);
    const { itemId, sha256 } = file;
    const { fileId, uploadedAt } = uploaded;
    this.#ready.set(itemId, { itemId, fileId, sha256, uploadedAt, embeddedAt: nowUtcMicros() });
  }

  async #detachOld(itemId: ItemId, except: FileId | undefined, signal: AbortSignal): Promise<void> {
    const files = this.#parts.snapshot.items.get(itemId);
    const before = this.#ready.get(itemId);
    const old = [...(files?.current ? [files.current] : []), ...(files?.ghosts ?? []), ...(before ? [before] : [])];
    await this.#detachAll(
      old.filter(({ fileId }) => fileId !== except),
      signal,
    );
  }

  async #relabel(itemId: ItemId, signal: AbortSignal): Promise<void> {
    const label = this.#changes.relabels.get(itemId);
    const current = this.#parts.snapshot.items.get(itemId)?.current;
    if (!label) return;
    if (!current) throw new RemoteError(`relabel '${label.name}': the vector store holds no document of it`);
    const attributes = this.#attributes(itemId, readContentHash(current), label);
    await updateAttributes(this.#parts.store, current.fileId, attributes, signal);
  }

  #removeAll(signal: AbortSignal): Promise<void> {
    return this.#each(this.#changes.removals, (itemId) => this.#detachOld(itemId, undefined, signal));
  }

  /** Deletes uploads that are not needed: superseded within the draft, left by an earlier one, sent twice. */
  async #deleteUnusedUploads(signal: AbortSignal): Promise<void> {
    const { store, journal, snapshot } = this.#parts;
    const unwanted = (await journal.unsettled()).flatMap(({ key, fileId }) => (fileId ? [{ key, fileId }] : []));
    try {
      await forEachConcurrent(unwanted, AT_ONCE, (upload) => discardUpload(this.#parts, upload, signal));
      await removeLostUploads(store, journal, snapshot.files, { signal });
    } catch (error) {
      // They are in no store, and the next draft finds them in the journal.
      if (endsCommit(error) || !(error instanceof RemoteError)) throw error;
    }
  }

  /** An item that fails does not stop the others; a fatal error ends the commit. */
  async #each<T extends ItemId | Addition>(items: Iterable<T>, work: (item: T) => Promise<void>): Promise<void> {
    await forEachConcurrent<T>(items, AT_ONCE, async (item) => {
      try {
        await work(item);
      } catch (error) {
        if (endsCommit(error)) throw error;
        const itemId: ItemId = typeof item === "object" ? item.file.itemId : item;
        this.#fail({ itemId, reason: explain(error), permanent: false });
      }
    });
  }

  #fail(failure: FailedRef): void {
    this.#failed.set(failure.itemId, failure);
    if (failure.permanent) this.#failedForGood.add(failure.itemId);
  }

  async #detachAll(files: readonly Pick<StoreFile, "fileId">[] | undefined, signal: AbortSignal): Promise<void> {
    for (const { fileId } of files ?? []) {
      if (this.#detached.has(fileId)) continue;
      await recordDetached(this.#parts.store.connection.records.folder, [fileId]);
      await detachFile(this.#parts.store, fileId, signal);
      this.#detached.add(fileId);
      this.#filesInStore -= 1;
    }
  }

  #attributes(itemId: ItemId, sha256: string, label: Label): WireAttributes {
    const { domainId, sourceId } = this.#parts;
    return toWireAttributes({ domainId, sourceId, itemId, sha256 }, label);
  }
}

/** Not 403: a missing permission may concern one kind of request only. */
function endsCommit(error: unknown): boolean {
  if (error instanceof CancelledError) return true;
  return error instanceof ServiceError && error.isFatal && error.status !== 403;
}
