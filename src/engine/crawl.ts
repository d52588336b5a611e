import type { Domain, SourceConfig } from "../contracts/domain.ts";
import { CancelledError, explain, NotFoundError } from "../contracts/errors.ts";
import type { JobContext } from "../contracts/job.ts";
import type { Ledger } from "../contracts/ledger.ts";
import type { Source } from "../contracts/source.ts";
import type { SourceRun } from "../contracts/source-kind.ts";
import { nowUtcMicros } from "../lib/time.ts";
import { preparePlan } from "./approval.ts";
import { archiveCrawl } from "./archive-crawl.ts";
import { isInScope, selectSources } from "./check-crawl.ts";
import type { CrawlRequest, CrawlResult, SourceResult } from "./crawl-request.ts";
import { type CrawledSource, crawlSource } from "./crawl-source.ts";
import type { EngineParts } from "./engine-parts.ts";
import { CLEAR_STORE, type IndexTarget, openIndexTarget } from "./index-target.ts";
import { readDomain } from "./read-domain.ts";
import { finishRenames, waitingJob } from "./rename-domain.ts";
import { retireLeftInStore, retireSource } from "./retire-source.ts";
import { findRetired, sharesId } from "./retired-sources.ts";
import type { DomainCrawl, Removals } from "./run-context.ts";
import { finishSwap, openSwapTarget, sweepOtherStores } from "./swap-store.ts";

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
  await finishRenames(parts, waitingJob(job), request.domainId);
  const domain = await readDomain(request.domainId, parts, job);
  await preparePlan(domain, request, parts, job);
  const problems: string[] = [];
  const target = await openTarget({ domain, request, job, problems }, parts);
  const crawl: DomainCrawl = { domain, request, job, target, problems };
  const crawled: CrawledSource[] = [];
  const sources: SourceResult[] = [];
  try {
    for await (const one of crawlSources(crawl, parts)) crawled.push(one);
    for (const result of await retireLeftInStore(crawl, parts)) crawled.push({ result });
    // Last: a document that moved from one source to another is found twice for a moment, never not at all.
    for (const { result, deferred } of crawled) sources.push(deferred ? await deferred.remove() : result);
    for (const { source_id, error } of sources) {
      if (error) problems.push(`Source '${source_id}': ${/[.?!]$/.test(error) ? error : `${error}.`}`);
    }
    if (target && !job.dryRun) await concludeTarget(target, crawl, parts);
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

/** Crawls the sources of the request; if it names none, then removes those that are not in the domain any more. */
async function* crawlSources(crawl: DomainCrawl, parts: EngineParts): AsyncGenerator<CrawledSource> {
  const { domain, request, job } = crawl;
  const everRetired = await findRetired(domain, parts);
  const run = (config: SourceConfig): SourceRun => {
    return { domainId: domain.domainId, config, sharesId: sharesId(config, [...domain.sources, ...everRetired]) };
  };
  const selected = selectSources(domain, request);
  for (const config of selected) {
    await job.checkpoint();
    job.log(`Source '${config.sourceId}': ${config.kind.describePlace(config)}`);
    const source = run(config);
    const removals = removalsOf(config, selected.length, crawl);
    yield await crawlSource(source, (ledger) => openSource(source, ledger, crawl, parts), crawl, parts, removals);
  }
  if (request.sourceId !== undefined) return;
  for (const config of everRetired.filter((one) => isInScope(one, request))) {
    await job.checkpoint();
    yield { result: await retireSource(run(config), crawl, parts) };
  }
}

function openSource(run: SourceRun, ledger: Ledger, { request, job }: DomainCrawl, parts: EngineParts): Source {
  const onlyFolders = request.onlyFolders?.get(run.config.sourceId);
  return parts.openSource(run, {
    log: (line) => job.log(line),
    ledger: async () => ledger,
    dryRun: job.dryRun,
    force: request.mode === "full",
    checksum: request.checksum,
    ...(onlyFolders && { onlyFolders }),
  });
}

/** A site is one thing to its readers: what is gone from it leaves in the moment in which the rest arrives. */
function removalsOf({ kind }: SourceConfig, sources: number, { request, job }: DomainCrawl): Removals {
  const mayWait = sources > 1 && !job.dryRun && !request.swap && !kind.abilities.isReadWhileListed;
  return mayWait ? "later" : "now";
}

/** Where the documents of this crawl go. undefined: nowhere, since nobody asked or nothing can be embedded now. */
async function openTarget(crawl: Omit<DomainCrawl, "target">, parts: EngineParts): Promise<IndexTarget | undefined> {
  const { domain, request, job } = crawl;
  if (!request.steps.includes("embed")) return undefined;
  if (!job.dryRun) await sweepOtherStores(domain, parts, job);
  const target = request.swap
    ? await openSwapTarget(crawl, parts)
    : await openIndexTarget(crawl, request.vectorStoreId, parts);
  // With the time: job numbers may be used again when all jobs that had one are removed.
  const name = request.gathered ? `items ${nowUtcMicros().slice(0, 10)}` : `${job.jobId} ${nowUtcMicros()}`;
  return target && { ...target, crawl: name };
}

/** What is due when all sources are in the index. */
async function concludeTarget(target: IndexTarget, crawl: DomainCrawl, parts: EngineParts): Promise<void> {
  const { job, problems } = crawl;
  if (target.swap && (await finishSwap(target, crawl, parts))) await takeOver(target, crawl, parts);
  try {
    await target.index.refreshVectors?.((line) => job.log(line), job.signal);
  } catch (error) {
    if (job.signal.aborted) throw new CancelledError("refreshing the vectors stopped", { cause: error });
    problems.push(sayStale(error, target));
    job.log(`ERROR: ${problems.at(-1)}`);
  }
}

/** Where the store was deleted, the earlier vectors went with it: then nothing answers. */
function sayStale(error: unknown, { store, isOwn }: IndexTarget): string {
  return error instanceof NotFoundError
    ? `The vector store '${store}' does not exist any more.${isOwn ? ` ${CLEAR_STORE}` : ""}`
    : `The vectors could not be brought up to date, and the earlier ones answer: ${explain(error)}`;
}

/**
 * After a swap the store is the domain's own: an embed step finds everything in it and writes it into the domain's map files.
 * Killed before its end, the next crawl does the same.
 */
async function takeOver(
  { store, index, crawl: name = "" }: IndexTarget,
  crawl: DomainCrawl,
  parts: EngineParts,
): Promise<void> {
  const { domain, job, problems } = crawl;
  const request: CrawlRequest = { ...crawl.request, steps: ["embed"], mode: "incremental", swap: false };
  const target: IndexTarget = { store, index, crawl: name, isOwn: true };
  for (const config of domain.sources) {
    await job.checkpoint();
    const run = { domainId: domain.domainId, config };
    const { error } = (await crawlSource(run, neverOpened, { request, job, target }, parts)).result;
    if (error) problems.push(`Source '${config.sourceId}' after the swap: ${error.replace(/\.$/, "")}.`);
    else await parts.ledgers.dropStore(run, store);
  }
}

/** The embed step does not list the source. */
function neverOpened(): Source {
  throw new Error("open source: only the embedding was asked for");
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
