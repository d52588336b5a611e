import { existsSync } from "node:fs";
import { join } from "node:path";
import type { SourceConfig } from "../contracts/domain.ts";
import { CancelledError, explain, NotFoundError } from "../contracts/errors.ts";
import type { ItemId } from "../contracts/ids.ts";
import type { JobContext } from "../contracts/job.ts";
import type { PlannedItem } from "../contracts/plan.ts";
import type { IndexedRef } from "../contracts/search-index.ts";
import type { SourceRun } from "../contracts/source-kind.ts";
import { plural } from "../lib/text.ts";
import { sourceFolder } from "../mirror/layout.ts";
import { Mirror } from "../mirror/mirror.ts";
import { heldBecause } from "../plan/removal-guard.ts";
import { openRunPlan } from "./approval.ts";
import { type SourceResult, STEPS } from "./crawl-request.ts";
import { crawlSource } from "./crawl-source.ts";
import type { EngineParts } from "./engine-parts.ts";
import type { IndexTarget } from "./index-target.ts";
import { forgetMembers } from "./ingest/remove-items.ts";
import { findUnapprovedLeftovers, heldPlace } from "./plan-index.ts";
import { planResult } from "./planned-changes.ts";
import { endRetentionOf, retiredInStore, retiredSource } from "./retired-sources.ts";
import type { DomainCrawl } from "./run-context.ts";
import { HOW_TO_CONFIRM, noCounts } from "./tally.ts";

/** Removes a source that was taken out of the domain, with all it had, once nothing of it is held. */
export async function retireSource(run: SourceRun, crawl: DomainCrawl, parts: EngineParts): Promise<SourceResult> {
  const { request, target, job } = crawl;
  job.log(`Source '${run.config.sourceId}' is not in the domain any more: what it had is removed.`);
  const result = await removeDocuments(run, crawl, parts);
  if (result.error) return { ...result, error: `it was taken out of the domain; ${result.error}` };
  const isGone = target?.isOwn === true && STEPS.every((step) => request.steps.includes(step));
  // What a plan of somebody's leaves alone must not go with the rest.
  if (!isGone || job.dryRun || request.planId !== undefined) return result;
  const { registersAddresses, hasIds } = run.config.kind.abilities;
  if (registersAddresses) {
    await forgetMembers(run.domainId, [run.config.sourceId], parts.itemRepository(), (sentence) => {
      job.log(`WARNING: ${sentence}`);
    });
  }
  if (!hasIds) await endRetentionOf(run, target.index, parts);
  await parts.ledgers.forget(run);
  const mirror = new Mirror(parts.crawlerFolder, sourceFolder(run.domainId, run.config));
  await mirror.destroy();
  return result;
}

/** Sources that are neither in the domain nor on our disk any more, and of which the store still has something. */
export async function retireLeftInStore(crawl: DomainCrawl, parts: EngineParts): Promise<SourceResult[]> {
  const { domain, request, target, job, problems } = crawl;
  if (!target || request.sourceId !== undefined || request.scope !== "all") return [];
  const results: SourceResult[] = [];
  try {
    for (const config of await retiredInStore(domain, target.index, parts)) {
      await job.checkpoint();
      results.push(await retireSource({ domainId: domain.domainId, config }, crawl, parts));
    }
  } catch (error) {
    if (error instanceof CancelledError || job.signal.aborted) throw error;
    // A store that is gone is reported elsewhere.
    if (error instanceof NotFoundError) return results;
    problems.push(`What is left in the vector store of sources that were taken out is not known: ${explain(error)}`);
    job.log(`ERROR: ${problems.at(-1)}`);
  }
  return results;
}

/** Where no step looks at the mirror, or none is left of it, only the store can tell what there is to remove. */
async function removeDocuments(run: SourceRun, crawl: DomainCrawl, parts: EngineParts): Promise<SourceResult> {
  const { request, target, job } = crawl;
  const isOnlyInStore = !existsSync(join(parts.crawlerFolder, sourceFolder(run.domainId, run.config)));
  if (target && (isOnlyInStore || !(target.isOwn || request.steps.includes("download")))) {
    return await leaveStore(run, target, crawl, parts).catch((error: unknown) => {
      if (error instanceof CancelledError || job.signal.aborted) throw error;
      job.log(`ERROR: source '${run.config.sourceId}' could not be finished: ${explain(error)}`);
      return emptyResult(run.config, explain(error));
    });
  }
  const { result } = await crawlSource(run, () => retiredSource(run.config), crawl, parts);
  // Nothing was removed at the source: nobody lists it any more.
  const reason = TAKEN_OUT;
  const planned = result.planned?.map((one) => (one.change === "removed" ? { ...one, reason } : one));
  return planned ? { ...result, planned } : result;
}

const TAKEN_OUT = "its source was taken out of the domain";

/**
 * A source that was taken out of the domain leaves a store, whatever is left of its mirror: another store than the domain's
 * own is often brought in step when the folder is gone already. The guard is that of any removal.
 */
async function leaveStore(
  run: SourceRun,
  target: IndexTarget,
  { request, job }: DomainCrawl,
  parts: EngineParts,
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
function emptyResult({ sourceId, sourceType }: SourceConfig, error: string): SourceResult {
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
  const reason = suspect ? `held: ${suspect}` : TAKEN_OUT;
  return { step: "embed", itemId, change: suspect ? "held" : "removed", reason, told: { ...heldPlace(ref), reason } };
}
