import { stat } from "node:fs/promises";
import { isEmptyReason } from "../contracts/document.ts";
import { explain } from "../contracts/errors.ts";
import type { ItemId } from "../contracts/ids.ts";
import type { Indexed, ItemLabel, Ledger, LedgerEntry, Mirrored, Seen } from "../contracts/ledger.ts";
import type { PlannedItem, PlannedWords } from "../contracts/plan.ts";
import type { IndexedRef } from "../contracts/search-index.ts";
import { isErrno } from "../lib/atomic-file.ts";
import { fileTypeOf, withFileType } from "../lib/file-type.ts";
import { hashFile } from "../lib/hash.ts";
import { slicesOf } from "../lib/slices-of.ts";
import { plural } from "../lib/text.ts";
import { TimeSlice } from "../lib/time-slice.ts";
import { FAILED_FOLDER, ORIGINALS_FOLDER } from "../mirror/layout.ts";
import { type IndexChange, type IndexState, judgeDocument } from "../plan/judge.ts";
import { estimateFileTokens } from "../plan/plan-costs.ts";
import { garbage, leave } from "../plan/removals.ts";
import type { StepCounts } from "./crawl-request.ts";
import { logPlanned } from "./dry-run.ts";
import type { EngineParts } from "./engine-parts.ts";
import { findForced } from "./ingest/registered-addresses.ts";
import { isTouched, TAKEN_OUT, TOUCHED } from "./planned-changes.ts";
import { isOtherReader } from "./reader-tries.ts";
import type { EmbedStep } from "./run-context.ts";
import { HOW_TO_CONFIRM, noCounts } from "./tally.ts";

type IndexParts = Pick<EngineParts, "acceptedTypes" | "maxFileBytes" | "extractor" | "itemRepository">;

export interface Planned {
  readonly counts: StepCounts;
  readonly problems: readonly string[];
  /** When the plan is done, the index is up to this ledger revision by these rules; undefined: that is not certain. */
  readonly upTo?: { readonly rules: string; readonly revision: number };
}

/** Raise it when documents are judged by other rules: the first run after the upgrade then judges everything. */
const RULES = 4;

/** Judges the documents of a source, by ledger, mirror and vector store, and puts what is to be done into the plan of the run. */
export async function planIndex(step: EmbedStep, parts: IndexParts): Promise<Planned> {
  const { target, listing, ledger } = step;
  const rules = `${RULES} ${target.store} ${parts.extractor.revision}`;
  const { revision } = ledger;
  const changed = mayJudgeOnlyChanges(step) ? await findChanged(ledger.indexedUpTo(rules), step) : undefined;
  const { omitted, ...planned } = await judgeItems(changed ?? (await readAllHoldings(step)), step, parts);
  const isAll = listing?.sawAll && target.isOwn && planned.counts.held + planned.problems.length + omitted === 0;
  return isAll ? { ...planned, upTo: { rules, revision } } : planned;
}

/** What to judge: everything, or the items that may need a change. */
interface ItemsToJudge {
  /** What the vector store has of these items. */
  readonly stored: Map<ItemId, IndexedRef>;
  readonly items: readonly ItemId[] | "all";
  /** How many documents of the source the index has, and how many unchanged files were left out. */
  readonly holdings: number;
  readonly unchanged: number;
}

/** false without a listing in this run: then it is not known whether the files are there. */
function mayJudgeOnlyChanges({ request, listing, target }: EmbedStep): boolean {
  return listing !== undefined && target.isOwn && request.mode !== "full" && !request.retryFailed;
}

async function readAllHoldings({ run, target }: EmbedStep): Promise<ItemsToJudge> {
  const stored = new Map<ItemId, IndexedRef>();
  for await (const refs of target.index.holdings(run.config.sourceId))
    for (const ref of refs) stored.set(ref.itemId, ref);
  return { stored, items: "all", holdings: stored.size, unchanged: 0 };
}

