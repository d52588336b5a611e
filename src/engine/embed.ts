import { isEmptyReason } from "../contracts/document.ts";
import type { ItemId } from "../contracts/ids.ts";
import type { FailedRef } from "../contracts/search-index.ts";
import { plural } from "../lib/text.ts";
import { commitPlan } from "./commit-plan.ts";
import type { StepCounts } from "./crawl-request.ts";
import type { StepResult } from "./crawl-source.ts";
import { silent } from "./dry-run.ts";
import type { EngineParts } from "./engine-parts.ts";
import { emptyPlan, type IndexPlan, type Planned, planIndex } from "./plan-index.ts";
import type { EmbedStep } from "./run-context.ts";
import { noCounts, sumUp } from "./tally.ts";

export interface Embedded extends StepResult {
  readonly failed: readonly FailedRef[];
  /** How many removals wait until all sources are indexed. */
  readonly deferred: number;
}

/** mirror ▶ extract ▶ draft ▶ commit ▶ index, for one source. */
export async function embed(step: EmbedStep, parts: EngineParts): Promise<Embedded> {
  const { ledger, removals, job } = step;
  const planned = removals === "only" ? await planRemovals(step, parts) : await planIndex(step, parts);
  const { plan, counts, problems, upTo } = planned;
  const deferred = removals === "later" ? plan.remove.splice(0).length : 0;
  counts.removed -= deferred;
  job.log(
    `Index: ${sumUp(counts)}${deferred > 0 ? `; ${plural(deferred, "removal")} when all sources are indexed` : ""}.`,
  );
  for (const problem of problems) job.log(`WARNING: ${problem}`);
  if (job.dryRun) return { counts, problems, failed: [], deferred };
  const { failed, doubtful } = await commitPlan(plan, step, parts);
  countFailures(failed, plan, doubtful, counts);
  if (upTo && failed.length + deferred === 0) ledger.noteIndexed(upTo.rules, upTo.revision);
  if (counts.failed > 0) {
    problems.push(
      `${plural(counts.failed, "file")} could not be embedded; the job's log and vectorstore_map.csv tell more`,
    );
  }
  return { counts, problems, failed, deferred };
}

/**
 * Plans removals only, silently: the first embed step did and logged everything else, and what failed then would fail
 * again.
 */
async function planRemovals(step: EmbedStep, parts: EngineParts): Promise<Planned> {
  const { remove } = (await planIndex({ ...step, approval: step.approval?.again(), job: silent(step.job) }, parts))
    .plan;
  const counts = { ...noCounts(), removed: remove.length };
  return { plan: { ...emptyPlan(), remove }, counts, problems: [], left: 0 };
}

/** Moves failures from the count they were planned under to "failed" or "empty". */
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
    // It had text before, so its document was removed from the index.
    if (isEmpty && kind === "changed") counts.removed += 1;
  }
}
