import { CancelledError, ConflictError, explain, RemoteError } from "../../contracts/errors.ts";
import type { DomainId, FileId, ItemId, SourceId } from "../../contracts/ids.ts";
import type { DocumentFile, FailedRef, IndexDraft, IndexedRef, Label } from "../../contracts/search-index.ts";
import type { UploadJournal, UploadTry } from "../../contracts/uploads.ts";
import { forEachConcurrent } from "../../lib/concurrency.ts";
import { nowUtcMicros } from "../../lib/time.ts";
import { throwIfCancelled } from "./connection.ts";
import type { Attachment } from "./embed-files.ts";
import { type Embedded, embedFiles } from "./embed-files.ts";
import { Refusal } from "./refusal.ts";
import { detachFile, type Store, updateAttributes, type WireAttributes } from "./store-files.ts";
import type { Survey } from "./survey.ts";
import {
  type ArrivalOutcome,
  type ArrivalScope,
  type Arrived,
  arrive,
  deleteUpload,
  dropUpload,
  everyStore,
  isInUse,
  type Leftovers,
  listUploads,
  noteDetached,
  UncertainStores,
  uploadName,
} from "./uploads.ts";
import { readContentHash, readItemId, type StoreFile, toWireAttributes, type UploadedFile } from "./wire-codec.ts";

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

interface DraftParts {
  readonly store: Store;
  readonly domainId: DomainId;
  readonly sourceId: SourceId;
  /** The store when the draft was opened. */
  readonly survey: Survey;
  readonly journal: UploadJournal;
}

interface ArrivedPut {
  readonly file: DocumentFile;
  readonly label: Label;
  readonly outcome: ArrivalOutcome;
}

interface OtherChanges {
  readonly relabels: ReadonlyMap<ItemId, Label>;
  readonly removals: ReadonlySet<ItemId>;
  readonly allowEmpty: boolean;
}

interface Newcomer {
  readonly file: DocumentFile;
  readonly label: Label;
  readonly arrived: Arrived;
}

/** The batch the service takes is larger; a smaller one keeps the time short in which a reader meets things twice. */
const LARGEST_SLICE = 500;
/** What older stores, and those of Azure, hold at most. Nobody can ask a store for its limit. */
const SMALLEST_LIMIT = 10_000;

/** Brings a store to what a draft wants: add, wait until it is found, detach the old, slice by slice; removals last. */
class DraftCommit {
  /** Attached, while what they are to replace is still there. */
  readonly inFlight = new Set<FileId>();
  readonly #parts: DraftParts;
  readonly #puts: ReadonlyMap<ItemId, ArrivedPut>;
  readonly #changes: OtherChanges;
  readonly #ready: IndexedRef[] = [];
  readonly #failed: FailedRef[] = [];
  /** Items whose new version will never be readable: the old one goes, too, because nothing outdated is served. */
  readonly #spoilt = new Set<ItemId>();
  readonly #detached = new Set<FileId>();
  #filesInStore: number;

  constructor(parts: DraftParts, puts: ReadonlyMap<ItemId, ArrivedPut>, changes: OtherChanges) {
    this.#parts = parts;
    this.#puts = puts;
    this.#changes = changes;
    this.#filesInStore = parts.survey.files.size;
  }