/**
 * Returns what changed since the index was complete, what failed or waits (counted anew), and what the index holds
 * differently than the ledger says. undefined: everything must be judged.
 */
async function findChanged(
  since: number,
  { run, request, listing, target, ledger, mirror }: EmbedStep,
): Promise<ItemsToJudge | undefined> {
  if (since === 0) return undefined;
  const items = new Set(await ledger.changedSince(since, [ORIGINALS_FOLDER, FAILED_FOLDER]));
  for await (const page of listing?.plan.items("download", TOUCHED) ?? [])
    for (const { itemId } of page) items.add(itemId);
  const { sourceId } = run.config;
  const { shown } = target.index;
  // Watch mode named folders. After its next scan of everything, everything is compared with the store.
  if (shown && request.onlyFolders?.has(sourceId)) {
    const refs = await shown.newest(sourceId, [...items]);
    const { files, indexed } = await ledger.count();
    const unchanged = files - (await countFilesOf(items, ledger));
    return { stored: new Map(refs.map((ref) => [ref.itemId, ref])), items: [...items], holdings: indexed, unchanged };
  }
  const stored = new Map<ItemId, IndexedRef>();
  let [holdings, known] = [0, 0];
  for await (const refs of target.index.holdings(sourceId)) {
    const labels = await ledger.labels(refs.map(({ itemId }) => itemId));
    holdings += refs.length;
    for (const [at, ref] of refs.entries()) {
      const label = labels[at];
      if (label?.fileId) known += 1;
      if (!label || !isIndexedAs(ref, label, { target, mirror })) items.add(ref.itemId);
      if (items.has(ref.itemId)) stored.set(ref.itemId, ref);
    }
  }
  const { files, indexed } = await ledger.count();
  // Documents are missing in the index; only judging everything shows which.
  if (known !== indexed) return undefined;
  return { stored, items: [...items], holdings, unchanged: files - (await countFilesOf(items, ledger)) };
}

async function countFilesOf(items: Iterable<ItemId>, ledger: Ledger): Promise<number> {
  let count = 0;
  for await (const page of entriesOf([...items], ledger))
    for (const entry of page) if (entry.mirrored?.file) count += 1;
  return count;
}

function isIndexedAs(
  ref: IndexedRef,
  label: ItemLabel,
  { mirror, target }: Pick<EmbedStep, "mirror" | "target">,
): boolean {
  return (
    ref.fileId === label.fileId &&
    label.vectorStoreId === target.store &&
    label.embeddingError === "" &&
    (ref.sha256 === "" || label.sha256 === "" || ref.sha256 === label.sha256) &&
    (ref.path === undefined || ref.path === mirror.relativePath(label.file)) &&
    (ref.url === undefined || label.url === "" || ref.url === label.url)
  );
}

