import { CancelledError, ConflictError, explain, RemoteError } from "../../contracts/errors.ts";
import type { DomainId, FileId, ItemId, SourceId } from "../../contracts/ids.ts";
import type { DocumentFile, FailedRef, IndexedRef, Label } from "../../contracts/search-index.ts";
import type { UploadJournal } from "../../contracts/uploads.ts";
import { forEachConcurrent } from "../../lib/concurrency.ts";
import { nowUtcMicros } from "../../lib/time.ts";
import { type ArrivalOutcome, type Arrived, dropUpload } from "./arrival.ts";
import type { Attachment } from "./attach-files.ts";
import { noteDetached } from "./detached-uploads.ts";
import { type Embedded, embedFiles } from "./embed-files.ts";
import { Refusal } from "./refusal.ts";
import { removeLostUploads } from "./remove-lost-uploads.ts";
import { detachFile, type Store, updateAttributes, type WireAttributes } from "./store-files.ts";
import type { Survey } from "./survey.ts";
import { uploadName } from "./upload.ts";
import { readContentHash, type StoreFile, toWireAttributes } from "./wire-codec.ts";

export interface DraftParts {
  readonly store: Store;
  readonly domainId: DomainId;
  readonly sourceId: SourceId;
  /** The store when the draft was opened. */
  readonly survey: Survey;
  readonly journal: UploadJournal;
}

export interface ArrivedPut {
  readonly file: DocumentFile;
  readonly label: Label;
  readonly outcome: ArrivalOutcome;
}

export interface OtherChanges {
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
const AT_ONCE = 4;

/** Brings a store to what a draft wants: add, wait until it is found, detach the old, slice by slice; removals last. */
export class DraftCommit {
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