  async run(signal: AbortSignal): Promise<{ ready: IndexedRef[]; failed: FailedRef[] }> {
    const newcomers: Newcomer[] = [];
    for (const { file, label, outcome } of this.#puts.values()) {
      if (outcome.status === "arrived") newcomers.push({ file, label, arrived: outcome.arrived });
      else this.#fail(outcome.failure);
    }
    this.#assertNotEmptied(newcomers.length);
    await this.#each(this.#parts.survey.items.keys(), (itemId) => this.#detachAll(this.#held(itemId)?.strays, signal));
    const isTight = this.#filesInStore + newcomers.length > SMALLEST_LIMIT;
    if (isTight) await this.#removeAll(signal);
    await this.#addAll(newcomers, signal);
    this.#assertNotEmptied(this.#ready.length);
    await this.#each(this.#changes.relabels.keys(), (itemId) => this.#relabel(itemId, signal));
    if (!isTight) await this.#removeAll(signal);
    await this.#each(this.#spoilt, (itemId) => this.#detachOld(itemId, undefined, signal));
    await this.#tidy(signal);
    const failedItems = new Set(this.#failed.map(({ itemId }) => itemId));
    return { ready: this.#ready.filter(({ itemId }) => !failedItems.has(itemId)), failed: this.#failed };
  }

  /** Before anything is detached: a domain that had documents keeps one, unless somebody said that it may end up empty. */
  #assertNotEmptied(added: number): void {
    const { survey } = this.#parts;
    const visible = [...survey.items].filter(([, { current }]) => current).map(([itemId]) => itemId);
    const isKept = (itemId: ItemId) => !this.#changes.removals.has(itemId) && !this.#spoilt.has(itemId);
    const emptied = visible.length > 0 && survey.elsewhere === 0 && added === 0 && !visible.some(isKept);
    if (!emptied || this.#changes.allowEmpty) return;
    const { domainId, sourceId } = this.#parts;
    throw new ConflictError(
      `commit draft of ${domainId}/${sourceId}: nothing of the domain ${domainId} would be left; readers keep what they have until the removals are confirmed`,
    );
  }

  async #addAll(newcomers: readonly Newcomer[], signal: AbortSignal): Promise<void> {
    for (let at = 0; at < newcomers.length; ) {
      const room = SMALLEST_LIMIT - this.#filesInStore;
      // A store with more files than the smallest limit has a larger one; a full one refuses, and says so per file.
      const size = room > 0 ? Math.min(room, LARGEST_SLICE) : LARGEST_SLICE;
      const slice = newcomers.slice(at, at + size);
      at += slice.length;
      await this.#addSlice(slice, signal);
    }
  }

  async #addSlice(slice: readonly Newcomer[], signal: AbortSignal): Promise<void> {
    const there = new Set<Newcomer>();
    const fresh = new Map<Newcomer, Attachment>();
    await this.#each(slice, async (newcomer) => {
      const { file, label, arrived } = newcomer;
      const attributes = this.#attributes(file.itemId, file.sha256, label);
      const isThere = await this.#isThereAlready(arrived.fileId, attributes, signal);
      if (isThere) there.add(newcomer);
      else fresh.set(newcomer, { fileId: arrived.fileId, attributes });
    });
    const outcomes = await this.#embed([...fresh.values()], signal);
    await this.#each([...there, ...fresh.keys()], (newcomer) =>
      this.#settle(newcomer, outcomes.get(newcomer.arrived.fileId) ?? { status: "completed" }, signal),
    );
  }

  /** Attached once more, what the store has already might be refused, or listed twice. */
  async #isThereAlready(fileId: FileId, attributes: WireAttributes, signal: AbortSignal): Promise<boolean> {
    const { store, survey } = this.#parts;
    const there = this.#detached.has(fileId) ? undefined : survey.files.get(fileId);
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
      if (stopsAll(error) || (error instanceof Refusal && error.concernsAll)) throw error;
      const outcome: Embedded = { status: "failed", reason: explain(error), permanent: false };
      return new Map(files.map(({ fileId }) => [fileId, outcome]));
    }
  }

  async #settle(newcomer: Newcomer, outcome: Embedded, signal: AbortSignal): Promise<void> {
    const { file, arrived } = newcomer;
    if (outcome.status === "completed") return this.#welcome(newcomer, signal);
    const reason = `embed '${uploadName(file)}': ${outcome.reason}`;
    this.#fail({ itemId: file.itemId, reason, permanent: outcome.permanent });
    this.#filesInStore -= 1;
    try {
      await dropUpload(this.#parts, arrived, signal);
      this.inFlight.delete(arrived.fileId);
    } catch (error) {
      // The next draft of the source finds it by its marks or in the journal.
      if (stopsAll(error) || !(error instanceof RemoteError)) throw error;
    }
  }

  /** From here on the old version may be gone, so not even a discard may delete the new one. */
  async #welcome({ file, arrived }: Newcomer, signal: AbortSignal): Promise<void> {
    if (arrived.key !== undefined) await this.#parts.journal.settle(arrived.key);
    this.inFlight.delete(arrived.fileId);
    await this.#detachOld(file.itemId, arrived.fileId, signal);
    const { itemId, sha256 } = file;
    const { fileId, uploadedAt } = arrived;
    this.#ready.push({ itemId, fileId, sha256, uploadedAt, embeddedAt: nowUtcMicros() });
  }

  async #detachOld(itemId: ItemId, except: FileId | undefined, signal: AbortSignal): Promise<void> {
    const held = this.#held(itemId);
    const old = [...(held?.current ? [held.current] : []), ...(held?.ghosts ?? [])];
    await this.#detachAll(
      old.filter(({ fileId }) => fileId !== except),
      signal,
    );
  }

  async #relabel(itemId: ItemId, signal: AbortSignal): Promise<void> {
    const label = this.#changes.relabels.get(itemId);
    const current = this.#held(itemId)?.current;
    if (!label) return;
    if (!current) throw new RemoteError(`relabel '${label.name}': the vector store holds no document of it`);
    const attributes = this.#attributes(itemId, readContentHash(current), label);
    await updateAttributes(this.#parts.store, current.fileId, attributes, signal);
  }

  #removeAll(signal: AbortSignal): Promise<void> {
    return this.#each(this.#changes.removals, (itemId) => this.#detachOld(itemId, undefined, signal));
  }

  /** Uploads nobody wants any more: superseded within the draft, left by an earlier one, sent twice. */
  async #tidy(signal: AbortSignal): Promise<void> {
    const { store, journal, survey } = this.#parts;
    const unwanted = (await journal.unsettled()).flatMap(({ key, fileId }) => (fileId ? [{ key, fileId }] : []));
    try {
      await forEachConcurrent(unwanted, AT_ONCE, (upload) => dropUpload(this.#parts, upload, signal));
      await removeLostUploads(store, journal, survey.files, { signal });
    } catch (error) {
      // They are in no store, and the journal still has them for the next draft.
      if (stopsAll(error) || !(error instanceof RemoteError)) throw error;
    }
  }

  /** One item that fails does not keep the others; what would meet them all ends the commit. */
  async #each<T extends ItemId | Newcomer>(items: Iterable<T>, work: (item: T) => Promise<void>): Promise<void> {
    await forEachConcurrent<T>(items, AT_ONCE, async (item) => {
      try {
        await work(item);
      } catch (error) {
        if (stopsAll(error)) throw error;
        const itemId: ItemId = typeof item === "object" ? item.file.itemId : item;
        this.#fail({ itemId, reason: explain(error), permanent: false });
      }
    });
  }

  #fail(failure: FailedRef): void {
    this.#failed.push(failure);
    if (failure.permanent) this.#spoilt.add(failure.itemId);
  }

  async #detachAll(files: readonly StoreFile[] | undefined, signal: AbortSignal): Promise<void> {
    for (const { fileId } of files ?? []) {
      if (this.#detached.has(fileId)) continue;
      await noteDetached(this.#parts.store.connection.notes.folder, [fileId]);
      await detachFile(this.#parts.store, fileId, signal);
      this.#detached.add(fileId);
      this.#filesInStore -= 1;
    }
  }

  #held(itemId: ItemId) {
    return this.#parts.survey.items.get(itemId);
  }

  #attributes(itemId: ItemId, sha256: string, label: Label): WireAttributes {
    const { domainId, sourceId } = this.#parts;
    return toWireAttributes({ domainId, sourceId, itemId, sha256 }, label);
  }
}

