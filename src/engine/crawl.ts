import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Domain, SourceConfig } from "../contracts/domain.ts";
import { CancelledError, explain, NotFoundError } from "../contracts/errors.ts";
import type { JobContext } from "../contracts/job.ts";
import type { Ledger } from "../contracts/ledger.ts";
import type { Source } from "../contracts/source.ts";
import type { SourceRun } from "../contracts/source-kind.ts";
import { nowUtcMicros } from "../lib/time.ts";
import { sourceFolder } from "../mirror/layout.ts";
import { Mirror } from "../mirror/mirror.ts";
import { preparePlan } from "./approval.ts";
import { archiveCrawl } from "./archive-crawl.ts";
import { concludeTarget, openTarget } from "./crawl-index.ts";
import { type CrawlRequest, type CrawlResult, type SourceResult, STEPS } from "./crawl-request.ts";
import { type CrawledSource, crawlSource } from "./crawl-source.ts";
import type { Removals } from "./embed.ts";
import type { EngineParts } from "./engine-parts.ts";
import type { IndexTarget } from "./index-target.ts";
import { forgetMembers } from "./ingest/remove-items.ts";
import { emptyResult, leaveStore } from "./leave-store.ts";
import { readDomain } from "./read-domain.ts";
import { settleRenames, waitingJob } from "./rename-domain.ts";
import { findRetired, letGoOfRetired, retiredInStore, retiredSource, sharesId } from "./retired-sources.ts";

/**
 * Brings a domain in step with its sources, or takes some of the steps to it:
 *
 *     source ──list──▶ detect ──plan──▶ fetch ──▶ mirror ──▶ process ──▶ extract ──▶ draft ──commit──▶ index
 *     └───────────────── download ─────────────────────┘                └──────────── embed ─────────────┘
 *
 * One source after the other, each with its own draft; what is gone leaves the index when all of them are in it. A source
 * that fails keeps what it had while the others go on.
 */
export async function crawl(request: CrawlRequest, parts: EngineParts, job: JobContext): Promise<CrawlResult> {
  const startedAt = nowUtcMicros();
  await settleRenames(parts, waitingJob(job), request.domainId);
  const domain = await readDomain(request.domainId, parts, job);
  await preparePlan(domain, request, parts, job);
  const problems: string[] = [];
  const target = await openTarget(domain, request, parts, job, problems);
  const sources: SourceResult[] = [];
  const crawled: CrawledSource[] = [];
  try {
    for await (const one of crawlSources(domain, request, target, parts, job)) crawled.push(one);
    for (const result of await leftInStore(domain, request, target, parts, job, problems)) {
      crawled.push({ result });
    }
    // Last, so that a document that moved from one source to another is found twice for a moment, never not at all.
    for (const { result, deferred } of crawled) sources.push(deferred ? await deferred.remove() : result);
    for (const { source_id, error } of sources) {
      if (error) problems.push(`Source '${source_id}': ${/[.?!]$/.test(error) ? error : `${error}.`}`);
    }
    if (target) await concludeTarget(domain, request, target, parts, job, problems);
  } finally {
    // Another crawl waits for the lease, whatever becomes of the plans.
    await target?.swap?.lease.release();
    for (const { deferred } of crawled) await deferred?.close();
  }
  if (await isGone(domain, parts)) problems.push(`Domain '${domain.domainId}' was removed while it was crawled.`);
  if (job.dryRun && request.planId !== undefined) await parts.ledgers.completePlan(domain.domainId, request.planId);
  const { domainId: domain_id, mode, scope, steps } = request;
  const vector_store_id = target?.store ?? "";
  const result = { domain_id, mode, scope, steps, dry_run: job.dryRun, vector_store_id, sources, problems };
  return { ...result, report_id: await archiveCrawl(request, { ...result, startedAt }, parts, job) };
}

/** Removed by hand, or by somebody who took this job for dead. */
async function isGone({ domainId }: Domain, { domains }: EngineParts): Promise<boolean> {
  try {
    await domains.get(domainId);
    return false;
  } catch (error) {
    return error instanceof NotFoundError;
  }
}

/** Those of the request, then, if it names none, those that are not in the domain any more. */
async function* crawlSources(
  domain: Domain,
  request: CrawlRequest,
  target: IndexTarget | undefined,
  parts: EngineParts,
  job: JobContext,
): AsyncGenerator<CrawledSource> {
  const everRetired = await findRetired(domain, parts);
  const retired = everRetired.filter((one) => isInScope(one, request));
  const run = (config: SourceConfig): SourceRun => {
    return { domainId: domain.domainId, config, sharesId: sharesId(config, [...domain.sources, ...everRetired]) };
  };
  const selected = selectSources(domain, request);
  const removals = selected.length > 1 && !job.dryRun && !request.swap ? "later" : "now";
  for (const config of selected) {
    await job.checkpoint();
    job.log(`Source '${config.sourceId}': ${config.kind.describePlace(config)}`);
    const source = run(config);
    const onlyFolders = request.onlyFolders?.get(config.sourceId);
    const options = {
      log: (line: string) => job.log(line),
      dryRun: job.dryRun,
      force: request.mode === "full",
      checksum: request.checksum,
      ...(onlyFolders && { onlyFolders }),
    };
    const open = (ledger: Ledger): Source => parts.openSource(source, { ...options, ledger: async () => ledger });
    yield await crawlSource(source, open, request, target, parts, job, removalsOf(config, removals));
  }
  for (const config of request.sourceId === undefined ? retired : []) {
    await job.checkpoint();
    yield { result: await retireSource(run(config), request, target, parts, job) };
  }
}

