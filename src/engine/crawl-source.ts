import { existsSync } from "node:fs";
import { join } from "node:path";
import { CancelledError, explain } from "../contracts/errors.ts";
import type { Ledger } from "../contracts/ledger.ts";
import type { Source } from "../contracts/source.ts";
import type { SourceRun } from "../contracts/source-kind.ts";
import { plural } from "../lib/text.ts";
import { sourceFolder } from "../mirror/layout.ts";
import { Mirror } from "../mirror/mirror.ts";
import { openRunPlan } from "./approval.ts";
import type { SourceResult, Step, StepCounts } from "./crawl-request.ts";
import { stopWhenFull } from "./disk-full.ts";
import { type Downloaded, download } from "./download.ts";
import { dryConverter, drySource } from "./dry-run.ts";
import { type Embedded, embed } from "./embed.ts";
import type { EngineParts } from "./engine-parts.ts";
import { extractTexts } from "./extract-texts.ts";
import type { IndexTarget } from "./index-target.ts";
import { findUnregistered, keepUnregistered, noteIndexed } from "./ingest/registered-addresses.ts";
import { planResult } from "./planned-changes.ts";
import { processOriginals } from "./process.ts";
import { purgeMissing } from "./purge-missing.ts";
import type { DomainCrawl, EmbedStep, ListingResult, Removals, SourceCrawl } from "./run-context.ts";
import { findShortfalls } from "./swap-store.ts";
import { noCounts } from "./tally.ts";
import { openStepLedgers } from "./with-ledger.ts";

/** Manifests with more files are exported by maintenance. */
const SMALL_MANIFEST = 20_000;

type OpenSource = (ledger: Ledger) => Source;

/** The result of one source. */
export interface CrawledSource {
  readonly result: SourceResult;
  /** undefined: no removals are left. */
  readonly deferred?: DeferredRemovals | undefined;
}

/** Removals that wait until all sources are indexed. The plan stays open until `close`. */
interface DeferredRemovals {
  remove(): Promise<SourceResult>;
  close(): Promise<void>;
}

/**
 * Runs the steps of the request, each under its own lease. Failures are in the result; throws only when the job is
 * cancelled. With `removals: "later"`, removed documents stay in the index until `deferred.remove`.
 */
export async function crawlSource(
  run: SourceRun,
  openSource: OpenSource,
  { request, job, target }: Pick<DomainCrawl, "request" | "job" | "target">,
  parts: EngineParts,
  removals: Removals = "now",
): Promise<CrawledSource> {
  const { dryRun } = job;
  const mirror = new Mirror(parts.crawlerFolder, sourceFolder(run.domainId, run.config), { dryRun });
  const ledgers = openStepLedgers(run, target?.isOwn ? undefined : target?.store, parts, job);
  const opened = run.config.kind.openConverter?.();
  const converter = opened && dryRun ? dryConverter(opened) : opened;
  const { plan, approval } = await openRunPlan(run, request, parts, job);
  const crawl: SourceCrawl = { run, request, job, target, mirror, ledgers, converter, plan, approval };
  let deferred: DeferredRemovals | undefined;
  try {
    const results = new StepResults(crawl);
    await results
      .attempt(async () => {
        const listing = await runDownload(crawl, openSource, results, parts);
        await runProcess(crawl, listing, results, parts);
        if (!target) return;
        const embedded = await runEmbed(crawl, target, { listing, removals }, parts);
        results.note("embed", embedded);
        if (embedded.deferred === 0) return;
        deferred = {
          remove: () => removeDeferred(crawl, target, { listing, results, documents: embedded.deferred }, parts),
          close: () => plan.close(),
        };
      })
      .finally(() => ledgers.close());
    await concludeTree(crawl, results, parts);
    return { result: await results.sum(), deferred };
  } catch (error) {
    deferred = undefined;
    throw error;
  } finally {
    if (!deferred) await plan.close();
  }
}

/** Returns undefined if this run has no download step. */
async function runDownload(
  crawl: SourceCrawl,
  openSource: OpenSource,
  results: StepResults,
  parts: EngineParts,
): Promise<ListingResult | undefined> {
  const { run, request, job, mirror } = crawl;
  if (!request.steps.includes("download")) return undefined;
  const { keepsMaps } = run.config.kind.abilities;
  if (request.mode === "incremental" && keepsMaps && !existsSync(join(mirror.folder, "files_map.csv"))) {
    job.log("files_map.csv is missing (first run, or deleted): everything is taken as with mode=full.");
  }
  let opened: Source | undefined;
  try {
    const downloaded = await crawl.ledgers.withLedger({ step: "download" }, async (held): Promise<Downloaded> => {
      opened = openSource(held.ledger);
      const step = { ...crawl, ...held };
      const source = keepUnregistered(opened, step, parts);
      return await download({ ...step, source: job.dryRun ? drySource(source) : source }, parts);
    });
    results.note("download", downloaded, downloaded.listing);
    return downloaded.listing;
  } finally {
    await opened?.close?.();
  }
}

/** Does nothing for kinds that neither convert originals nor keep extracted texts. */
async function runProcess(
  crawl: SourceCrawl,
  listing: ListingResult | undefined,
  results: StepResults,
  parts: EngineParts,
): Promise<void> {
  const { run, request, converter, ledgers } = crawl;
  const { keepsTexts } = run.config.kind.abilities;
  if (!request.steps.includes("process") || !(keepsTexts || converter)) return;
  const processed = await ledgers.withLedger({ step: "process" }, async (held) => {
    const step = { ...crawl, ...held };
    if (keepsTexts || !converter) return await extractTexts(step, listing, parts);
    return await processOriginals({ ...step, converter });
  });
  results.note("process", processed);
}

