import type { Domain, SourceConfig } from "../contracts/domain.ts";
import { CancelledError, explain, NotFoundError } from "../contracts/errors.ts";
import type { JobContext } from "../contracts/job.ts";
import type { Ledger } from "../contracts/ledger.ts";
import type { Preview } from "../contracts/search-index.ts";
import type { Source } from "../contracts/source.ts";
import type { SourceRun } from "../contracts/source-kind.ts";
import { nowUtcMicros } from "../lib/time.ts";
import { noteMissingSources, preparePlan, requestOf, sourcesInPlan } from "./approval.ts";
import { archiveCrawl } from "./archive-crawl.ts";
import { isInScope, selectSources } from "./check-crawl.ts";
import { commitCrawlDraft, openCrawlDraft, sweepDeadDrafts } from "./crawl-draft.ts";
import type { CrawlRequest, CrawlResult, SourceResult } from "./crawl-request.ts";
import { type CrawledSource, crawlSource } from "./crawl-source.ts";
import { partsFor } from "./dry-run.ts";
import type { EngineParts } from "./engine-parts.ts";
import { finishErasures } from "./erase/erase.ts";
import { CLEAR_STORE, type IndexTarget, openIndexTarget } from "./index-target.ts";
import { askBeforeVectors, askQuestions, concludeQuestions } from "./questions.ts";
import { readDomain } from "./read-domain.ts";
import { finishRenames, waitingJob } from "./rename-domain.ts";
import { retireLeftInStore, retireSource } from "./retire-source.ts";
import { findRetired, sharesId } from "./retired-sources.ts";
import type { DomainCrawl } from "./run-context.ts";
import { completePlan } from "./stored-plans.ts";
import { finishSwap, openSwapTarget, sweepOtherStores } from "./swap-store.ts";

/**
 * Makes the index of a domain match its sources, by all three steps or by those that the request names:
 *
 *     source ──list──▶ sightings ──judge──▶ plan ──fetch──▶ mirror ──process──▶ documents ──judge──▶ plan ──put──▶ draft ──ask, commit──▶ index
 *     └──────────────────────── download ────────────────────────┘└────── process ──────┘└─────────── embed ───────────┘
 *
 * Sources are crawled one after the other. Where commits are atomic, all of them fill one draft, which is committed when the last one is
 * in: readers see the domain as it was before the crawl or as it is after it. Otherwise, and where each source is to be visible when
 * it is in, removals are committed when all sources are indexed. A source that fails keeps its documents, and the others go on.
 * Before such a commit the domain's questions are asked: if the draft answers worse, only removals are committed.
 */
export async function crawl(given: CrawlRequest, all: EngineParts, job: JobContext): Promise<CrawlResult> {
  const startedAt = nowUtcMicros();
  const [request, parts] = [requestOf(given, job), partsFor(all, job)];
  // What a killed process began comes first.
  await finishRenames(parts, waitingJob(job), request.domainId);
  const domain = await readDomain(request.domainId, parts, job);
  await finishErasures(domain.domainId, parts, job);
  const approved = await preparePlan(domain, request, parts);
  const problems: string[] = [];
  const target = await openTarget({ domain, request, job, problems }, parts);
  const crawl: DomainCrawl = { domain, request, job, target, problems, approved };
  const { sources, questions } = await crawlAndCommit(crawl, parts).finally(async () => {
    await target?.swap?.lease.release();
    await target?.lease?.release();
  });
  if (await isGone(domain, parts)) problems.push(`Domain '${domain.domainId}' was removed while it was crawled.`);
  if (request.storePlan !== undefined) await completePlan(request.storePlan, domain, sources, parts, job);
  const { domainId: domain_id, mode, scope, steps } = request;
  const vector_store_id = target?.store ?? "";
  const plan_id = request.storePlan ?? request.approvedPlan;
  const planned = plan_id === undefined ? {} : { plan_id };
  const outcome = { sources, problems, ...(questions && { questions }), ...planned };
  const result = { domain_id, mode, scope, steps, dry_run: job.dryRun, vector_store_id, ...outcome };
  return { ...result, report_id: await archiveCrawl(request, { ...result, startedAt }, parts, job) };
}