async function judgeItems(
  { stored, items, holdings, unchanged }: ItemsToJudge,
  step: EmbedStep,
  parts: IndexParts,
): Promise<Pick<Planned, "counts" | "problems"> & { readonly omitted: number }> {
  const { listing, ledger, mirror, plan, job } = step;
  const counts = { ...noCounts(), unchanged };
  const timeSlice = new TimeSlice();
  // `omitted`: how many items are not in the plan because their file is missing or they are not approved.
  let [known, files, waiting, failed, omitted] = [0, 0, 0, 0, 0];
  for await (const page of items === "all" ? ledger.entries() : entriesOf(items, ledger)) {
    await job.checkpoint();
    const judged = await judgePage(page, stored, step, parts);
    const unapproved = await findUnapproved(judged, step);
    for (const one of judged) {
      const { entry, change, isMissing } = one;
      const file = entry.mirrored?.file ?? "";
      if (entry.indexed?.fileId) known += 1;
      if (file !== "") files += 1;
      if (mirror.isOriginal(file)) waiting += 1;
      if (timeSlice.isOver()) await timeSlice.next();
      if (unapproved.has(entry.itemId)) {
        omitted += 1;
        counts.skipped += 1;
        stored.delete(entry.itemId);
        continue;
      }
      if (isMissing) omitted += 1;
      addToPlan(one, step);
      const isFailedFile = !isMissing && change.kind === "none" && mirror.isFailed(file);
      const isEmptyFile = isFailedFile && isEmptyReason(entry.indexed?.embeddingError ?? "");
      if (isEmptyFile) counts.empty += 1;
      else if (isMissing || isFailedFile) counts.skipped += 1;
      else if (change.kind === "none" && file !== "") counts.unchanged += 1;
      if (isFailedFile && !isEmptyFile) failed += 1;
      if (change.kind !== "none" || !wasRemovedAsUnwanted(entry, step, parts)) stored.delete(entry.itemId);
    }
  }
  if (failed > 0)
    job.log(
      `${plural(failed, "file waits", "files wait")} in 03_failed for a change; the list of what failed says why.`,
    );
  if (waiting > 0) {
    counts.skipped += waiting;
    job.log(
      `WARNING: ${plural(waiting, "item waits", "items wait")} for the process step; until then the index keeps what it has.`,
    );
  }
  // Documents without an item may belong to another source with the same id.
  const isCertain = (listing ? listing.sawAll : knowsAll(step)) && !step.run.sharesId;
  if (!isCertain) stored.clear();
  for (const itemId of await findUnapprovedLeftovers([...stored.values()], step)) {
    omitted += 1;
    counts.skipped += 1;
    stored.delete(itemId);
  }
  if (!listing) await step.approval?.noteDoneDocuments(job);
  const problems = await decideRemovals({ known, files, leftovers: [...stored.values()], holdings, isCertain }, step);
  const { added = 0, changed = 0, moved = 0, removed = 0, held: stay = 0, adopted = 0 } = await plan.count("embed");
  const planned = { ...counts, added, changed, moved, removed, held: stay, unchanged: counts.unchanged + adopted };
  return { counts: planned, problems, omitted };
}

/**
 * For another store than the domain's: whether the ledger has every item that the last download knew. Runs with such a store
 * do not list, so only the ledger can tell which of its documents are leftovers.
 */
function knowsAll({ target, ledger }: EmbedStep): boolean {
  return !target.isOwn && (ledger.listing?.policy ?? "") !== "";
}

interface JudgedEntry {
  readonly entry: LedgerEntry;
  readonly change: IndexChange;
  /** What this run did to its file. */
  readonly download: PlannedItem | undefined;
  /** Its file is needed and missing. */
  readonly isMissing: boolean;
}

async function judgePage(
  page: readonly LedgerEntry[],
  stored: ReadonlyMap<ItemId, IndexedRef>,
  step: EmbedStep,
  parts: IndexParts,
): Promise<JudgedEntry[]> {
  const downloads = await step.listing?.plan.find(
    "download",
    page.map(({ itemId }) => itemId),
  );
  const forced = step.target.isOwn ? await findForced(step.run, page, parts) : new Set<ItemId>();
  const judged: JudgedEntry[] = [];
  for (const known of page) {
    const entry = lacksHash(known, step) ? await withHash(known, step) : known;
    const download = downloads?.get(entry.itemId);
    const isForced = step.request.force || forced.has(entry.itemId);
    const change = judgeEntry(entry, { stored: stored.get(entry.itemId), isForced }, download, step, parts);
    const file = entry.mirrored?.file ?? "";
    const isMissing = lacksFile(file, change, step);
    if (isMissing)
      step.job.log(`WARNING: '${file}' is missing on disk, so it is skipped until a download brings it back.`);
    judged.push({ entry, change: isMissing ? { kind: "none" } : change, download, isMissing });
  }
  return judged;
}

async function findUnapproved(judged: readonly JudgedEntry[], step: EmbedStep): Promise<ReadonlySet<ItemId>> {
  if (!step.approval) return new Set();
  const intents = judged.flatMap(({ entry, change, download }) => {
    const { change: intent, told } = describe(entry, change, download, step) ?? {};
    return intent && told ? [{ itemId: entry.itemId, change: intent, ...told, entry }] : [];
  });
  return await step.approval.leaveOut("embed", intents, step.job);
}

