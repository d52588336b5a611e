import { stat } from "node:fs/promises";
import { isDeepStrictEqual } from "node:util";
import { isEmptyReason } from "../contracts/document.ts";
import { CancelledError, explain } from "../contracts/errors.ts";
import type { FileId, ItemId, VectorStoreId } from "../contracts/ids.ts";
import type { Indexed, LedgerEntry, Mirrored } from "../contracts/ledger.ts";
import type { PlannedItem } from "../contracts/plan.ts";
import type {
  DocumentFile,
  FailedRef,
  IndexDraft,
  IndexedRef,
  Label,
  SourceDraft,
  StoredDocument,
} from "../contracts/search-index.ts";
import type { SourceRun } from "../contracts/source-kind.ts";
import { forEachConcurrent } from "../lib/concurrency.ts";
import { fileTypeOf } from "../lib/file-type.ts";
import { plural } from "../lib/text.ts";
import type { Mirror } from "../mirror/mirror.ts";
import { MTIME_TOLERANCE_MS } from "../plan/judge.ts";
import { stopWhenFull } from "./disk-full.ts";
import type { EngineParts } from "./engine-parts.ts";
import { withStoredText } from "./extract-texts.ts";
import { MAX_READER_TRIES, readerTries, withReader, withTries } from "./reader-tries.ts";
import type { EmbedStep } from "./run-context.ts";
import { Progress } from "./tally.ts";

/** The embedded index works on this machine; a remote one mostly waits for the network. */
const PUTS_AT_ONCE = { atomic: 4, gradual: 16 } as const;
/** After so many puts they are staged: from then on only the failed ones are remembered. */
const STAGED_AT_ONCE = 2000;
/** One or two files without text may leave a domain empty. If so many do, something is wrong, and the commit is refused. */
const SUSPICIOUSLY_MANY = 3;

/** What the embed step does to documents, in the order in which it is done. */
const REMOVED = ["removed"] as const;
const LABELLED = ["moved", "adopted"] as const;
const PUT = ["added", "changed"] as const;
type Applied = (typeof REMOVED | typeof LABELLED | typeof PUT)[number];
export const ADDITIONS: readonly Applied[] = [...LABELLED, ...PUT];
export const REMOVALS: readonly Applied[] = REMOVED;
const EVERYTHING = [...REMOVALS, ...ADDITIONS];

type CommitParts = Pick<EngineParts, "ledgers" | "extractor">;
type Pages = AsyncIterable<readonly PlannedItem[]> | readonly (readonly PlannedItem[])[];

export interface Recorded {
  /** The index has everything that was planned. */
  readonly isWhole: boolean;
  /** The planned changes that were held instead of committed; "removed": a document that lost its text. */
  readonly held: readonly ("added" | "changed" | "moved" | "removed")[];
}

/**
 * Writes the planned changes of one source into a draft. The caller commits it, by itself or with those of all sources, and then records
 * in the ledger what the store has. A run that is killed in between leaves documents without a row, which the next one adopts.
 * undefined: none of these changes are planned.
 */
