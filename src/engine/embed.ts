import { isEmptyReason } from "../contracts/document.ts";
import { CancelledError, explain } from "../contracts/errors.ts";
import type { FileId, ItemId, VectorStoreId } from "../contracts/ids.ts";
import type { JobContext } from "../contracts/job.ts";
import type { Ledger, LedgerEntry } from "../contracts/ledger.ts";
import type { PlanDraft } from "../contracts/plan.ts";
import type { DocumentFile, FailedRef, Index, IndexDraft } from "../contracts/search-index.ts";
import type { SourceRun } from "../contracts/source-kind.ts";
import { forEachConcurrent } from "../lib/concurrency.ts";
import { plural } from "../lib/plural.ts";
import type { Mirror } from "../mirror/mirror.ts";
import type { Approval } from "./approval.ts";
import type { CrawlRequest, StepCounts } from "./crawl-request.ts";
import { stopWhenFull } from "./disk-full.ts";
import { documentOf, labelOf } from "./document-label.ts";
import type { SourceLook } from "./download.ts";
import { withKeptText } from "./kept-text.ts";
import { emptyPlan, type IndexPlan, isEmptyPlan, type Planned, planIndex } from "./plan-index.ts";
import { MAX_READER_TRIES, readerTries } from "./reader-tries.ts";
import { markOf, type PutMarks, recordCommit } from "./record-commit.ts";
import { noCounts, Progress, quiet, sumUp } from "./tally.ts";

/** Our own index works on this machine; a remote one is mostly waited for. */
const PUTS_AT_ONCE = { atomic: 4, gradual: 16 } as const;
const PAGE = 500;
/** As in a listing: one or two that vanish are believable. */
const SUSPICIOUSLY_MANY = 3;

/** The embed step of one source: what it is about, what the download saw before it, what it works with. */
export interface EmbedWork {
  readonly run: SourceRun;
  readonly request: CrawlRequest;
  /** undefined: this run did not look at the source. */
  readonly look: SourceLook | undefined;
  readonly tools: EmbedTools;
  /** What the backend has from before, when a fresh store is filled. */
  readonly uploaded?: Uploads | undefined;
  readonly removals: Removals;
  readonly wanted: Wanted;
  readonly plan: PlanDraft;
  readonly approval: Approval | undefined;
  readonly job: JobContext;
}

/** later: what is to be removed stays until this step is taken once more. only: that once more, which does nothing else. */
export type Removals = "now" | "later" | "only";

/** The id under which the backend has the very same bytes of this item. */
export type Uploads = (file: Pick<DocumentFile, "itemId" | "sha256">) => Promise<FileId | undefined>;

/** What the index takes. */
export interface Wanted {
  readonly acceptedTypes: ReadonlySet<string>;
  readonly maxFileBytes: number;
  /** Documents have the type of their item's name; false where they come out of the process step. */
  readonly typeByName: boolean;
}

export interface EmbedTools {
  readonly ledger: Ledger;
  readonly mirror: Mirror;
  readonly index: Index;
  readonly store: VectorStoreId;
  /** The same for all that one crawl commits. */
  readonly crawl?: string;
  /** The domain's own store; files are set aside only for what that one says. */
  readonly isOwn: boolean;
  /** The revision of whoever reads the files. */
  readonly reader: string;
}

export interface Embedded {
  readonly counts: StepCounts;
  readonly problems: readonly string[];
  readonly failed: readonly FailedRef[];
  /** How many removals are left for later. */
  readonly deferred: number;
}

/** mirror ▶ extract ▶ draft ▶ commit ▶ index, for one source. */
export async function embed(work: EmbedWork): Promise<Embedded> {
  const { job } = work;
  const { plan, counts, problems, upTo } = work.removals === "only" ? await planRemovals(work) : await planIndex(work);
  const deferred = work.removals === "later" ? plan.remove.splice(0).length : 0;
  counts.removed -= deferred;
  job.log(`Index: ${sumUp(counts)}${deferred > 0 ? `; ${deferred} to be removed when all sources are in` : ""}.`);
  for (const problem of problems) job.log(`WARNING: ${problem}`);
  if (job.dryRun) return { counts, problems, failed: [], deferred };
  const doubtful = new Set<ItemId>();
  const failed = await commitInBatches(plan, work, doubtful);
  countFailures(failed, plan, doubtful, counts);
  if (upTo && failed.length + deferred === 0) work.tools.ledger.noteIndexed(upTo.rules, upTo.revision);
  if (counts.failed > 0) {
    problems.push(
      `${plural(counts.failed, "file")} could not be embedded; the job's log and vectorstore_map.csv tell more`,
    );
  }
  return { counts, problems, failed, deferred };
}

/** What else there is to do, or to complain about, was done and told before: what failed then would only fail again. */
async function planRemovals(work: EmbedWork): Promise<Planned> {
  const { remove } = (await planIndex({ ...work, job: quiet(work.job) })).plan;
  const counts = { ...noCounts(), removed: remove.length };
  return { plan: { ...emptyPlan(), remove }, counts, problems: [], left: 0 };
}

/** What failed was planned as something else. */
function countFailures(
  failed: readonly FailedRef[],
  plan: IndexPlan,
  doubtful: ReadonlySet<ItemId>,
  counts: StepCounts,
): void {
  const planned = new Map<ItemId, keyof StepCounts>();
  for (const itemId of plan.remove) planned.set(itemId, "removed");
  for (const itemId of plan.relabel) planned.set(itemId, "moved");
  for (const itemId of plan.adopt.keys()) planned.set(itemId, "unchanged");
  for (const { itemId, reason } of failed) {
    const kind = plan.put.get(itemId) ?? planned.get(itemId);
    if (kind) counts[kind] -= 1;
    const isEmpty = isEmptyReason(reason) && !doubtful.has(itemId);
    counts[isEmpty ? "empty" : "failed"] += 1;
    // It had text before, and has left the search.
    if (isEmpty && kind === "changed") counts.removed += 1;
  }
}