/** The flow: all sources fill the draft, the questions are asked, the draft is committed, and each source records what became of it. */
async function crawlAndCommit(
  crawl: DomainCrawl,
  parts: EngineParts,
): Promise<Pick<CrawlResult, "sources" | "questions">> {
  const { target, problems, job } = crawl;
  const logNothingVisible = (error: unknown): never => {
    if (target?.crawlDraft && job.signal.aborted)
      job.log("Nothing of this crawl is searchable: it ended before its commit.");
    throw error;
  };
  const crawled: CrawledSource[] = [];
  await using plans = new AsyncDisposableStack();
  const keep = (source: CrawledSource): void => {
    plans.defer(() => source.close());
    crawled.push(source);
  };
  const crawlAll = async (): Promise<void> => {
    for await (const source of crawlSources(crawl, parts)) keep(source);
  };
  await crawlAll().catch(logNothingVisible);
  for (const source of await retireLeftInStore(crawl, parts)) keep(source);
  if (target) job.progress?.({ step: "embed" });
  const unreadable = new Map(crawled.flatMap((source) => (source.unreadable ? [source.unreadable] : [])));
  const answered = await askQuestions(crawl, unreadable, parts);
  const heldDraft = answered?.verdict === "held" ? await target?.crawlDraft?.hold() : undefined;
  const { failures, generation } = await commitCrawlDraft(crawled, crawl).catch(logNothingVisible);
  const questions = answered && (await concludeQuestions(answered, { generation, heldDraft }, crawl, parts));
  const sources: SourceResult[] = [];
  // Last: a document that moved from one source to another may be found twice for a moment, never not at all.
  for (const source of crawled) {
    sources.push(await source.finish({ failure: failures.get(source), isHeld: heldDraft !== undefined }));
  }
  for (const { source_id, error } of sources) {
    if (error) problems.push(`Source '${source_id}': ${/[.?!]$/.test(error) ? error : `${error}.`}`);
  }
  noteMissingSources(sources, crawl, parts);
  const isComplete = crawled.every(({ isUnknown }) => !isUnknown);
  if (target) await concludeTarget(target, isComplete, crawl, parts);
  return { sources, ...(questions && { questions }) };
}

/**
 * Crawls the sources of the request. Without `source_id`, also removes the sources that are no longer in the domain.
 */
async function* crawlSources(crawl: DomainCrawl, parts: EngineParts): AsyncGenerator<CrawledSource> {
  const { domain, request, job } = crawl;
  const everRetired = await findRetired(domain, parts);
  const run = (config: SourceConfig): SourceRun => {
    return { domainId: domain.domainId, config, sharesId: sharesId(config, [...domain.sources, ...everRetired]) };
  };
  const selected = sourcesInPlan(selectSources(domain, request), crawl, parts);
  const leaving = request.sourceId === undefined ? everRetired.filter((config) => isInScope(config, request)) : [];
  const retired = sourcesInPlan(leaving, crawl, parts);
  const [step] = request.steps;
  const begin = ({ sourceId: source }: SourceConfig, at: number): void => {
    job.progress?.({ source, sources: { at, of: selected.length + retired.length }, ...(step && { step }) });
  };
  for (const [at, config] of selected.entries()) {
    await job.checkpoint();
    begin(config, at + 1);
    job.log(`Source '${config.sourceId}': ${config.kind.describePlace(config)}`);
    const source = run(config);
    const removalsWait = mayRemovalsWait(config, selected.length, crawl);
    const open = (ledger: Ledger): Source => openSource(source, ledger, crawl, parts);
    yield await crawlSource(source, open, crawl, parts, { removalsWait });
  }
  for (const [at, config] of retired.entries()) {
    await job.checkpoint();
    begin(config, selected.length + at + 1);
    yield await retireSource(run(config), crawl, parts);
  }
}

function openSource(run: SourceRun, ledger: Ledger, { request, job }: DomainCrawl, parts: EngineParts): Source {
  const onlyFolders = request.onlyFolders?.get(run.config.sourceId);
  return parts.openSource(run, {
    log: (line) => job.log(line),
    ledger: async () => ledger,
    force: request.mode === "full",
    checksum: request.checksum,
    ...(onlyFolders && { onlyFolders }),
  });
}