export async function findUnapprovedLeftovers(
  refs: readonly IndexedRef[],
  { approval, job }: Pick<EmbedStep, "approval" | "job">,
): Promise<ReadonlySet<ItemId>> {
  if (!approval) return new Set();
  const intents = refs.map((ref) => {
    return { itemId: ref.itemId, change: "removed", reason: LEFTOVER, ...placeInStore(ref) } as const;
  });
  return await approval.leaveOut("embed", intents, job);
}

/** Adds the change of the document to the plan, or why a failed one is skipped. */
function addToPlan({ entry, change, download }: JudgedEntry, step: EmbedStep): void {
  const { job, mirror, plan } = step;
  const { itemId, mirrored } = entry;
  const add = (kind: PlannedItem["change"], told?: PlannedWords, more: Partial<PlannedItem> = {}): void => {
    plan.add({ step: "embed", itemId, change: kind, reason: told?.reason ?? "", told, ...more });
  };
  const planned = describe(entry, change, download, step);
  const forced = change.kind === "put" && change.isAnew ? ({ anomaly: "forced" } as const) : {};
  if (planned) add(planned.change, planned.told, change.kind === "put" ? { ...sizeOf(mirrored), ...forced } : {});
  else if (change.kind === "adopt") add("adopted");
  else if (change.kind === "none" && mirror.isFailed(mirrored?.file ?? "")) {
    add("skipped", { ...placeOf(entry, download, step), reason: whyFailed(entry) });
  }
  if (change.kind !== "none")
    logPlanned(job, `  INDEX ${change.kind.toUpperCase()} '${mirrored?.serverPath ?? itemId}'`);
}

const PAGE = 1000;

async function* entriesOf(items: readonly ItemId[], ledger: Ledger): AsyncGenerator<readonly LedgerEntry[]> {
  for (const slice of slicesOf(items, PAGE)) {
    const entries = await ledger.getMany(slice);
    yield entries.filter((entry) => entry !== undefined);
  }
}

/** `download`: what this run did to its file. */
function judgeEntry(
  entry: LedgerEntry,
  { stored, isForced }: Pick<IndexState, "stored" | "isForced">,
  download: PlannedItem | undefined,
  step: EmbedStep,
  parts: IndexParts,
): IndexChange {
  const { request, target, mirror } = step;
  const file = entry.mirrored?.file ?? "";
  return judgeDocument(entry, {
    store: target.store,
    mode: request.mode,
    isForced,
    stored,
    failed: isNotRetried(entry, step, parts),
    waiting: mirror.isOriginal(file),
    path: file ? mirror.relativePath(file) : "",
    url: entry.seen?.url ?? "",
    mayRemove: mayRemove(entry, download, step, parts),
    hasMoved: download?.change === "moved",
  });
}

/**
 * Whether a failed item is not tried again. It is tried again when it changes, on request, when the reason of the failure is
 * no longer recorded, when it would now be sent under another name, or when another reader gave it up or found no text
 * in it. What could not be processed has no document.
 */
function isNotRetried(
  { mirrored, indexed }: LedgerEntry,
  { target, request, mirror }: EmbedStep,
  { extractor }: IndexParts,
): boolean {
  const isOld =
    !indexed?.embeddingError || failedUnderOldName(mirrored, indexed) || isOtherReader({ indexed }, extractor.revision);
  const tryAgain = target.isOwn && (request.retryFailed || isOld);
  return mirror.isFailed(mirrored?.file ?? "") && !(tryAgain && mirrored?.processingError === "");
}

/**
 * Earlier releases sent pages as `Home.aspx`, which services refuse by extension. Their error messages begin with the
 * name.
 */
