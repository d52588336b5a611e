import { existsSync } from "node:fs";
import { join } from "node:path";
import type { SourceConfig } from "../contracts/domain.ts";
import { CancelledError, explain, NotFoundError } from "../contracts/errors.ts";
import type { JobContext } from "../contracts/job.ts";
import type { PlannedItem } from "../contracts/plan.ts";
import type { IndexedRef } from "../contracts/search-index.ts";
import type { SourceRun } from "../contracts/source-kind.ts";
import { plural } from "../lib/text.ts";
import { sourceFolder } from "../mirror/layout.ts";
import { garbage } from "../plan/removals.ts";
import { openRunPlan, sourcesInPlan } from "./approval.ts";
import { type SourceResult, STEPS } from "./crawl-request.ts";
import { type CrawledSource, crawlSource } from "./crawl-source.ts";
import { silentIfDry } from "./dry-run.ts";
import type { EngineParts } from "./engine-parts.ts";
import { holdInSource, sayHold } from "./erase/holds.ts";
import type { IndexTarget } from "./index-target.ts";
import { forgetMembers } from "./ingest/remove-items.ts";
import { findUnapprovedLeftovers, placeInStore } from "./plan-index.ts";
import { planResult, TAKEN_OUT } from "./planned-changes.ts";
import { endRetentionOf, retiredInStore, retiredSource } from "./retired-sources.ts";
import type { DomainCrawl } from "./run-context.ts";
import { HOW_TO_CONFIRM, noCounts } from "./tally.ts";

/** Removes everything of a source that is no longer in the domain: first its documents, then its files. If the guard holds the documents, the files stay. */
export async function retireSource(source: SourceRun, crawl: DomainCrawl, parts: EngineParts): Promise<CrawledSource> {
  const run: SourceRun = { ...source, isRetired: true };
  crawl.job.log(`Source '${run.config.sourceId}' is no longer in the domain: removing its documents and files.`);
  const removed = await removeDocuments(run, crawl, parts);
  return { ...removed, finish: async (commit) => finishRetired(run, await removed.finish(commit), crawl, parts) };
}

async function finishRetired(
  run: SourceRun,
  result: SourceResult,
  { request, target, job }: DomainCrawl,
  parts: EngineParts,
): Promise<SourceResult> {
  if (result.error) return { ...result, error: `it was taken out of the domain; ${result.error}` };
  const isGone = target?.isOwn === true && STEPS.every((step) => request.steps.includes(step));
  // Items that the approved plan leaves out must stay.
  if (!isGone || request.approvedPlan !== undefined) return result;
  const hold = holdInSource((await parts.erasures.read(run.domainId)).holds, run.config.sourceId);
  if (hold) {
    job.log(`Source '${run.config.sourceId}': its folder stays. ${sayHold(hold, run.domainId)}`);
    return result;
  }
  const { registersAddresses, hasIds } = run.config.kind.abilities;
  if (registersAddresses) {
    await forgetMembers(run.domainId, [run.config.sourceId], parts.itemRepository(), (sentence) => {
      job.log(`WARNING: ${sentence}`);
    });
  }
  if (!hasIds) await endRetentionOf(run, target.index, parts);
  await parts.ledgers.forget(run);
  const mirror = parts.openMirror(run);
  await mirror.destroy();
  return result;
}

/** Retires sources that are neither in the domain nor on disk, but have documents in the store. */
export async function retireLeftInStore(crawl: DomainCrawl, parts: EngineParts): Promise<CrawledSource[]> {
  const { domain, request, target, job, problems } = crawl;
  if (!target || request.sourceId !== undefined || request.scope !== "all") return [];
  const results: CrawledSource[] = [];
  try {
    const retired = await retiredInStore(domain, target.index, parts);
    for (const config of sourcesInPlan(retired, crawl, parts)) {
      await job.checkpoint();
      results.push(await retireSource({ domainId: domain.domainId, config }, crawl, parts));
    }
  } catch (error) {
    if (error instanceof CancelledError || job.signal.aborted) throw error;
    // A store that is gone is reported elsewhere.
    if (error instanceof NotFoundError) return results;
    problems.push(`The vector store could not be checked for documents of removed sources: ${explain(error)}`);
    job.log(`ERROR: ${problems.at(-1)}`);
  }
  return results;
}

/** Removes the documents of a source. Without a download step or a mirror, only the store knows them. */
async function removeDocuments(run: SourceRun, crawl: DomainCrawl, parts: EngineParts): Promise<CrawledSource> {
  const { request, target, job } = crawl;
  const isOnlyInStore = !existsSync(join(parts.crawlerFolder, sourceFolder(run.domainId, run.config)));
  if (target && (isOnlyInStore || !(target.isOwn || request.steps.includes("download")))) {
    const failed = (error: unknown): SourceResult => {
      if (error instanceof CancelledError || job.signal.aborted) throw error;
      job.progress?.({ hasFailed: true });
      job.log(`ERROR: source '${run.config.sourceId}' could not be finished: ${explain(error)}`);
      return emptyResult(run.config, explain(error));
    };
    try {
      job.progress?.({ step: "embed" });
      const removed = await removeFromStore(run, target, crawl, parts);
      return { ...removed, finish: (commit) => removed.finish(commit).catch(failed) };
    } catch (error) {
      const result = failed(error);
      return { finish: async () => result, close: async () => undefined };
    }
  }
  return await crawlSource(run, () => retiredSource(run.config), crawl, parts);
}