/** A missing right may be about one kind of request only; the others go on. */
function stopsAll(error: unknown): boolean {
  if (error instanceof CancelledError) return true;
  return error instanceof Refusal && error.concernsAll && error.status !== 403;
}

/** The service's clock may differ from ours by this much. Not more: the wider, the sooner a file of others looks like ours. */
const SKEW_MS = 30_000;
/** For how long a try may have gone on that nobody saw the end of. */
const UNSEEN_MS = 5 * 60_000;
/** Whoever else uploaded such a file for a store has attached it by then. */
const ATTACHED_WITHIN_MS = 24 * 3600_000;

/**
 * Looks, once and a day later, for the uploads whose answers were lost, and deletes them; what they were to become was
 * uploaded anew, since nothing tells what bytes arrived. Other installations upload files of the same names, so a file is
 * taken for ours only when it has the name and the size that were sent, came into being while we sent, is in no journal
 * and in no vector store of the account, and when there are exactly as many of them as were lost. Any doubt leaves them all:
 * a file too many costs some room, a file of others that is gone is a hole in their search.
 */
export async function removeLostUploads(
  store: Store,
  journal: UploadJournal,
  attached: { has(fileId: FileId): boolean },
  { nowMs = Date.now(), signal }: { readonly nowMs?: number; readonly signal: AbortSignal },
): Promise<void> {
  const isDue = ({ fileId, startedAtMs }: UploadTry) => !fileId && nowMs - startedAtMs > ATTACHED_WITHIN_MS;
  const lost = (await journal.unsettled()).filter(isDue);
  if (lost.length === 0) return;
  const uploads = await listUploads(store.connection, signal);
  const known = new Set((await store.connection.notes.journals.files()).map(({ fileId }) => fileId));
  const unknown = uploads.filter(({ fileId }) => !known.has(fileId) && !attached.has(fileId));
  for (const alike of Map.groupBy(lost, ({ name, bytes }) => `${bytes} ${name}`).values()) {
    const matching = unknown.filter((upload) => alike.some((one) => isLike(upload, one)));
    const isCertain = matching.length === alike.length && !(await mayBeInUse(store, matching, signal));
    for (const { fileId } of isCertain ? matching : []) await deleteUpload(store.connection, fileId, signal);
    for (const { key } of alike) await journal.settle(key);
  }
}

function isLike(upload: UploadedFile, one: UploadTry): boolean {
  const latestMs = (one.lostAtMs ?? one.startedAtMs + UNSEEN_MS) + SKEW_MS;
  const isThen = upload.createdAtMs >= one.startedAtMs - SKEW_MS && upload.createdAtMs <= latestMs;
  return isThen && upload.name === one.name && upload.bytes === one.bytes;
}

/** true also when not every store can be looked into. */
async function mayBeInUse(store: Store, files: readonly UploadedFile[], signal: AbortSignal): Promise<boolean> {
  const { connection, storeId } = store;
  const storeIds = await everyStore(connection, [storeId], signal).catch((error: unknown) => {
    if (error instanceof UncertainStores) return undefined;
    throw error;
  });
  if (!storeIds) return true;
  for (const { fileId } of files) if (await isInUse(connection, storeIds, fileId, signal)) return true;
  return false;
}
