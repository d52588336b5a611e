import { hash } from "node:crypto";
import { stat } from "node:fs/promises";
import { isEmptyReason } from "../contracts/document.ts";
import { CancelledError, explain } from "../contracts/errors.ts";
import type { FileId, ItemId, VectorStoreId } from "../contracts/ids.ts";
import type { Indexed, Ledger, LedgerEntry, Mirrored } from "../contracts/ledger.ts";
import type {
  CrawlDraft,
  DocumentFile,
  FailedRef,
  HeldDocument,
  IndexDraft,
  IndexedRef,
  Label,
  SourceDraft,
} from "../contracts/search-index.ts";
import type { SourceRun } from "../contracts/source-kind.ts";
import { forEachConcurrent } from "../lib/concurrency.ts";
import { fileTypeOf } from "../lib/file-type.ts";
import { slicesOf } from "../lib/slices-of.ts";
import { plural } from "../lib/text.ts";
import type { Mirror } from "../mirror/mirror.ts";
import { MTIME_TOLERANCE_MS } from "../plan/judge.ts";
import { stopWhenFull } from "./disk-full.ts";
import type { EngineParts } from "./engine-parts.ts";
import { withStoredText } from "./extract-texts.ts";
import { type IndexPlan, isEmptyPlan } from "./plan-index.ts";
import { MAX_READER_TRIES, readerTries, withReader, withTries } from "./reader-tries.ts";
import type { EmbedStep } from "./run-context.ts";
import { Progress } from "./tally.ts";

/** The embedded index works on this machine; a remote one mostly waits for the network. */
const PUTS_AT_ONCE = { atomic: 4, gradual: 16 } as const;
const PAGE = 500;
/** As in a listing: one or two files without text are plausible, more are not. */
const SUSPICIOUSLY_MANY = 3;

/*
 * Two ways into the index:
 *
 *     the crawl has a draft   stagePlan ▶ (all sources) ▶ CrawlDraft.commit by crawl() ▶ StagedPlan.record
 *     each source by itself   commitPlan: commitDraft ▶ recordCommit
 *
 * Either way the ledger gets the facet `indexed` after the commit. In between, a killed run leaves documents without a row, which the
 * next one adopts.
 */

type CommitParts = Pick<EngineParts, "ledgers" | "extractor">;

/** What became of the documents of a plan. */
interface PlanOutcome {
  readonly failed: readonly FailedRef[];
  /** Those of them whose bytes may be wrong. */
  readonly doubtful: ReadonlySet<ItemId>;
}

/** Commits the plan and records it. Documents that failed and may succeed are tried again at the end of the run. */
export async function commitPlan(plan: IndexPlan, step: EmbedStep, parts: CommitParts): Promise<PlanOutcome> {
  const doubtful = new Set<ItemId>();
  if (isEmptyPlan(plan)) return { failed: [], doubtful };
  const final = await reviveFailed(plan, step);
  const lost = new Set(final.map(({ itemId }) => itemId));
  let failed = await commitOnce(
    onlyFor(plan, (itemId) => !lost.has(itemId)),
    step,
    doubtful,
    parts,
  );
  for (let batch = 2; batch <= step.request.retryBatches; batch++) {
    final.push(...failed.filter((failure) => !mayPass(failure)));
    const again = new Set(failed.filter(mayPass).map(({ itemId }) => itemId));
    failed = [];
    if (again.size === 0) break;
    step.job.log(`Trying ${plural(again.size, "failed document")} once more.`);
    failed = await commitOnce(
      onlyFor(plan, (itemId) => again.has(itemId)),
      step,
      doubtful,
      parts,
    );
  }
  return { failed: [...final, ...failed], doubtful };
}

/** A document that timed out or crashed its reader is not tried again in this run. */
function mayPass({ permanent, byReader = false }: FailedRef): boolean {
  return !permanent && !byReader;
}

/** A plan that is written into the draft of a crawl, and becomes visible with it. */
export interface StagedPlan extends PlanOutcome {
  /** The domain may become empty by it. */
  readonly allowEmpty: boolean;
  /**
   * After the commit: records what the index has now, whatever others did meanwhile. `isHeld`: additions and changes were not committed.
   */
  record(step: EmbedStep, options: { readonly isHeld: boolean }): Promise<Recorded>;
  /** Takes it out of the draft. */
  discard(): Promise<void>;
}