function failedUnderOldName(mirrored: Mirrored | null, { embeddingError }: Indexed): boolean {
  const { name = "", file = "" } = mirrored ?? {};
  const isOldName = withFileType(name, fileTypeOf(file)) !== name;
  return isOldName && ["upload", "embed"].some((verb) => embeddingError.startsWith(`${verb} '${name}': `));
}

/**
 * A run that listed the source knows what it removed, and every other item it saw has a row. Without a listing, the
 * ledger of the last one decides: an item that is not seen is gone; one of an unwanted type or size, or withheld, is unwanted. A
 * row that is only missing from a map file is neither.
 */
function mayRemove(
  { seen }: LedgerEntry,
  download: PlannedItem | undefined,
  step: EmbedStep,
  parts: IndexParts,
): boolean {
  const { listing } = step;
  if (listing) return download?.change === "removed" || (listing.sawAll && !seen);
  return !seen || isUnwanted(seen, step, parts);
}

/** With a converter, documents have another type than the names of their items. */
function isUnwanted(
  { name, size, withheld = false }: Seen,
  { converter }: EmbedStep,
  { acceptedTypes, maxFileBytes }: IndexParts,
): boolean {
  const isRefused = !acceptedTypes.has(fileTypeOf(name)) || size > maxFileBytes;
  return withheld || (!converter && isRefused);
}

/**
 * Whether the item is listed and unwanted, and was removed from mirror and index. If the store has it all the same, a rollback brought
 * it back, and it is a leftover.
 */
function wasRemovedAsUnwanted({ seen, mirrored, indexed }: LedgerEntry, step: EmbedStep, parts: IndexParts): boolean {
  return seen !== null && !mirrored && !indexed && isUnwanted(seen, step, parts);
}

/**
 * Returns a problem for each kind of removal that is held. Most removals were decided when they left the mirror. Two kinds were not:
 * without a listing, everything that has no file leaves; with a complete listing, documents without an item (after a
 * kill, lost map files or a rollback) are garbage.
 */
async function decideRemovals(
  {
    known,
    files,
    leftovers,
    holdings,
    isCertain,
  }: {
    readonly known: number;
    readonly files: number;
    readonly leftovers: readonly IndexedRef[];
    readonly holdings: number;
    readonly isCertain: boolean;
  },
  { run, request, listing, plan }: EmbedStep,
): Promise<readonly string[]> {
  const policy = { limits: run.config.limits, confirmDeletes: request.confirmDeletes };
  const problems: string[] = [];
  const noteHeld = (count: number, heldBecause: string, one: string, many: string): void => {
    problems.push(`${plural(count, one, many)}, held because ${heldBecause}. ${HOW_TO_CONFIRM}`);
  };
  if (!listing) {
    const { removed = 0 } = await plan.count("embed");
    // Only how many there are decides: they are read page by page.
    const { heldBecause } = leave(Array.from({ length: removed }), { known, listed: known - removed }, policy);
    if (heldBecause !== "") {
      noteHeld(removed, heldBecause, "document has no file any more", "documents have no file any more");
      for await (const page of plan.items("embed", ["removed"])) {
        for (const item of page) plan.replace(asHeld(item, heldBecause));
      }
    }
  }
  const { go, heldBecause } = garbage(leftovers, {
    isCertain,
    guard: { known: holdings, listed: listing?.listed ?? files, ...policy },
  });
  for (const ref of leftovers) {
    const told = { ...placeInStore(ref), reason: LEFTOVER };
    const item = { step: "embed", itemId: ref.itemId, change: "removed", reason: LEFTOVER, told } as const;
    if (go.length > 0) plan.add(item);
    else if (heldBecause !== "") plan.add(asHeld(item, heldBecause));
  }
  if (heldBecause !== "") {
    const many = "documents in the index have no item any more";
    noteHeld(leftovers.length, heldBecause, "document in the index has no item any more", many);
  }
  return problems;
}

function asHeld(item: PlannedItem, because: string): PlannedItem {
  const reason = `held: ${because}`;
  return { ...item, change: "held", reason, told: item.told && { ...item.told, reason } };
}

