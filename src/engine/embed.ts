import { isEmptyReason } from "../contracts/document.ts";
import type { ItemId } from "../contracts/ids.ts";
import type { Ledger } from "../contracts/ledger.ts";
import type { FailedRef } from "../contracts/search-index.ts";
import { plural } from "../lib/text.ts";
import { commitPlan, type Recorded, type StagedPlan, stagePlan } from "./commit-plan.ts";
import type { StepCounts } from "./crawl-request.ts";
import type { StepResult } from "./crawl-source.ts";
import { silentIfDry } from "./dry-run.ts";
import type { EngineParts } from "./engine-parts.ts";
import { emptyPlan, type IndexPlan, type Planned, planIndex } from "./plan-index.ts";
import type { EmbedStep } from "./run-context.ts";
import { sumUp } from "./tally.ts";

export interface Embedded extends Omit<StepResult, "itemProblem"> {
  readonly failed: readonly FailedRef[];
  /** What becomes visible with the crawl. */
  readonly staged: StagedPlan | undefined;
  /** Documents to remove when all sources are indexed. */
  readonly waiting: readonly ItemId[];
  readonly upTo: Planned["upTo"];
}

/** mirror ▶ extract ▶ draft, for one source; ▶ commit ▶ index, unless it becomes visible with the crawl. */
export async function embed(step: EmbedStep, parts: EngineParts): Promise<Embedded> {
  const { ledger, target, job, removalsWait } = step;
  const { plan, counts, problems, upTo } = await planIndex(step, parts);
  const waiting = removalsWait ? plan.remove.splice(0) : [];
  counts.removed -= waiting.length;
  const later = waiting.length > 0 ? `; ${plural(waiting.length, "removal")} when all sources are indexed` : "";
  job.log(`Index: ${sumUp(counts)}${later}.`);
  for (const problem of problems) job.log(`WARNING: ${problem}`);
  const { together } = target;
  const doing = { ...step, job: silentIfDry(job) };
  const staged = together && (await stagePlan(plan, together, doing, parts));
  const { failed, doubtful } = staged ?? (together ? NOTHING_FAILED : await commitPlan(plan, doing, parts));
  countFailures(failed, plan, doubtful, counts);
  const embedded = { counts, problems, waiting, upTo, failed, staged };
  if (!isUnfinished(embedded)) noteUpTo(embedded, ledger);
  return embedded;
}

const NOTHING_FAILED = { failed: [], doubtful: new Set<ItemId>() };

export function isUnfinished({ staged, waiting }: Embedded): boolean {
  return staged !== undefined || waiting.length > 0;
}

/** When all sources are in: records what the crawl has committed, and removes what waited. Returns what could not be removed, and what is held. */
export async function finishEmbed(
  embedded: Embedded,
  step: EmbedStep,
  parts: EngineParts,
  { isHeld } = { isHeld: false },
): Promise<{ readonly failed: readonly FailedRef[]; readonly held: Recorded["held"] }> {
  const { staged, waiting } = embedded;
  const { isWhole, held } = (await staged?.record(step, { isHeld })) ?? { isWhole: true, held: [] };
  const { failed } = await commitPlan({ ...emptyPlan(), remove: [...waiting] }, step, parts);
  if (isWhole && failed.length === 0) noteUpTo(embedded, step.ledger);
  return { failed, held };
}

/** The index is complete up to a revision of the ledger, if nothing failed. */
function noteUpTo({ upTo, failed }: Embedded, ledger: Ledger): void {
  if (upTo && failed.length === 0) ledger.noteIndexed(upTo.rules, upTo.revision);
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
