import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { CancelledError, explain } from "../contracts/errors.ts";
import type { ItemId, VectorStoreId } from "../contracts/ids.ts";
import type { JobContext } from "../contracts/job.ts";
import type { Indexed, Ledger, LedgerEntry, Mirrored } from "../contracts/ledger.ts";
import type { FailedRef, Index, IndexDraft, IndexedRef } from "../contracts/search-index.ts";
import { type IndexChange, judgeIndex } from "../detect/detect-index-changes.ts";
import { forEachConcurrent } from "../lib/concurrency.ts";
import { Turn } from "../lib/turn.ts";
import type { Mirror } from "../mirror/mirror.ts";
import type { CrawlRequest, StepCounts } from "./crawl-request.ts";
import { documentOf, labelOf } from "./document-label.ts";
import type { SourceRun } from "./engine-parts.ts";
import { recordCommit } from "./record-commit.ts";
import { noCounts, Progress, sumUp } from "./tally.ts";

const PUTS_AT_ONCE = 4;

export interface EmbedTools {
  readonly ledger: Ledger;
  readonly mirror: Mirror;
  readonly index: Index;
  readonly store: VectorStoreId;
  /** `domains/<id>/files_metadata.json` */
  readonly metadataPath: string;
}

export interface Embedded {
  readonly counts: StepCounts;
  readonly problems: readonly string[];
}

/** What the index needs to say what the mirror says. */
export interface IndexPlan {
  readonly put: LedgerEntry[];
  readonly relabel: { readonly entry: LedgerEntry; readonly indexed: Indexed }[];
  readonly adopt: { readonly entry: LedgerEntry; readonly held: IndexedRef }[];
  readonly remove: ItemId[];
}

/**
 * mirror ▶ extract ▶ draft ▶ commit ▶ index, for one source. `sawAll` says that the look at the source before was
 * complete: only then are documents removed of which we have no record at all.
 */
export async function embed(
  run: SourceRun,
  request: CrawlRequest & { readonly sawAll: boolean },
  tools: EmbedTools,
  job: JobContext,
): Promise<Embedded> {
  const counts = noCounts();
  const plan = await planIndex(run, request, tools, job, counts);
  job.log(`Index: ${sumUp(counts)}.`);
  if (job.dryRun) return { counts, problems: [] };
  const failed = await commitPlan(run, plan, tools, job);
  counts.failed += failed.length;
  const problems =
    failed.length > 0
      ? [`${failed.length} files could not be embedded; the job's log and vectorstore_map.csv name them`]
      : [];
  return { counts, problems };
}

async function planIndex(
  run: SourceRun,
  request: CrawlRequest & { readonly sawAll: boolean },
  tools: EmbedTools,
  job: JobContext,
  counts: StepCounts,
): Promise<IndexPlan> {
  const held = new Map<ItemId, IndexedRef>();
  for await (const refs of tools.index.holdings(run.config.sourceId)) {
    for (const ref of refs) held.set(ref.itemId, ref);
  }
  const plan: IndexPlan = { put: [], relabel: [], adopt: [], remove: [] };
  const turn = new Turn();
  for await (const page of tools.ledger.entries()) {
    await job.checkpoint();
    for (const known of page) {
      const entry = lacksHash(known) ? await withHash(known, tools, job) : known;
      const failed = tools.mirror.isFailed(entry.mirrored?.file ?? "");
      const view = { store: tools.store, mode: request.mode, held: held.get(entry.itemId), failed };
      addToPlan(plan, entry, judgeIndex(entry, view), counts, job);
      held.delete(entry.itemId);
      if (turn.isOver()) await turn.next();
    }
  }
  if (request.sawAll) {
    counts.removed += held.size;
    plan.remove.push(...held.keys());
  }
  return plan;
}

function addToPlan(
  plan: IndexPlan,
  entry: LedgerEntry,
  change: IndexChange,
  counts: StepCounts,
  job: JobContext,
): void {
  if (job.dryRun && change.kind !== "none") {
    job.log(`  INDEX ${change.kind.toUpperCase()} '${entry.mirrored?.serverPath ?? entry.itemId}'`);
  }
  switch (change.kind) {
    case "put":
      plan.put.push(entry);
      counts[entry.indexed?.fileId ? "changed" : "added"] += 1;
      return;
    case "relabel":
      plan.relabel.push({ entry, indexed: change.indexed });
      counts.moved += 1;
      return;
    case "adopt":
      plan.adopt.push({ entry, held: change.held });
      counts.unchanged += 1;
      return;
    case "remove":
      plan.remove.push(entry.itemId);
      counts.removed += 1;
      return;
    case "none":
      if (entry.mirrored?.file) counts.unchanged += 1;
  }
}

function lacksHash({ mirrored }: LedgerEntry): boolean {
  return mirrored !== null && mirrored.file !== "" && mirrored.observed === null;
}

/** The hash decides what is embedded; where it was lost it is taken again from the file, which costs a read, no download. */
async function withHash(entry: LedgerEntry, { ledger, mirror }: EmbedTools, job: JobContext): Promise<LedgerEntry> {
  const { mirrored } = entry;
  if (!mirrored) return entry;
  try {
    const path = mirror.absolute(mirrored.file);
    const hash = createHash("sha256");
    for await (const chunk of createReadStream(path)) hash.update(chunk);
    const { size, mtimeMs } = await stat(path);
    const hashed: Mirrored = { ...mirrored, observed: { size, mtimeMs, sha256: hash.digest("hex") } };
    if (!job.dryRun) ledger.put(entry.itemId, { mirrored: hashed });
    return { itemId: entry.itemId, seen: entry.seen, mirrored: hashed, indexed: entry.indexed };
  } catch (error) {
    job.log(`WARNING: cannot read '${mirrored.file}': ${explain(error)}`);
    return entry;
  }
}

/** Nothing is visible before the commit; a draft that is not committed leaves readers where they were. */
async function commitPlan(
  run: SourceRun,
  plan: IndexPlan,
  tools: EmbedTools,
  job: JobContext,
): Promise<readonly FailedRef[]> {
  const { sourceId } = run.config;
  const draft = await tools.index.draft(sourceId);
  try {
    await fillDraft(run, plan, draft, tools, job);
    const committed = await draft.commit(job.signal);
    await recordCommit(run, { plan, ...committed }, tools, job);
    return committed.failed;
  } catch (error) {
    await draft.discard();
    if (job.signal.aborted) throw new CancelledError("embedding stopped", { cause: error });
    throw error;
  }
}

async function fillDraft(
  run: SourceRun,
  plan: IndexPlan,
  draft: IndexDraft,
  tools: EmbedTools,
  job: JobContext,
): Promise<void> {
  for (const itemId of plan.remove) {
    await job.checkpoint();
    await draft.remove(itemId);
  }
  for (const { entry } of [...plan.relabel, ...plan.adopt]) {
    await job.checkpoint();
    await draft.relabel(entry.itemId, labelOf(run, entry, tools.mirror));
  }
  const progress = new Progress(job, plan.put.length);
  await forEachConcurrent(plan.put, PUTS_AT_ONCE, async (entry) => {
    await job.checkpoint();
    await draft.put(documentOf(run, entry, tools.mirror), job.signal);
    progress.step(`Indexing '${tools.mirror.relativePath(entry.mirrored?.file ?? "")}'.`);
  });
}