/**
 * A download in this run has just checked the files; without one, every file is looked up, as the specification says.
 */
function lacksFile(file: string, { kind }: IndexChange, { mirror, listing }: EmbedStep): boolean {
  const isNeeded = kind === "put" || (!listing && kind !== "remove");
  return isNeeded && file !== "" && !mirror.isOriginal(file) && !mirror.find(file);
}

function lacksHash({ mirrored }: LedgerEntry, { mirror }: EmbedStep): boolean {
  return mirrored !== null && mirrored.file !== "" && mirrored.observed === null && !mirror.isOriginal(mirrored.file);
}

/** Restores a lost hash from the file: it decides what is embedded, and reading the file saves a download. */
async function withHash(entry: LedgerEntry, { ledger, mirror, job }: EmbedStep): Promise<LedgerEntry> {
  const { mirrored } = entry;
  if (!mirrored) return entry;
  try {
    const path = mirror.bytesAt(mirrored.file);
    const sha256 = await hashFile(path);
    const { size, mtimeMs } = await stat(path);
    const hashed: Mirrored = { ...mirrored, observed: { size, mtimeMs, sha256 } };
    ledger.put(entry.itemId, { mirrored: hashed });
    return { itemId: entry.itemId, seen: entry.seen, mirrored: hashed, indexed: entry.indexed };
  } catch (error) {
    if (!isErrno(error, "ENOENT")) job.log(`WARNING: cannot read '${mirrored.file}': ${explain(error)}`);
    return entry;
  }
}

type DisplayPath = Omit<PlannedWords, "reason">;

/** Returns how much is to be embedded. A document that the process step has yet to make counts as large as its original. */
function sizeOf(mirrored: Mirrored | null): Pick<PlannedItem, "bytes" | "tokens"> {
  const bytes = mirrored?.observed?.size || mirrored?.fingerprint.size || 0;
  return { bytes, tokens: estimateFileTokens(fileTypeOf(mirrored?.file ?? ""), bytes) };
}

/**
 * Returns the visible change of an item in the index, or undefined. The reason is what the download did to its file, if
 * anything.
 */
export function describe(
  entry: LedgerEntry,
  change: IndexChange,
  download: PlannedItem | undefined,
  step: EmbedStep,
): { readonly change: "added" | "changed" | "moved" | "removed"; readonly told: PlannedWords } | undefined {
  if (change.kind === "none" || change.kind === "adopt") return undefined;
  const why = change.kind === "relabel" ? "its name, place or time changed" : change.reason;
  const downloadReason = isTouched(download) ? download?.told?.reason : undefined;
  const takenOut = change.kind === "remove" && step.run.isRetired ? TAKEN_OUT : undefined;
  const told = { ...placeOf(entry, download, step), reason: takenOut ?? downloadReason ?? why };
  const put = entry.indexed?.fileId ? "changed" : "added";
  return { change: change.kind === "remove" ? "removed" : change.kind === "relabel" ? "moved" : put, told };
}

/** Reason for removing a document that is no item of the source. */
const LEFTOVER = "the index has it, but no item stands for it";

/** The path of a document that only the index knows. */
export function placeInStore({ itemId, path }: IndexedRef): DisplayPath {
  return { name: path?.split("/").at(-1) || itemId, path: path || itemId };
}

function placeOf(
  { itemId, seen, mirrored, indexed }: LedgerEntry,
  download: PlannedItem | undefined,
  { mirror }: EmbedStep,
): DisplayPath {
  if (download?.told && isTouched(download)) return { name: download.told.name, path: download.told.path };
  const name = (mirrored ?? indexed ?? seen)?.name ?? itemId;
  const file = mirrored?.file || indexed?.file;
  return { name, path: file ? mirror.relativePath(file) : name };
}

function whyFailed({ mirrored, indexed }: LedgerEntry): string {
  const why = mirrored?.processingError || indexed?.embeddingError;
  return `waits in 03_failed until it changes${why ? `: ${why}` : ""}`;
}