/** Whatever may succeed at another try gets one, at the end, when what ailed it may have passed. */
async function commitInBatches(plan: IndexPlan, work: EmbedWork, doubtful: Set<ItemId>): Promise<readonly FailedRef[]> {
  if (isEmptyPlan(plan)) return [];
  const final = await reviveFailed(plan, work);
  const lost = new Set(final.map(({ itemId }) => itemId));
  let failed = await commitPlan(
    onlyFor(plan, (itemId) => !lost.has(itemId)),
    work,
    doubtful,
  );
  for (let batch = 2; batch <= work.request.retryBatches; batch++) {
    // What a reader failed at has had its time in this run.
    const mayPass = ({ permanent, byReader = false }: FailedRef): boolean => !permanent && !byReader;
    final.push(...failed.filter((one) => !mayPass(one)));
    const again = new Set(failed.filter(mayPass).map(({ itemId }) => itemId));
    failed = [];
    if (again.size === 0) break;
    work.job.log(`Trying ${plural(again.size, "failed document")} once more.`);
    failed = await commitPlan(
      onlyFor(plan, (itemId) => again.has(itemId)),
      work,
      doubtful,
    );
  }
  return [...final, ...failed];
}

function onlyFor(plan: IndexPlan, isMeant: (itemId: ItemId) => boolean): IndexPlan {
  return {
    put: new Map([...plan.put].filter(([itemId]) => isMeant(itemId))),
    revive: [],
    relabel: plan.relabel.filter(isMeant),
    adopt: new Map([...plan.adopt].filter(([itemId]) => isMeant(itemId))),
    remove: plan.remove.filter(isMeant),
  };
}

/** Files that had failed and are tried again come back from `03_failed/` first; returns those that cannot. */
async function reviveFailed(
  { revive }: IndexPlan,
  { tools: { ledger, mirror }, job }: EmbedWork,
): Promise<FailedRef[]> {
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

async function commitPlan(plan: IndexPlan, work: EmbedWork, doubtful: Set<ItemId>): Promise<readonly FailedRef[]> {
  const marks: PutMarks = new Map();
  const committed = await commitDraft(plan, work, marks);
  await recordCommit({ plan, marks, doubtful, ...committed }, work.tools, work.job);
  return committed.failed;
}

/** Nothing is visible before the commit; a draft that is not committed leaves readers where they were. */
async function commitDraft(plan: IndexPlan, work: EmbedWork, marks: PutMarks): ReturnType<IndexDraft["commit"]> {
  const { run, tools, request, job } = work;
  const draft = await tools.index.draft(run.config.sourceId, tools.crawl);
  try {
    await fillDraft(plan, draft, work, marks);
    return await draft.commit(job.signal, { allowEmpty: request.confirmDeletes || mayEmpty(plan) });
  } catch (error) {
    await draft.discard();
    if (job.signal.aborted) throw new CancelledError("embedding stopped", { cause: error });
    throw error;
  }
}

/** Removals have passed the guard. Where several files were put and yet nothing is left, none of them could be read. */
function mayEmpty({ put }: IndexPlan): boolean {
  return put.size < SUSPICIOUSLY_MANY;
}

async function fillDraft(plan: IndexPlan, draft: IndexDraft, work: EmbedWork, marks: PutMarks): Promise<void> {
  const { run, request, tools, uploaded, job } = work;
  for (const itemId of plan.remove) {
    await job.checkpoint();
    await draft.remove(itemId, { mayReturn: !run.config.kind.abilities.hasIds });
  }
  for await (const entry of entriesOf([...plan.relabel, ...plan.adopt.keys()], tools.ledger)) {
    await job.checkpoint();
    // Another step has taken its file away since this was planned.
    if (!entry.mirrored?.file) continue;
    marks.set(entry.itemId, markOf(entry.mirrored));
    await draft.relabel(entry.itemId, labelOf(run, entry, tools.mirror));
  }
  const progress = new Progress(job, plan.put.size);
  const entries = entriesOf([...plan.put.keys()], tools.ledger);
  await forEachConcurrent(entries, PUTS_AT_ONCE[tools.index.commits], async (entry) => {
    await job.checkpoint();
    if (!entry.mirrored?.file) return;
    marks.set(entry.itemId, markOf(entry.mirrored));
    const file = withKeptText(documentOf(run, entry, tools.mirror), run, tools.mirror);
    const knownFileId = await uploaded?.(file);
    const isLastTry = !request.retryFailed && readerTries(entry, tools.reader) + 1 >= MAX_READER_TRIES;
    await draft.put({ ...file, ...(knownFileId && { knownFileId }), isLastTry }, job.signal);
    progress.step(`Indexing '${tools.mirror.relativePath(entry.mirrored?.file ?? "")}'.`);
  });
}

async function* entriesOf(items: readonly ItemId[], ledger: Ledger): AsyncGenerator<LedgerEntry> {
  await ledger.flush();
  for (let from = 0; from < items.length; from += PAGE) {
    for (const entry of await ledger.getMany(items.slice(from, from + PAGE))) if (entry) yield entry;
  }
}