/** Sources that are neither in the domain nor on our disk any more, and of which the store still has something. */
async function leftInStore(
  domain: Domain,
  request: CrawlRequest,
  target: IndexTarget | undefined,
  parts: EngineParts,
  job: JobContext,
  problems: string[],
): Promise<SourceResult[]> {
  if (!target || request.sourceId !== undefined || request.scope !== "all") return [];
  const results: SourceResult[] = [];
  try {
    for (const config of await retiredInStore(domain, target.index, parts)) {
      await job.checkpoint();
      results.push(await retireSource({ domainId: domain.domainId, config }, request, target, parts, job));
    }
  } catch (error) {
    if (error instanceof CancelledError || job.signal.aborted) throw error;
    // Who finds the store gone says so elsewhere.
    if (error instanceof NotFoundError) return results;
    problems.push(`What is left in the vector store of sources that were taken out is not known: ${explain(error)}`);
    job.log(`ERROR: ${problems.at(-1)}`);
  }
  return results;
}

/** A site is one thing to its readers: what is gone from it leaves in the moment in which the rest arrives. */
function removalsOf({ kind }: SourceConfig, usual: Removals): Removals {
  return kind.abilities.isReadWhileListed ? "now" : usual;
}

/** The sources a request means. NotFoundError for one that the domain does not have. */
export function selectSources(
  domain: Domain,
  request: Pick<CrawlRequest, "sourceId" | "scope">,
): readonly SourceConfig[] {
  const inScope = domain.sources.filter((config) => isInScope(config, request));
  if (request.sourceId === undefined) return inScope;
  const found = inScope.filter(({ sourceId }) => sourceId === request.sourceId);
  if (found.length > 0) return found;
  const known = inScope.map(({ sourceId }) => `'${sourceId}'`).join(", ") || "none";
  const where = request.scope === "all" ? "" : ` in scope '${request.scope}'`;
  throw new NotFoundError(
    `Source '${request.sourceId}' does not exist in domain '${domain.domainId}'${where}. It has: ${known}.`,
  );
}

function isInScope({ kind }: SourceConfig, { scope }: Pick<CrawlRequest, "scope">): boolean {
  return scope === "all" || scope === kind.scope;
}

/** A source that was taken out of the domain leaves with all it had, once nothing of it is held. */
async function retireSource(
  run: SourceRun,
  request: CrawlRequest,
  target: IndexTarget | undefined,
  parts: EngineParts,
  job: JobContext,
): Promise<SourceResult> {
  job.log(`Source '${run.config.sourceId}' is not in the domain any more: what it had is removed.`);
  const result = await retire(run, request, target, parts, job);
  if (result.error) return { ...result, error: `it was taken out of the domain; ${result.error}` };
  const isGone = target?.isOwn === true && STEPS.every((step) => request.steps.includes(step));
  // What a plan of somebody's leaves alone must not go with the rest.
  if (!isGone || job.dryRun || request.planId !== undefined) return result;
  const { registersAddresses, hasIds } = run.config.kind.abilities;
  if (registersAddresses) {
    await forgetMembers(run.domainId, [run.config.sourceId], parts.shelf(), (sentence) => {
      job.log(`WARNING: ${sentence}`);
    });
  }
  if (!hasIds) await letGoOfRetired(run, target.index, parts);
  await parts.ledgers.forget(run);
  const mirror = new Mirror(parts.crawlerFolder, sourceFolder(run.domainId, run.config));
  await mirror.destroy();
  return result;
}

/** Where no step looks at the mirror, or none is left of it, only the store can tell what there is to remove. */
async function retire(
  run: SourceRun,
  request: CrawlRequest,
  target: IndexTarget | undefined,
  parts: EngineParts,
  job: JobContext,
): Promise<SourceResult> {
  const isOnlyInStore = !existsSync(join(parts.crawlerFolder, sourceFolder(run.domainId, run.config)));
  if (target && (isOnlyInStore || !(target.isOwn || request.steps.includes("download")))) {
    return await leaveStore(run, request, target, parts, job).catch((error: unknown) => {
      if (error instanceof CancelledError || job.signal.aborted) throw error;
      job.log(`ERROR: source '${run.config.sourceId}' could not be finished: ${explain(error)}`);
      return emptyResult(run.config, explain(error));
    });
  }
  const { result } = await crawlSource(run, () => retiredSource(run.config), request, target, parts, job);
  return sayRetired(result);
}

/** Nothing was removed at the source: nobody looks at it any more. */
function sayRetired(result: SourceResult): SourceResult {
  const reason = "its source was taken out of the domain";
  const planned = result.planned?.map((one) => (one.change === "removed" ? { ...one, reason } : one));
  return planned ? { ...result, planned } : result;
}