export async function draftPlan(
  step: EmbedStep,
  parts: CommitParts,
  changes: readonly Applied[] = EVERYTHING,
): Promise<PlanInDraft | undefined> {
  const { run, target, plan, job } = step;
  const planned = await plan.count("embed");
  const size = (kinds: readonly Applied[]): number =>
    sum(kinds.map((kind) => (changes.includes(kind) ? (planned[kind] ?? 0) : 0)));
  if (size(changes) === 0) return undefined;
  const { sourceId } = run.config;
  const { crawlDraft, index } = target;
  const draft = await (crawlDraft ? crawlDraft.source(sourceId) : index.draft(sourceId, target.crawlName));
  const inDraft = new PlanInDraft(draft, size, step, parts);
  try {
    await inDraft.fill();
    return inDraft;
  } catch (error) {
    // A cancelled crawl leaves its draft: the next one reuses the texts and vectors, and then deletes it.
    if (!crawlDraft || !job.signal.aborted) await draft.discard();
    if (job.signal.aborted) throw new CancelledError("embedding stopped", { cause: error });
    throw error;
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

/** The planned changes of a source in a draft. Where commits are atomic, readers see nothing of them before the commit. */
export class PlanInDraft {
  /** Whether the commit may leave the domain empty. Removals have passed the guard; but if several files were put and none could be read, it may not. */
  readonly allowEmpty: boolean;
  readonly #draft: SourceDraft & Partial<Pick<IndexDraft, "commit">>;
  readonly #size: (kinds: readonly Applied[]) => number;
  readonly #step: EmbedStep;
  readonly #parts: CommitParts;
  /** Files that could not be taken out of `03_failed/`. */
  readonly #lost: FailedRef[] = [];
  #failed: readonly FailedRef[] = [];
  /** The versions that were put. Once they are staged, only those of failed documents. */
  readonly #versions = new Map<ItemId, Mirrored>();
  #put: ItemId[] = [];

  constructor(
    draft: SourceDraft & Partial<Pick<IndexDraft, "commit">>,
    size: (kinds: readonly Applied[]) => number,
    step: EmbedStep,
    parts: CommitParts,
  ) {
    this.#draft = draft;
    this.#size = size;
    this.#step = step;
    this.#parts = parts;
    this.allowEmpty = step.request.confirmDeletes || size(PUT) < SUSPICIOUSLY_MANY;
  }

  get failed(): readonly FailedRef[] {
    return [...this.#lost, ...this.#failed];
  }

  /** Documents that failed and may succeed are tried again. */
  async fill(): Promise<void> {
    const { request, plan, job } = this.#step;
    await this.#write((kinds) => this.#planned(kinds), this.#size(PUT));
    for (let batch = 2; batch <= request.retryBatches; batch++) {
      const again = this.#failed.filter(mayPass).map(({ itemId }) => itemId);
      if (again.length === 0) return;
      job.log(`Trying ${plural(again.length, "failed document")} once more.`);
      const items = [...(await plan.find("embed", again)).values()];
      const rows = (kinds: readonly Applied[]) => [items.filter(({ change }) => isOneOf(kinds, change))];
      await this.#write(rows, again.length);
    }
  }

  /** Only for a draft that is not part of a crawl's. */
  async commit(): Promise<void> {
    const { job } = this.#step;
    try {
      const committed = await this.#draft.commit?.(job.signal, { allowEmpty: this.allowEmpty });
      this.#failed = committed?.failed ?? this.#failed;
    } catch (error) {
      await this.discard();
      if (job.signal.aborted) throw new CancelledError("embedding stopped", { cause: error });
      throw error;
    }
  }

  async discard(): Promise<void> {
    await this.#draft.discard();
  }

  /** Failed documents whose bytes may be wrong. */
  async doubtful(): Promise<ReadonlySet<ItemId>> {
    const entries = await this.#step.ledger.getMany(this.#failed.map(({ itemId }) => itemId));
    return new Set(
      entries.flatMap((entry) => (entry?.mirrored && isDoubtful(entry.mirrored, entry.indexed) ? [entry.itemId] : [])),
    );
  }

  /**
   * After the commit: records what the index has now, whatever others did meanwhile. `isHeld`: additions and changes were not committed.
   */
  async record(step: EmbedStep, { isHeld } = { isHeld: false }): Promise<Recorded> {
    const { run, plan, ledger, mirror, job } = step;
    const planned = await plan.find(
      "embed",
      this.#failed.map(({ itemId }) => itemId),
    );
    const kept = isHeld ? await this.#keptThoughUnreadable(step) : [];
    const failures = this.#failed.filter((failure) => !kept.includes(failure));
    const waiting: Recorded["held"][number][] = kept.flatMap(({ itemId, reason }) =>
      isEmptyReason(reason) && planned.get(itemId)?.change === "changed" ? ["removed"] : [],
    );
    const failedItems = new Set(this.failed.map(({ itemId }) => itemId));
    let isWhole = true;
    for await (const page of this.#planned([...PUT, ...LABELLED])) {
      const changes = new Map(
        page.flatMap(({ itemId, change }) => (failedItems.has(itemId) ? [] : [[itemId, change]])),
      );
      const stored = await this.#stored([...changes.keys()]);
      for (const entry of await ledger.getMany([...changes.keys()])) {
        if (!entry?.mirrored?.file) continue;
        const document = stored.get(entry.itemId);
        const change = changes.get(entry.itemId);
        if (document && isStoredAs(document, documentOf(run, entry, mirror))) {
          ledger.putEmbedded(entry, rowOf(entry, step, document, change));
          continue;
        }
        isWhole = false;
        if (!isHeld) job.log(`'${entry.mirrored.file}' was replaced meanwhile; the next run judges what is there now.`);
        else if (change === "added" || change === "changed" || change === "moved") waiting.push(change);
      }
      // Flush in between: a first crawl writes a row for every item.
      await ledger.flush();
    }
    for await (const page of this.#planned(REMOVED)) {
      const items = page.flatMap(({ itemId }) => (failedItems.has(itemId) ? [] : [itemId]));
      const stored = await this.#stored(items);
      // A document that could not be removed keeps its row, so the next run tries again.
      for (const itemId of items) {
        if (stored.has(itemId)) isWhole = false;
        else ledger.put(itemId, { indexed: null });
      }
      await ledger.flush();
    }
    const put = new Set([...planned.values()].flatMap(({ itemId, change }) => (isOneOf(PUT, change) ? [itemId] : [])));
    await recordFailures({ failed: failures, put, versions: this.#versions }, step, this.#parts);
    await ledger.flush();
    return { isWhole, held: waiting };
  }

  /** The planned changes of these kinds, as far as this draft takes them. */
  #planned(kinds: readonly Applied[]): Pages {
    const wanted = kinds.filter((kind) => this.#size([kind]) > 0);
    return wanted.length === 0 ? [] : this.#step.plan.items("embed", wanted);
  }

  /** `puts`: how many documents are put. */
  async #write(rows: (kinds: readonly Applied[]) => Pages, puts: number): Promise<void> {
    const { run, target, mirror, job } = this.#step;
    const draft = this.#draft;
    for await (const page of rows(REMOVED)) {
      for (const { itemId } of page) {
        await job.checkpoint();
        await draft.remove(itemId, { mayReturn: !run.config.kind.abilities.hasIds });
      }
    }
    for await (const { entry } of this.#entriesOf(rows(LABELLED))) {
      await job.checkpoint();
      await draft.relabel(entry.itemId, labelOf(run, entry, mirror));
    }
    const progress = new Progress(job, puts);
    const uploaded = target.swap && (await openUploads(run, target.swap.before, this.#parts));
    const work = async ({ entry, isAnew }: PlannedEntry): Promise<void> => {
      await job.checkpoint();
      if (!(await this.#putOne(entry, isAnew, uploaded))) return;
      progress.step(`Indexing '${mirror.relativePath(entry.mirrored.file)}'.`);
      if (this.#put.length >= STAGED_AT_ONCE) await this.#stage();
    };
    await forEachConcurrent(this.#entriesOf(rows(PUT)), PUTS_AT_ONCE[target.index.commits], work);
    await this.#stage();
  }

  /** Returns false for a file that cannot be taken out of `03_failed/`. */
  async #putOne(planned: MirroredEntry, isAnew: boolean, uploaded: Uploads | undefined): Promise<boolean> {
    const { run, request, mirror, job } = this.#step;
    const entry = mirror.isFailed(planned.mirrored.file) ? await this.#revive(planned) : planned;
    if (!entry) return false;
    const { itemId } = entry;
    this.#versions.set(itemId, entry.mirrored);
    const document = { ...documentOf(run, entry, mirror), isAnew };
    const file = isAnew ? document : withStoredText(document, run, mirror);
    const knownFileId = isAnew ? undefined : await uploaded?.(file);
    const isLastTry =
      !request.retryFailed && readerTries(entry, this.#parts.extractor.revision) + 1 >= MAX_READER_TRIES;
    await this.#draft.put({ ...file, ...(knownFileId && { knownFileId }), isLastTry }, job.signal);
    this.#put.push(itemId);
    return true;
  }

  async #stage(): Promise<void> {
    const put = this.#put;
    this.#put = [];
    this.#failed = await this.#draft.stage(this.#step.job.signal, { allowEmpty: this.allowEmpty });
    const failed = new Set(this.#failed.map(({ itemId }) => itemId));
    for (const itemId of put) if (!failed.has(itemId)) this.#versions.delete(itemId);
  }

  /** Yields items with a file, with their entries as they are now: another step may have removed its file since this was planned. */
  async *#entriesOf(pages: Pages): AsyncGenerator<PlannedEntry> {
    const { ledger } = this.#step;
    await ledger.flush();
    for await (const page of pages) {
      const entries = await ledger.getMany(page.map(({ itemId }) => itemId));
      for (const [at, { anomaly }] of page.entries()) {
        const entry = entries[at];
        if (hasFile(entry)) yield { entry, isAnew: anomaly === "forced" };
      }
    }
  }

  /** Moves the file of an item that is tried again back from `03_failed/`. */
  async #revive({ itemId, seen, mirrored, indexed }: MirroredEntry): Promise<MirroredEntry | undefined> {
    const { ledger, mirror, job } = this.#step;
    const file = mirror.embeddedFile(mirror.relativePath(mirrored.file));
    try {
      await mirror.moveOut(itemId, mirrored.file);
      ledger.put(itemId, { mirrored: { ...mirrored, file } });
      await ledger.flush();
      await mirror.moveIn(itemId, file);
      return { itemId, seen, mirrored: { ...mirrored, file }, indexed };
    } catch (error) {
      stopWhenFull(error);
      job.log(`ERROR: '${mirrored.file}' cannot be tried again: ${explain(error)}`);
      this.#lost.push({ itemId, reason: explain(error), permanent: false });
      return undefined;
    }
  }

  async #stored(items: readonly ItemId[]): Promise<ReadonlyMap<ItemId, StoredDocument>> {
    return new Map((await this.#draft.stored(items)).map((document) => [document.itemId, document]));
  }

  /** Failures of documents that stay as they were, because their removal is held. The next crawl tries again to read them. */
  async #keptThoughUnreadable({ ledger, job }: EmbedStep): Promise<readonly FailedRef[]> {
    const final = this.#failed.filter(({ permanent }) => permanent);
    const items = final.map(({ itemId }) => itemId);
    const stored = await this.#stored(items);
    const names = new Map((await ledger.getMany(items)).map((entry) => [entry?.itemId, entry?.mirrored?.file]));
    const kept = final.filter(({ itemId }) => stored.has(itemId));
    for (const { itemId, reason } of kept) {
      job.log(
        `WARNING: '${names.get(itemId) ?? itemId}' cannot be indexed any more: ${reason} What readers have of it is held.`,
      );
    }
    return kept;
  }
}

interface MirroredEntry extends LedgerEntry {
  readonly mirrored: Mirrored;
}

interface PlannedEntry {
  readonly entry: MirroredEntry;
  readonly isAnew: boolean;
}

function hasFile(entry: LedgerEntry | undefined): entry is MirroredEntry {
  return Boolean(entry?.mirrored?.file);
}

function isOneOf(kinds: readonly string[], change: PlannedItem["change"]): boolean {
  return kinds.includes(change);
}

/** A document that timed out or crashed its reader is not tried again in this run. */
function mayPass({ permanent, byReader = false }: FailedRef): boolean {
  return !permanent && !byReader;
}

/** A document keeps its URL when the new one is unknown. */
function isStoredAs(stored: StoredDocument, { sha256, label }: DocumentFile): boolean {
  const isSameLabel = (["name", "path", "url", "fileType", "modifiedAt"] as const).every(
    (key) => stored.label[key] === label[key] || (key === "url" && label.url === ""),
  );
  return isSameLabel && (sha256 === "" || stored.sha256 === sha256);
}

/** Returns the backend's file id for the same bytes of this item. */
type Uploads = (file: Pick<DocumentFile, "itemId" | "sha256">) => Promise<FileId | undefined>;

/** Reads the uploads of the store that is being replaced: the same bytes need not be uploaded again. */
async function openUploads(run: SourceRun, store: VectorStoreId, { ledgers }: CommitParts): Promise<Uploads> {
  const ledger = await ledgers.open(run, { readOnly: true });
  return async ({ itemId, sha256 }) => {
    const indexed = (await ledger.get(itemId))?.indexed;
    const same = indexed?.vectorStoreId === store && sha256 !== "" && indexed.sha256 === sha256;
    return same && indexed.fileId ? indexed.fileId : undefined;
  };
}

/** Backends cap attribute values at this length. */
const MAX_ATTRIBUTE = 512;

/** The mirrored file of an entry, ready for a draft. */
export function documentOf(run: SourceRun, entry: LedgerEntry, mirror: Mirror): DocumentFile {
  const { mirrored } = entry;
  if (!mirrored?.file) throw new Error(`index ${entry.itemId}: nothing was downloaded`);
  return {
    itemId: entry.itemId,
    path: mirror.absolute(mirrored.file),
    sha256: mirrored.observed?.sha256 ?? "",
    bytes: mirrored.observed?.size ?? mirrored.fingerprint.size,
    label: labelOf(run, entry, mirror),
  };
}

/** Attributes that identify our documents in any backend, and what search results show. */
export function labelOf(run: SourceRun, entry: LedgerEntry, mirror: Mirror): Label {
  const { mirrored, seen } = entry;
  const name = mirrored?.name ?? "";
  // The type of the document: a page is called `Home.aspx`, and its document is HTML.
  const fileType = fileTypeOf(mirrored?.file ?? "");
  return {
    name,
    path: mirror.relativePath(mirrored?.file ?? ""),
    url: seen?.url ?? "",
    fileType,
    modifiedAt: mirrored?.fingerprint.modifiedAt ?? "",
    attributes: {
      domain_id: run.domainId,
      source_id: run.config.sourceId,
      item_id: entry.itemId.slice(0, MAX_ATTRIBUTE),
      content_hash: mirrored?.observed?.sha256 ?? "",
      file_type: fileType.slice(0, MAX_ATTRIBUTE),
      last_modified: mirrored?.fingerprint.modifiedAt ?? "",
    },
  };
}

type RecordStep = Pick<EmbedStep, "ledger" | "mirror" | "target" | "job">;

/** What the index has of an item, as a row. A new label leaves the times of the document as they are. */
function rowOf(entry: LedgerEntry, { target }: RecordStep, ref: IndexedRef, change?: PlannedItem["change"]): Indexed {
  const { uploadedAt, embeddedAt } = change === "moved" && entry.indexed?.fileId === ref.fileId ? entry.indexed : ref;
  return {
    ...copiedFrom(entry.mirrored),
    fileId: ref.fileId,
    vectorStoreId: target.store,
    uploadedAt,
    embeddedAt,
    embeddingError: "",
    sha256: entry.mirrored?.observed?.sha256 ?? ref.sha256,
  };
}

function copiedFrom(
  mirrored: Mirrored | null,
): Pick<
  Indexed,
  "file" | "listItemId" | "name" | "size" | "modifiedAt" | "downloadedAt" | "sourceError" | "processingError"
> {
  return {
    file: mirrored?.file ?? "",
    listItemId: mirrored?.listItemId ?? 0,
    name: mirrored?.name ?? "",
    size: mirrored?.fingerprint.size ?? 0,
    modifiedAt: mirrored?.fingerprint.modifiedAt ?? "",
    downloadedAt: mirrored?.downloadedAt ?? "",
    sourceError: mirrored?.sourceError ?? "",
    processingError: mirrored?.processingError ?? "",
  };
}

interface Failures {
  readonly failed: readonly FailedRef[];
  /** The failed items that were put, not removed or relabelled. */
  readonly put: ReadonlySet<ItemId>;
  /** The version that was put, by item. */
  readonly versions: ReadonlyMap<ItemId, Mirrored>;
}

/**
 * Records failures. A file that will fail again goes to `03_failed/`; one that may succeed next time keeps its old
 * version and its path. First all files move out, then the ledger is flushed, then all move in: after a crash, the
 * ledger says where the files on the way belong.
 */
export async function recordFailures(
  { failed, put, versions }: Failures,
  step: RecordStep,
  { extractor }: Pick<EngineParts, "extractor">,
): Promise<void> {
  const { ledger, target, job } = step;
  const reader = extractor.revision;
  const entries = new Map<ItemId, LedgerEntry>();
  for (const entry of await ledger.getMany(failed.flatMap(({ itemId }) => (put.has(itemId) ? [itemId] : [])))) {
    if (!entry?.mirrored) continue;
    // The failure does not apply to what a concurrent download put in its place.
    if (isDeepStrictEqual(versions.get(entry.itemId), entry.mirrored)) entries.set(entry.itemId, entry);
    else job.log(`'${entry.mirrored.file}' was replaced meanwhile; the next run judges what is there now.`);
  }
  const leaving: { itemId: ItemId; file: string }[] = [];
  for (const failure of failed) {
    const entry = entries.get(failure.itemId);
    const plain = withoutPath(failure.reason, entry?.mirrored?.file ?? "", step);
    const reason = failure.byReader && entry ? withTries(plain, entry, reader, readerTries(entry, reader) + 1) : plain;
    job.log(describeFailure({ ...failure, reason }, entry));
    if (!entry?.mirrored) continue;
    const { itemId } = entry;
    const mayBeBytes = isDoubtful(entry.mirrored, entry.indexed);
    if (await wasReplaced(entry.mirrored, step)) {
      job.log(`'${entry.mirrored.file}' was replaced meanwhile; the next run judges what is there now.`);
      continue;
    }
    const permanent = failure.permanent && target.isOwn && !mayBeBytes;
    const mirrored = permanent
      ? await moveOutFailed(itemId, entry.mirrored, step)
      : withDoubt(entry.mirrored, { ...failure, reason });
    if (mirrored.file !== entry.mirrored.file) leaving.push({ itemId, file: mirrored.file });
    const refused = { ...NOT_INDEXED, sha256: entry.mirrored.observed?.sha256 ?? "" };
    const kept = failure.permanent ? refused : versionOf(entry.indexed);
    ledger.put(itemId, {
      ...(target.isOwn ? { mirrored } : {}),
      indexed: { ...copiedFrom(mirrored), ...kept, embeddingError: withReader(reason, reader) },
    });
  }
  if (leaving.length > 0) await ledger.flush();
  for (const { itemId, file } of leaving) await moveInFailed(itemId, file, step);
}

/** Map files and reports leave this server: they must not show where its files are. */
function withoutPath(reason: string, file: string, { mirror }: RecordStep): string {
  if (!mirror.owns(file)) return reason;
  const path = mirror.absolute(file);
  // find() also finds a link whose target is missing.
  const isMissing = reason.includes(path) && (/\bENOENT\b/.test(reason) || !mirror.find(file));
  return isMissing ? `'${file}' is missing on disk` : reason.replaceAll(path, file);
}

/** An item without text is no error, but a warning if it had text before. */
function describeFailure({ itemId, reason }: FailedRef, entry: LedgerEntry | undefined): string {
  const name = entry?.mirrored?.serverPath ?? itemId;
  if (!isEmptyReason(reason)) return `ERROR: index '${name}': ${reason}`;
  const message = `'${name}' has nothing to index: ${reason}`;
  return entry?.indexed?.fileId ? `WARNING: ${message} It had text before, and was removed from the index.` : message;
}

/** A concurrent download may have replaced the bytes: the failure does not apply to the new ones. */
async function wasReplaced({ file, observed }: Mirrored, { mirror }: RecordStep): Promise<boolean> {
  if (!observed || !mirror.owns(file)) return false;
  const now = await stat(mirror.absolute(file)).catch(() => undefined);
  return (
    now !== undefined && (now.size !== observed.size || Math.abs(now.mtimeMs - observed.mtimeMs) > MTIME_TOLERANCE_MS)
  );
}

/**
 * Whether the download may be at fault: the file has another size than was listed. The next run fetches it again; if
 * the same bytes come a second time, they are the file. Output of the process step never has the listed size.
 */
function isDoubtful({ name, file, observed, fingerprint }: Mirrored, indexed: Indexed | null): boolean {
  const isProcessed = fileTypeOf(name) !== fileTypeOf(file);
  const cameBefore = indexed?.fileId === "" && indexed.embeddingError !== "" && indexed.sha256 === observed?.sha256;
  if (observed === null || isProcessed || cameBefore) return false;
  return fingerprint.size !== 0 && observed.size !== fingerprint.size;
}

function withDoubt(mirrored: Mirrored, failure: FailedRef): Mirrored {
  if (failure.isAltered) return { ...mirrored, sourceError: "altered on disk: other content" };
  return failure.permanent ? { ...mirrored, sourceError: `cannot be read as it came: ${failure.reason}` } : mirrored;
}

type IndexIds = Pick<Indexed, "fileId" | "vectorStoreId" | "uploadedAt" | "embeddedAt" | "sha256">;
const NOT_INDEXED: IndexIds = { fileId: "", vectorStoreId: "", uploadedAt: "", embeddedAt: "", sha256: "" };

/** The columns of the version that stays in the index; name and path follow the file. */
function versionOf(indexed: Indexed | null): IndexIds & Partial<Indexed> {
  if (!indexed?.fileId) return NOT_INDEXED;
  const { fileId, vectorStoreId, uploadedAt, embeddedAt, sha256, size, modifiedAt, downloadedAt } = indexed;
  return { fileId, vectorStoreId, uploadedAt, embeddedAt, sha256, size, modifiedAt, downloadedAt };
}

async function moveOutFailed(itemId: ItemId, mirrored: Mirrored, { mirror, job }: RecordStep): Promise<Mirrored> {
  try {
    await mirror.moveOut(itemId, mirrored.file);
    return { ...mirrored, file: mirror.failedFile(mirrored.file) };
  } catch (error) {
    job.log(`WARNING: cannot move '${mirrored.file}' to 03_failed: ${explain(error)}`);
    return mirrored;
  }
}

async function moveInFailed(itemId: ItemId, file: string, { mirror, job }: RecordStep): Promise<void> {
  try {
    await mirror.moveIn(itemId, file);
  } catch (error) {
    job.log(`WARNING: cannot move to '${file}': ${explain(error)}`);
    await mirror.dropWaiting(itemId);
  }
}