/** Writes the plan into the draft of the crawl. Readers see nothing of it before that is committed. */
export async function stagePlan(
  plan: IndexPlan,
  together: CrawlDraft,
  step: EmbedStep,
  parts: CommitParts,
): Promise<StagedPlan | undefined> {
  const { run, request, ledger, job } = step;
  if (isEmptyPlan(plan)) return undefined;
  const lost = await reviveFailed(plan, step);
  const isLost = new Set(lost.map(({ itemId }) => itemId));
  const staged = onlyFor(plan, (itemId) => !isLost.has(itemId));
  const draft = await together.source(run.config.sourceId);
  const versions: PutVersions = new Map();
  try {
    await fillDraft(staged, draft, step, versions, parts);
    let failed = await draft.stage(job.signal);
    for (let batch = 2; batch <= request.retryBatches; batch++) {
      const again = new Set(failed.filter(mayPass).map(({ itemId }) => itemId));
      if (again.size === 0) break;
      job.log(`Trying ${plural(again.size, "failed document")} once more.`);
      const some = onlyFor(staged, (itemId) => again.has(itemId));
      await fillDraft(some, draft, step, versions, parts);
      failed = await draft.stage(job.signal);
    }
    const doubtful = new Set<ItemId>();
    for (const entry of await ledger.getMany(failed.map(({ itemId }) => itemId))) {
      if (entry?.mirrored && isDoubtful(entry.mirrored, entry.indexed)) doubtful.add(entry.itemId);
    }
    // Only of failures: what was committed is read from the index. A crawl may put more documents than fit into memory.
    const putVersions = new Map(failed.map(({ itemId }) => [itemId, versions.get(itemId) ?? ""]));
    return {
      failed: [...lost, ...failed],
      doubtful,
      allowEmpty: request.confirmDeletes || mayEmpty(plan),
      record: (after, { isHeld }) => recordStaged({ plan: staged, draft, failed, putVersions, isHeld }, after, parts),
      discard: () => draft.discard(),
    };
  } catch (error) {
    // What was stored so far is reused by the next crawl, which sweeps the draft.
    if (job.signal.aborted) throw new CancelledError("embedding stopped", { cause: error });
    await draft.discard();
    throw error;
  }
}

export interface Recorded {
  /** The index has all of it. */
  readonly isWhole: boolean;
  /** What is held, as it was planned; "removed": a document that lost its text. */
  readonly held: readonly ("added" | "changed" | "moved" | "removed")[];
}

interface StagedOutcome extends Pick<CommitOutcome, "plan" | "failed" | "putVersions"> {
  readonly draft: SourceDraft;
  readonly isHeld: boolean;
}

async function recordStaged(outcome: StagedOutcome, step: EmbedStep, parts: RecordParts): Promise<Recorded> {
  const { plan, draft, isHeld } = outcome;
  const { run, ledger, mirror, job } = step;
  const kept = isHeld ? await keptThoughUnreadable(outcome, step) : [];
  const failed = outcome.failed.filter((failure) => !kept.includes(failure));
  const waiting: Recorded["held"][number][] = kept.flatMap(({ itemId, reason }) =>
    isEmptyReason(reason) && plan.put.get(itemId) === "changed" ? ["removed"] : [],
  );
  const failedItems = new Set(outcome.failed.map(({ itemId }) => itemId));
  const isMeant = (itemId: ItemId): boolean => !failedItems.has(itemId);
  const relabelled = new Set(plan.relabel);
  let isWhole = true;
  const heldBy = async (items: readonly ItemId[]): Promise<ReadonlyMap<ItemId, HeldDocument>> => {
    return new Map((await draft.held(items)).map((held) => [held.itemId, held]));
  };
  for (const items of slicesOf(
    [...plan.put.keys(), ...plan.adopt.keys(), ...plan.relabel].filter(isMeant),
    ROWS_PER_FLUSH,
  )) {
    const held = await heldBy(items);
    for (const entry of await ledger.getMany(items)) {
      if (!entry?.mirrored) continue;
      const document = held.get(entry.itemId);
      const isSame = document && isHeldAs(document, documentOf(run, entry, mirror));
      if (isSame) ledger.putEmbedded(entry, rowOf(entry, step, document));
      else {
        isWhole = false;
        const kind = plan.put.get(entry.itemId) ?? (relabelled.has(entry.itemId) ? "moved" : undefined);
        if (isHeld && kind) waiting.push(kind);
        if (!isHeld) job.log(`'${entry.mirrored.file}' was replaced meanwhile; the next run judges what is there now.`);
      }
    }
    await ledger.flush();
  }
  for (const items of slicesOf(plan.remove.filter(isMeant), ROWS_PER_FLUSH)) {
    const held = await heldBy(items);
    for (const itemId of items) {
      if (held.has(itemId)) isWhole = false;
      else ledger.put(itemId, { indexed: null });
    }
  }
  await recordFailures({ ...outcome, failed, doubtful: new Set() }, step, parts);
  await ledger.flush();
  return { isWhole, held: waiting };
}