async function runEmbed(
  crawl: SourceCrawl,
  target: IndexTarget,
  { listing, removals }: Pick<EmbedStep, "listing" | "removals">,
  parts: EngineParts,
): Promise<Embedded> {
  const vectorStoreId = target.isOwn ? undefined : target.store;
  return await crawl.ledgers.withLedger({ step: "embed", vectorStoreId }, async (held) => {
    const step: EmbedStep = { ...crawl, ...held, target, listing, removals };
    if (crawl.job.dryRun) return await embed(step, parts);
    const embedded = target.isOwn ? await embedOwn(step, parts) : await embed(step, parts);
    if (target.swap) target.swap.shortfalls.push(...(await findShortfalls(embedded.failed, step)));
    return embedded;
  });
}

/** Embeds into the domain's own store, and updates `files_metadata.json` and the registry. */
async function embedOwn(step: EmbedStep, parts: EngineParts): Promise<Embedded> {
  const { run, ledger, mirror, job } = step;
  const { metadata } = parts.ledgers;
  const repository = run.config.kind.abilities.registersAddresses ? parts.itemRepository() : undefined;
  const unregistered = repository && (await findUnregistered(run, ledger, repository));
  const warn = (sentence: string): void => job.log(`WARNING: ${sentence}`);
  // New versions inherit the properties that users wrote into the file.
  await metadata.readBack(run.domainId);
  const embedded = await embed(step, parts).finally(async () => {
    for (const warning of await metadata.write(run.domainId)) warn(warning);
  });
  if (repository && unregistered) await noteIndexed(run, { ledger, mirror, repository, warn, unregistered });
  return embedded;
}

/** Runs the embed step again, for removals only: everything else is indexed by now, or has failed. */
async function removeDeferred(
  crawl: SourceCrawl,
  target: IndexTarget,
  {
    listing,
    results,
    documents,
  }: {
    readonly listing: ListingResult | undefined;
    readonly results: StepResults;
    readonly documents: number;
  },
  parts: EngineParts,
): Promise<SourceResult> {
  const { job, run } = crawl;
  await job.checkpoint();
  job.log(`Source '${run.config.sourceId}': removing ${plural(documents, "document")} from the index.`);
  await results.attempt(async () => {
    const request = { ...crawl.request, mode: "incremental", retryFailed: false, force: false } as const;
    const { counts, failed } = await runEmbed({ ...crawl, request }, target, { listing, removals: "only" }, parts);
    results.counts.embed.removed += counts.removed;
    results.counts.embed.failed += failed.length;
    if (failed.length > 0) {
      results.problems.push(
        `${plural(failed.length, "document")} could not be removed from the index; the next crawl tries again`,
      );
    }
  });
  return await results.sum();
}

/** For sources without ids: purges missing files and exports the manifest, even if a step failed. */
async function concludeTree(crawl: SourceCrawl, results: StepResults, parts: EngineParts): Promise<void> {
  const { run, request, job, target, approval } = crawl;
  if (run.config.kind.abilities.hasIds || job.dryRun) return;
  // An approved plan contains no purge.
  if (target?.isOwn && !approval) {
    await results.attempt(async () => void (await purgeMissing(run, target.index, parts, job)));
  }
  // In watch mode it would be written again and again.
  if (!request.gathered) {
    await results.attempt(() => parts.ledgers.exportManifest(run, { upTo: SMALL_MANIFEST }));
  }
}

/** What one step did. `problems` has one sentence per problem. */
export interface StepResult {
  readonly counts: StepCounts;
  readonly problems: readonly string[];
}

/** Collects the results of the steps of one source. */
class StepResults {
  readonly counts = { download: noCounts(), process: noCounts(), embed: noCounts() };
  readonly problems: string[] = [];
  readonly #crawl: SourceCrawl;
  #listing: Pick<ListingResult, "complete" | "hiddenRows"> = { complete: false, hiddenRows: 0 };

  constructor(crawl: SourceCrawl) {
    this.#crawl = crawl;
  }

  note(step: Step, result: StepResult, listing?: ListingResult): void {
    this.counts[step] = result.counts;
    this.problems.push(...result.problems);
    if (listing) this.#listing = listing;
  }

  /** Runs `steps`. An error becomes a problem of the source; only a cancelled job and a full disk throw. */
  async attempt(steps: () => Promise<void>): Promise<void> {
    try {
      await steps();
    } catch (error) {
      if (error instanceof CancelledError) throw error;
      stopWhenFull(error);
      const why = explain(error);
      // Two steps often fail for the same reason.
      if (this.problems.includes(why)) return;
      const { run, target, job } = this.#crawl;
      target?.swap?.shortfalls.push(`source '${run.config.sourceId}': ${why}`);
      job.log(`ERROR: source '${run.config.sourceId}' could not be finished: ${why}`);
      this.problems.push(why);
    }
  }

  async sum(): Promise<SourceResult> {
    const { run, job, plan, approval } = this.#crawl;
    const { complete, hiddenRows } = this.#listing;
    return {
      source_id: run.config.sourceId,
      source_type: run.config.sourceType,
      complete,
      ...(hiddenRows > 0 && { hidden_rows: hiddenRows }),
      ...this.counts,
      error: this.problems.join("; "),
      ...(job.dryRun && (await planResult(plan))),
      ...(approval && { kept_to_plan: approval.result() }),
    };
  }
}