/**
 * Removes a source's documents from a store, whatever is left of its mirror: another store than the domain's own is
 * often updated when the folder is gone already. The removal guard applies.
 */
async function removeFromStore(
  run: SourceRun,
  target: IndexTarget,
  { request, job }: DomainCrawl,
  parts: EngineParts,
): Promise<CrawledSource> {
  const { plan, approval } = await openRunPlan(run, request, parts);
  const all = await storedOf(run, target, parts);
  const unapproved = await findUnapprovedLeftovers(all, { approval, job });
  const stored = all.filter(({ itemId }) => !unapproved.has(itemId));
  const { confirmDeletes } = request;
  const guard = { known: stored.length, listed: 0, limits: run.config.limits, confirmDeletes };
  const { heldBecause } = garbage(stored, { isCertain: true, guard });
  for (const ref of stored) plan.add(planned(ref, heldBecause));
  const planResults = await planResult(plan, job).finally(() => plan.close());
  const staged = heldBecause ? NOTHING_STAGED : await removeAll(stored, run, target, silentIfDry(job));
  const conclude = async (failed: readonly string[]): Promise<SourceResult> => {
    const problems: string[] = [];
    if (heldBecause) {
      const what = plural(stored.length, "document is", "documents are");
      problems.push(`${what} still in the vector store, held because ${heldBecause}. ${HOW_TO_CONFIRM}`);
    }
    if (failed.length > 0) problems.push(`${plural(failed.length, "document")} could not be removed: ${failed[0]}`);
    else if (!heldBecause && !target.isOwn && stored.length === all.length) {
      await parts.ledgers.dropStore(run, target.store);
    }
    const embed = {
      ...noCounts(),
      removed: heldBecause ? 0 : stored.length - failed.length,
      held: heldBecause ? stored.length : 0,
    };
    return {
      ...emptyResult(run.config, problems.join("; ")),
      complete: true,
      embed: { ...embed, failed: failed.length },
      ...planResults,
      ...(approval && { kept_to_plan: approval.result() }),
    };
  };
  return {
    staged: staged.draft,
    close: async () => undefined,
    finish: async ({ failure } = {}) => {
      if (failure !== undefined) throw failure;
      return await conclude(staged.failed);
    },
  };
}

/** The removals of a source; `draft`: its part of the crawl's draft. */
interface StagedRemovals {
  readonly draft?: NonNullable<CrawledSource["staged"]>;
  /** Why documents could not be removed, one sentence each. */
  readonly failed: readonly string[];
}

const NOTHING_STAGED: StagedRemovals = { failed: [] };

/** The result of a source for which nothing was done. */
function emptyResult({ sourceId, sourceType }: SourceConfig, error: string): SourceResult {
  const counts = { download: noCounts(), process: noCounts(), embed: noCounts() };
  return { source_id: sourceId, source_type: sourceType, complete: false, ...counts, error };
}

/** Returns the documents to remove. If a source of another kind has the same id, only those with a row of this one. */
async function storedOf(
  run: SourceRun,
  { index, store, isOwn }: IndexTarget,
  parts: EngineParts,
): Promise<IndexedRef[]> {
  const stored = (await Array.fromAsync(index.holdings(run.config.sourceId))).flat();
  if (!run.sharesId || stored.length === 0) return stored;
  const ledger = await parts.ledgers.open(run, { readOnly: true, vectorStoreId: isOwn ? undefined : store });
  const named = new Set((await Array.fromAsync(ledger.items())).flat());
  return stored.filter(({ itemId }) => named.has(itemId));
}

async function removeAll(
  stored: readonly IndexedRef[],
  { config }: SourceRun,
  { index, crawlName, crawlDraft }: IndexTarget,
  job: JobContext,
): Promise<StagedRemovals> {
  if (stored.length === 0) return NOTHING_STAGED;
  const own = crawlDraft ? undefined : await index.draft(config.sourceId, crawlName);
  const draft = own ?? (await crawlDraft?.source(config.sourceId));
  if (!draft) return NOTHING_STAGED;
  try {
    for (const { itemId } of stored) await draft.remove(itemId);
    // The source was removed on purpose, so the store may become empty.
    const allowEmpty = true;
    await draft.stage(job.signal, { allowEmpty });
    const { failed } = (await own?.commit(job.signal, { allowEmpty })) ?? { failed: [] };
    job.log(`Index: ${stored.length - failed.length} removed.`);
    for (const { itemId, reason } of failed) job.log(`ERROR: index '${itemId}': ${reason}`);
    const staged = crawlDraft && { draft: { allowEmpty, discard: () => draft.discard() } };
    return { ...staged, failed: failed.map(({ reason }) => reason) };
  } catch (error) {
    await draft.discard();
    throw error;
  }
}

function planned(ref: IndexedRef, heldBecause: string): PlannedItem {
  const { itemId } = ref;
  const reason = heldBecause ? `held: ${heldBecause}` : TAKEN_OUT;
  return {
    step: "embed",
    itemId,
    change: heldBecause ? "held" : "removed",
    reason,
    told: { ...placeInStore(ref), reason },
  };
}