/** Failures of documents that stay as they were, because their removal is held. The next crawl tries again to read them. */
async function keptThoughUnreadable(
  { draft, failed }: StagedOutcome,
  { ledger, job }: EmbedStep,
): Promise<readonly FailedRef[]> {
  const final = failed.filter(({ permanent }) => permanent);
  const kept: FailedRef[] = [];
  for (const items of slicesOf(
    final.map(({ itemId }) => itemId),
    ROWS_PER_FLUSH,
  )) {
    const held = new Set((await draft.held(items)).map(({ itemId }) => itemId));
    const names = new Map((await ledger.getMany(items)).map((entry) => [entry?.itemId, entry?.mirrored?.file]));
    for (const failure of final.filter(({ itemId }) => held.has(itemId))) {
      job.log(
        `WARNING: '${names.get(failure.itemId) ?? failure.itemId}' cannot be indexed any more: ${failure.reason} What readers have of it is held.`,
      );
      kept.push(failure);
    }
  }
  return kept;
}

function isHeldAs(held: HeldDocument, { sha256, label }: DocumentFile): boolean {
  const isSameLabel = (["name", "path", "url", "fileType", "modifiedAt"] as const).every(
    (key) => held.label[key] === label[key],
  );
  return isSameLabel && (sha256 === "" || held.sha256 === sha256);
}

function onlyFor(plan: IndexPlan, isMeant: (itemId: ItemId) => boolean): IndexPlan {
  return {
    put: new Map([...plan.put].filter(([itemId]) => isMeant(itemId))),
    anew: plan.anew,
    revive: [],
    relabel: plan.relabel.filter(isMeant),
    adopt: new Map([...plan.adopt].filter(([itemId]) => isMeant(itemId))),
    remove: plan.remove.filter(isMeant),
  };
}

/** Moves failed files that are tried again back from `03_failed/`; returns those that cannot be moved. */
async function reviveFailed({ revive }: IndexPlan, { ledger, mirror, job }: EmbedStep): Promise<FailedRef[]> {
  const lost: FailedRef[] = [];
  for (const itemId of revive) {
    const mirrored = (await ledger.get(itemId))?.mirrored;
    if (!mirrored) continue;
    const file = mirror.embeddedFile(mirror.relativePath(mirrored.file));
    try {
      await mirror.moveOut(itemId, mirrored.file);
      ledger.put(itemId, { mirrored: { ...mirrored, file } });
      await ledger.flush();
      await mirror.moveIn(itemId, file);
    } catch (error) {
      stopWhenFull(error);
      job.log(`ERROR: '${mirrored.file}' cannot be tried again: ${explain(error)}`);
      lost.push({ itemId, reason: explain(error), permanent: false });
    }
  }
  return lost;
}

async function commitOnce(
  plan: IndexPlan,
  step: EmbedStep,
  doubtful: Set<ItemId>,
  parts: CommitParts,
): Promise<readonly FailedRef[]> {
  const putVersions: PutVersions = new Map();
  const committed = await commitDraft(plan, step, putVersions, parts);
  await recordCommit({ plan, putVersions, doubtful, ...committed }, step, parts);
  return committed.failed;
}