/**
 * Where sources become visible one by one, removals wait for the other sources, except in a dry run, in a swap, and for web sites, whose
 * additions and removals are one commit.
 */
function mayRemovalsWait({ kind }: SourceConfig, sources: number, { request, job, target }: DomainCrawl): boolean {
  if (target?.crawlDraft) return false;
  return sources > 1 && !job.dryRun && !request.swap && !kind.abilities.isReadWhileListed;
}

/**
 * Opens the index that this crawl writes to. undefined: the request has no embed step, or nothing can be embedded now.
 */
async function openTarget(crawl: Omit<DomainCrawl, "target">, parts: EngineParts): Promise<IndexTarget | undefined> {
  const { domain, request, job } = crawl;
  if (!request.steps.includes("embed")) return undefined;
  await sweepOtherStores(domain, parts, job);
  const opened = request.swap
    ? await openSwapTarget(crawl, parts)
    : await openIndexTarget(crawl, request.vectorStoreId, parts);
  // The time makes the name unique: job numbers start again when all jobs are deleted.
  const crawlName = request.gathered ? `items ${nowUtcMicros().slice(0, 10)}` : `${job.jobId} ${nowUtcMicros()}`;
  const target = opened && { ...opened, crawlName };
  // If the store cannot be read, each source says so when it comes to it.
  const earlierDrafts = (await target?.index.crawlDrafts?.listOpen().catch(() => [])) ?? [];
  return target && { ...target, earlierDrafts, ...(await openCrawlDraft(target, crawl, parts)) };
}

/** Finishes a swap and refreshes the vectors, when all sources are indexed. */
async function concludeTarget(
  target: IndexTarget,
  isComplete: boolean,
  crawl: DomainCrawl,
  parts: EngineParts,
): Promise<void> {
  const { job, problems } = crawl;
  if (target.swap && (await finishSwap(target, crawl, parts))) await takeOver(target, crawl, parts);
  if (isComplete) await sweepDeadDrafts(target, crawl, parts);
  const mayAnswer = (preview: Preview): Promise<boolean> => askBeforeVectors(crawl, target, preview, parts);
  try {
    await target.index.refreshVectors?.((line) => job.log(line), job.signal, mayAnswer);
  } catch (error) {
    if (job.signal.aborted) throw new CancelledError("refreshing the vectors stopped", { cause: error });
    problems.push(explainStaleVectors(error, target));
    job.log(`ERROR: ${problems.at(-1)}`);
  }
}

/** If the store was deleted, its vectors are gone too, and no search answers. */
function explainStaleVectors(error: unknown, { store, isOwn }: IndexTarget): string {
  return error instanceof NotFoundError
    ? `The vector store '${store}' does not exist any more.${isOwn ? ` ${CLEAR_STORE}` : ""}`
    : `The vectors could not be refreshed, so searches use the earlier ones: ${explain(error)}`;
}

/**
 * Runs the embed step for each source after a swap: it finds every document in the new store and writes it into the
 * domain's map files. After a kill, the next crawl does the same.
 */
async function takeOver(
  { store, index, crawlName = "" }: IndexTarget,
  crawl: DomainCrawl,
  parts: EngineParts,
): Promise<void> {
  const { domain, job, problems } = crawl;
  const request: CrawlRequest = { ...crawl.request, steps: ["embed"], mode: "incremental", swap: false, force: false };
  const target: IndexTarget = { store, index, crawlName, isOwn: true };
  for (const config of domain.sources) {
    await job.checkpoint();
    const run = { domainId: domain.domainId, config };
    const source = await crawlSource(run, neverOpened, { request, job, target }, parts);
    const { error } = await source.finish().finally(() => source.close());
    if (error) problems.push(`Source '${config.sourceId}' after the swap: ${error.replace(/\.$/, "")}.`);
    else await parts.ledgers.dropStore(run, store);
  }
}

/** The embed step does not list the source. */
function neverOpened(): Source {
  throw new Error("open source: only the embedding was asked for");
}

/** Whether the domain was deleted during the crawl, by hand or by a process that took this job for dead. */
async function isGone({ domainId }: Domain, { domains }: EngineParts): Promise<boolean> {
  try {
    await domains.get(domainId);
    return false;
  } catch (error) {
    return error instanceof NotFoundError;
  }
}
