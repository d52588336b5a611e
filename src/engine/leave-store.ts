import type { SourceConfig } from "../contracts/domain.ts";
import type { ItemId } from "../contracts/ids.ts";
import type { JobContext } from "../contracts/job.ts";
import type { PlannedItem } from "../contracts/plan.ts";
import type { IndexedRef } from "../contracts/search-index.ts";
import type { SourceRun } from "../contracts/source-kind.ts";
import { plural } from "../lib/plural.ts";
import { heldBecause } from "../plan/removal-guard.ts";
import { openRunPlan } from "./approval.ts";
import type { CrawlRequest, SourceResult } from "./crawl-request.ts";
import type { EngineParts } from "./engine-parts.ts";
import type { IndexTarget } from "./index-target.ts";
import { findUnapprovedLeftovers, heldPlace } from "./plan-index.ts";
import { planResult } from "./planned-changes.ts";
import { HOW_TO_CONFIRM, noCounts } from "./tally.ts";

/**
 * A source that was taken out of the domain leaves a store, whatever is left of its mirror: another store than the domain's
 * own is often brought in step when the folder is gone already. The guard is that of any removal.
 */
export async function leaveStore(
  run: SourceRun,
  request: CrawlRequest,
  target: IndexTarget,
  parts: EngineParts,
  job: JobContext,
): Promise<SourceResult> {
  const { plan, approval } = await openRunPlan(run, request, parts, job);
  const all = await heldOf(run, target, parts);
  const unapproved = await findUnapprovedLeftovers(all, { approval, job });
  const held = all.filter(({ itemId }) => !unapproved.has(itemId));
  const loss = { missing: held.length, known: held.length, listed: 0 };
  const suspect = heldBecause(loss, { ...request, limits: run.config.limits });
  for (const ref of job.dryRun ? held : []) plan.add(planned(ref, suspect));
  const failed = suspect || job.dryRun ? [] : await removeAll(held, run, target, job);
  const problems: string[] = [];
  if (suspect) {
    const what = plural(held.length, "document is", "documents are");
    problems.push(`${what} still in the vector store, held because ${suspect}. ${HOW_TO_CONFIRM}`);
  }
  if (failed.length > 0) problems.push(`${plural(failed.length, "document")} could not be removed: ${failed[0]}`);
  else if (!suspect && !job.dryRun && !target.isOwn && held.length === all.length) {
    await parts.ledgers.dropStore(run, target.store);
  }
  const embed = { ...noCounts(), removed: suspect ? 0 : held.length - failed.length, held: suspect ? held.length : 0 };
  return {
    ...emptyResult(run.config, problems.join("; ")),
    complete: true,
    embed: { ...embed, failed: failed.length },
    ...(job.dryRun && (await planResult(plan).finally(() => plan.close()))),
  };
}

/** Of a source of which nothing was done. */
export function emptyResult({ sourceId, sourceType }: SourceConfig, error: string): SourceResult {
  const counts = { download: noCounts(), process: noCounts(), embed: noCounts() };
  return { source_id: sourceId, source_type: sourceType, complete: false, ...counts, error };
}

/** Where another kind of source has the same id, only what our rows name is of this one. */
async function heldOf(run: SourceRun, { index, store, isOwn }: IndexTarget, parts: EngineParts): Promise<IndexedRef[]> {
  const held: IndexedRef[] = [];
  for await (const refs of index.holdings(run.config.sourceId)) held.push(...refs);
  if (!run.sharesId || held.length === 0) return held;
  const ledger = await parts.ledgers.open(run, { readOnly: true, vectorStoreId: isOwn ? undefined : store });
  const named = new Set<ItemId>();
  for await (const items of ledger.items()) for (const itemId of items) named.add(itemId);
  return held.filter(({ itemId }) => named.has(itemId));
}

/** Why some could not be removed, one sentence each. */
async function removeAll(
  held: readonly IndexedRef[],
  { config }: SourceRun,
  { index, crawl }: IndexTarget,
  job: JobContext,
): Promise<string[]> {
  if (held.length === 0) return [];
  const draft = await index.draft(config.sourceId, crawl);
  try {
    for (const { itemId } of held) await draft.remove(itemId);
    // What a person took out of the domain may leave nothing behind.
    const { failed } = await draft.commit(job.signal, { allowEmpty: true });
    job.log(`Index: ${held.length - failed.length} removed.`);
    for (const { itemId, reason } of failed) job.log(`ERROR: index '${itemId}': ${reason}`);
    return failed.map(({ reason }) => reason);
  } catch (error) {
    await draft.discard();
    throw error;
  }
}

function planned(ref: IndexedRef, suspect: string): PlannedItem {
  const { itemId } = ref;
  const reason = suspect ? `held: ${suspect}` : "its source was taken out of the domain";
  return { step: "embed", itemId, change: suspect ? "held" : "removed", reason, told: { ...heldPlace(ref), reason } };
}