/**
 * Fills a draft and commits it. Searches see nothing before the commit; a draft that is not committed changes nothing
 * for them.
 */
async function commitDraft(
  plan: IndexPlan,
  step: EmbedStep,
  putVersions: PutVersions,
  parts: CommitParts,
): ReturnType<IndexDraft["commit"]> {
  const { run, target, request, job } = step;
  const draft = await target.index.draft(run.config.sourceId, target.crawl);
  try {
    await fillDraft(plan, draft, step, putVersions, parts);
    return await draft.commit(job.signal, { allowEmpty: request.confirmDeletes || mayEmpty(plan) });
  } catch (error) {
    await draft.discard();
    if (job.signal.aborted) throw new CancelledError("embedding stopped", { cause: error });
    throw error;
  }
}

/** Removals have passed the guard. If several files were put and the index is empty, none of them could be read. */
function mayEmpty({ put }: IndexPlan): boolean {
  return put.size < SUSPICIOUSLY_MANY;
}

async function fillDraft(
  plan: IndexPlan,
  draft: Pick<IndexDraft, "put" | "relabel" | "remove">,
  { run, request, target, ledger, mirror, job }: EmbedStep,
  putVersions: PutVersions,
  parts: CommitParts,
): Promise<void> {
  const uploaded = target.swap && (await openUploads(run, target.swap.before, parts));
  for (const itemId of plan.remove) {
    await job.checkpoint();
    await draft.remove(itemId, { mayReturn: !run.config.kind.abilities.hasIds });
  }
  for await (const entry of entriesOf([...plan.relabel, ...plan.adopt.keys()], ledger)) {
    await job.checkpoint();
    // Another step has removed its file since this was planned.
    if (!entry.mirrored?.file) continue;
    putVersions.set(entry.itemId, versionMark(entry.mirrored));
    await draft.relabel(entry.itemId, labelOf(run, entry, mirror));
  }
  const progress = new Progress(job, plan.put.size);
  const entries = entriesOf([...plan.put.keys()], ledger);
  await forEachConcurrent(entries, PUTS_AT_ONCE[target.index.commits], async (entry) => {
    await job.checkpoint();
    if (!entry.mirrored?.file) return;
    putVersions.set(entry.itemId, versionMark(entry.mirrored));
    const isAnew = plan.anew.has(entry.itemId);
    const document = { ...documentOf(run, entry, mirror), isAnew };
    const file = isAnew ? document : withStoredText(document, run, mirror);
    const knownFileId = isAnew ? undefined : await uploaded?.(file);
    const isLastTry = !request.retryFailed && readerTries(entry, parts.extractor.revision) + 1 >= MAX_READER_TRIES;
    await draft.put({ ...file, ...(knownFileId && { knownFileId }), isLastTry }, job.signal);
    progress.step(`Indexing '${mirror.relativePath(entry.mirrored?.file ?? "")}'.`);
  });
}

