import { isEmptyReason } from "../contracts/document.ts";
import type { Ledger } from "../contracts/ledger.ts";
import type { FailedRef } from "../contracts/search-index.ts";
import { plural } from "../lib/text.ts";
import { ADDITIONS, draftPlan, type PlanInDraft, REMOVALS, type Recorded } from "./commit-plan.ts";
import type { StepCounts } from "./crawl-request.ts";
import type { StepResult } from "./crawl-source.ts";
import { silentIfDry } from "./dry-run.ts";
import type { EngineParts } from "./engine-parts.ts";
import { type Planned, planIndex } from "./plan-index.ts";
import type { EmbedStep } from "./run-context.ts";
import { sumUp } from "./tally.ts";

export interface Embedded extends Omit<StepResult, "itemProblem"> {
  readonly failed: readonly FailedRef[];
  /** The part of the crawl's draft; undefined: nothing has changed, or it was committed by itself. */
  readonly staged: PlanInDraft | undefined;
  /** How many removals wait until all sources are indexed. */
  readonly waiting: number;
  /** Recorded in the ledger if nothing failed: the next run judges only what changed since. */
  readonly upTo: Planned["upTo"];
}

/** mirror ▶ judge ▶ plan ▶ draft, for one source. Commits and records it as well, unless it fills a part of the crawl's draft. */
export async function embed(step: EmbedStep, parts: EngineParts): Promise<Embedded> {
  const { ledger, target, removalsWait, job } = step;
  const { problems, ...planned } = await planIndex(step, parts);
  const waiting = removalsWait ? planned.counts.removed : 0;
  const counts = { ...planned.counts, removed: planned.counts.removed - waiting };
  const later = waiting > 0 ? `; ${plural(waiting, "removal")} when all sources are indexed` : "";
  job.log(`Index: ${sumUp(counts)}${later}.`);
  for (const problem of problems) job.log(`WARNING: ${problem}`);
  const doing = { ...step, job: silentIfDry(job) };
  const draft = await draftPlan(doing, parts, removalsWait ? ADDITIONS : undefined);
  if (!target.crawlDraft) await draft?.commit();
  const failed = draft?.failed ?? [];
  await countFailures(failed, await draft?.doubtful(), counts, step);
  const { isWhole = true } = (target.crawlDraft ? undefined : await draft?.record(doing)) ?? {};
  const upTo = isWhole ? planned.upTo : undefined;
  const embedded = { counts, problems, waiting, upTo, failed, staged: target.crawlDraft && draft };
  if (!isUnfinished(embedded)) noteUpTo(embedded, ledger);
  return embedded;
}

export function isUnfinished({ staged, waiting }: Embedded): boolean {
  return staged !== undefined || waiting > 0;
}

/** When all sources are in: records what the crawl has committed, and carries out the removals that waited. Returns what could not be removed, and what is held. */
export async function finishEmbed(
  embedded: Embedded,
  step: EmbedStep,
  parts: EngineParts,
  { isHeld } = { isHeld: false },
): Promise<{ readonly failed: readonly FailedRef[]; readonly held: Recorded["held"] }> {
  const { staged, waiting } = embedded;
  const { isWhole = true, held = [] } = (await staged?.record(step, { isHeld })) ?? {};
  const removals = waiting > 0 ? await draftPlan(step, parts, REMOVALS) : undefined;
  await removals?.commit();
  const { isWhole: isGone = true } = (await removals?.record(step)) ?? {};
  const failed = removals?.failed ?? [];
  if (isWhole && isGone && failed.length === 0) noteUpTo(embedded, step.ledger);
  return { failed, held };
}

/** The index is complete up to a revision of the ledger, if nothing failed. */
function noteUpTo({ upTo, failed }: Embedded, ledger: Ledger): void {
  if (upTo && failed.length === 0) ledger.noteIndexed(upTo.rules, upTo.revision);
}

/** Moves failures from the count they were planned under to "failed" or "empty". */
async function countFailures(
  failed: readonly FailedRef[],
  doubtful: ReadonlySet<string> = new Set(),
  counts: StepCounts,
  { plan }: Pick<EmbedStep, "plan">,
): Promise<void> {
  const planned = await plan.find(
    "embed",
    failed.map(({ itemId }) => itemId),
  );
  for (const { itemId, reason } of failed) {
    const change = planned.get(itemId)?.change;
    const kind = change === "adopted" ? "unchanged" : change;
    if (kind && kind in counts) counts[kind as keyof StepCounts] -= 1;
    const isEmpty = isEmptyReason(reason) && !doubtful.has(itemId);
    counts[isEmpty ? "empty" : "failed"] += 1;
    // It had text before, so its document was removed from the index.
    if (isEmpty && kind === "changed") counts.removed += 1;
  }
}