async function* entriesOf(items: readonly ItemId[], ledger: Ledger): AsyncGenerator<LedgerEntry> {
  await ledger.flush();
  for (const slice of slicesOf(items, PAGE)) {
    for (const entry of await ledger.getMany(slice)) if (entry) yield entry;
  }
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

const ROWS_PER_FLUSH = 1000;

type RecordStep = Pick<EmbedStep, "ledger" | "mirror" | "target" | "job">;
type RecordParts = Pick<EngineParts, "extractor">;

/** By item, the version that was put: see versionMark. */
type PutVersions = Map<ItemId, string>;

interface CommitOutcome {
  readonly plan: IndexPlan;
  readonly putVersions: PutVersions;
  /** Collects the failed items whose bytes may be wrong. */
  readonly doubtful: Set<ItemId>;
  readonly ready: readonly IndexedRef[];
  readonly failed: readonly FailedRef[];
}

/**
 * Records in the ledger what the index now holds. If the run is killed before, the next one finds documents without a
 * row, adopts them, and calls this again.
 */
export async function recordCommit(outcome: CommitOutcome, step: RecordStep, parts: RecordParts): Promise<void> {
  const { plan, failed } = outcome;
  const { ledger } = step;
  const failedItems = new Set(failed.map(({ itemId }) => itemId));
  for (const slice of slicesOf(outcome.ready, ROWS_PER_FLUSH)) {
    const refs = slice.filter(({ itemId }) => plan.put.has(itemId));
    const entries = await entriesAsPut(
      refs.map(({ itemId }) => itemId),
      outcome,
      step,
    );
    for (const ref of refs) {
      const entry = entries.get(ref.itemId);
      if (entry) ledger.putEmbedded(entry, rowOf(entry, step, ref));
    }
    // Flush in between: a first crawl writes a row for every item.
    await ledger.flush();
  }
  const labelled = [...plan.adopt.keys(), ...plan.relabel].filter((itemId) => !failedItems.has(itemId));
  for (const slice of slicesOf(labelled, ROWS_PER_FLUSH)) {
    const entries = await entriesAsPut(slice, outcome, step);
    for (const [itemId, entry] of entries) {
      const held = plan.adopt.get(itemId);
      if (held) ledger.putEmbedded(entry, rowOf(entry, step, held));
      else if (entry.indexed) ledger.putEmbedded(entry, { ...entry.indexed, ...copiedFrom(entry.mirrored) });
    }
    await ledger.flush();
  }
  for (const itemId of plan.remove) {
    // A document that could not be removed keeps its row, so the next run tries again.
    if (!failedItems.has(itemId)) ledger.put(itemId, { indexed: null });
  }
  await recordFailures(outcome, step, parts);
  await ledger.flush();
}

/** Returns a hash that changes with the file, its name or its path. */
export function versionMark(mirrored: Mirrored): string {
  return hash("sha256", JSON.stringify(mirrored), "base64");
}

/**
 * Returns the entries that are still as they were put. Entries that a concurrent download changed are left out: the
 * index does not have what the ledger now says.
 */
async function entriesAsPut(
  items: readonly ItemId[],
  { putVersions }: Pick<CommitOutcome, "putVersions">,
  { ledger, job }: RecordStep,
): Promise<ReadonlyMap<ItemId, LedgerEntry>> {
  const found = new Map<ItemId, LedgerEntry>();
  for (const entry of await ledger.getMany(items)) {
    if (!entry?.mirrored) continue;
    if (putVersions.get(entry.itemId) === versionMark(entry.mirrored)) found.set(entry.itemId, entry);
    else job.log(`'${entry.mirrored.file}' was replaced meanwhile; the next run judges what is there now.`);
  }
  return found;
}

function rowOf(entry: LedgerEntry, { target }: RecordStep, ref: IndexedRef): Indexed {
  return {
    ...copiedFrom(entry.mirrored),
    fileId: ref.fileId,
    vectorStoreId: target.store,
    uploadedAt: ref.uploadedAt,
    embeddedAt: ref.embeddedAt,
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

/**
 * Records failures. A file that will fail again goes to `03_failed/`; one that may succeed next time keeps its old
 * version and its path. First all files move out, then the ledger is flushed, then all move in: after a crash, the
 * ledger says where the files on the way belong.
 */
async function recordFailures(
  outcome: Omit<CommitOutcome, "ready">,
  step: RecordStep,
  { extractor }: RecordParts,
): Promise<void> {
  const { plan, failed, doubtful } = outcome;
  const { ledger, target, job } = step;
  const reader = extractor.revision;
  const put = failed.flatMap(({ itemId }) => (plan.put.has(itemId) ? [itemId] : []));
  const entries = await entriesAsPut(put, outcome, step);
  const leaving: { itemId: ItemId; file: string }[] = [];
  for (const failure of failed) {
    const entry = entries.get(failure.itemId);
    const plain = withoutPath(failure.reason, entry?.mirrored?.file ?? "", step);
    const reason = failure.byReader && entry ? withTries(plain, entry, reader, readerTries(entry, reader) + 1) : plain;
    job.log(describeFailure({ ...failure, reason }, entry));
    if (!entry?.mirrored) continue;
    const { itemId } = entry;
    const mayBeBytes = isDoubtful(entry.mirrored, entry.indexed);
    if (mayBeBytes) doubtful.add(itemId);
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
  // A link that leads nowhere is found all the same.
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
