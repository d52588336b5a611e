import { existsSync } from "node:fs";
import { join } from "node:path";
import { CancelledError, explain } from "../contracts/errors.ts";
import type { ItemId, SourceId } from "../contracts/ids.ts";
import type { Ledger } from "../contracts/ledger.ts";
import type { Source } from "../contracts/source.ts";
import type { SourceRun } from "../contracts/source-kind.ts";
import { plural } from "../lib/text.ts";
import { openRunPlan } from "./approval.ts";
import type { PlanInDraft } from "./commit-plan.ts";
import { countLeftOut, type SourceResult, type Step, type StepCounts } from "./crawl-request.ts";
import { stopWhenFull } from "./disk-full.ts";
import { type Downloaded, download } from "./download.ts";
import { type Embedded, embed, finishEmbed, isUnfinished } from "./embed.ts";
import type { EngineParts } from "./engine-parts.ts";
import { acknowledgedIn, countFailures, ITEM_PROBLEMS } from "./failures.ts";
import type { IndexTarget } from "./index-target.ts";
import { findUnregistered, keepUnregistered, noteIndexed } from "./ingest/registered-addresses.ts";
import { planResult } from "./planned-changes.ts";
import { needsProcessing, process } from "./process.ts";
import { purgeMissing } from "./purge-missing.ts";
import type { DomainCrawl, EmbedStep, ListingResult, SourceCrawl } from "./run-context.ts";
import { findShortfalls } from "./swap-store.ts";
import { noCounts } from "./tally.ts";
import { openStepLedgers } from "./with-ledger.ts";

/** Manifests with more files are exported by maintenance. */
const SMALL_MANIFEST = 20_000;

type OpenSource = (ledger: Ledger) => Source;

/** A source whose steps are done, as far as they can be before the other sources are in. */
export interface CrawledSource {
  /** Its part of the crawl's draft; undefined: nothing of it becomes visible with the crawl. */
  readonly staged?: Pick<PlanInDraft, "allowEmpty" | "discard"> | undefined;
  /** Its embed step failed, so it is not known what the index should have of it. */
  readonly isUnknown?: boolean;
  /** Items that the source has, and whose file cannot be read (any more). */
  readonly unreadable?: readonly [SourceId, ReadonlySet<ItemId>];
  /** Records the commit in the ledger. Call it when all sources are in and their draft is committed. */
  finish(commit?: CommitOfSource): Promise<SourceResult>;
  /** Forgets its plan, if that has not been carried out. */
  close(): Promise<void>;
}

/** What became of a staged source. */
interface CommitOfSource {
  /** Why it cannot become visible. */
  readonly failure?: unknown;
  /** Only removals became visible; the rest is held. */
  readonly isHeld?: boolean;
}

/** Runs the steps of the request, each under a lease. Failures are in the result; throws only when the job is cancelled. */
export async function crawlSource(
  run: SourceRun,
  openSource: OpenSource,
  { request, job, target }: Pick<DomainCrawl, "request" | "job" | "target">,
  parts: EngineParts,
  { removalsWait } = { removalsWait: false },
): Promise<CrawledSource> {
  const mirror = parts.openMirror(run);
  const ledgers = openStepLedgers(run, target?.isOwn ? undefined : target?.store, parts, job);
  const converter = parts.openConverter(run);
  const { plan, approval } = await openRunPlan(run, request, parts);
  const crawl: SourceCrawl = { run, request, job, target, mirror, ledgers, converter, plan, approval };
  try {
    const results = new StepResults(crawl);
    let listing: ListingResult | undefined;
    let embedded: Embedded | undefined;
    await results
      .attempt(async () => {
        listing = await runDownload(crawl, openSource, results, parts);
        await runProcess(crawl, listing, results, parts);
        if (!target) return;
        embedded = await runEmbed(crawl, target, { listing, removalsWait }, parts);
        results.note("embed", { ...embedded, itemProblem: embedProblem(crawl, results, embedded) });
      })
      .finally(() => ledgers.close());
    results.planned = await planResult(plan, job);
    if (!embedded || !isUnfinished(embedded)) await plan.close();
    return {
      staged: embedded?.staged,
      isUnknown: target !== undefined && embedded === undefined,
      unreadable: [run.config.sourceId, unreadableOf(embedded)],
      finish: (commit = {}) => finishSource(crawl, { listing, embedded, results, commit }, parts),
      close: () => plan.close(),
    };
  } catch (error) {
    await plan.close();
    throw error;
  }
}

/** Kinds that keep texts read the same files in process and embed: process has reported those that cannot be read. */
function embedProblem({ run }: SourceCrawl, { counts }: StepResults, embedded: Embedded): string {
  const told = run.config.kind.abilities.keepsTexts ? counts.process.failed : 0;
  const more = embedded.counts.failed - told;
  return more > 0 ? ITEM_PROBLEMS.embed(plural(more, "file")) : "";
}

function unreadableOf(embedded: Embedded | undefined): ReadonlySet<ItemId> {
  return new Set(embedded?.failed.flatMap(({ itemId, permanent }) => (permanent ? [itemId] : [])));
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
  job.progress?.({ step: "download" });
  const { keepsMaps } = run.config.kind.abilities;
  if (request.mode === "incremental" && keepsMaps && !existsSync(join(mirror.folder, "files_map.csv"))) {
    job.log("files_map.csv is missing (first run, or deleted): everything is taken as with mode=full.");
  }
  let opened: Source | undefined;
  try {
    const downloaded = await crawl.ledgers.withLedger({ step: "download" }, async (setting): Promise<Downloaded> => {
      opened = openSource(setting.ledger);
      const step = { ...crawl, ...setting };
      return await download({ ...step, source: keepUnregistered(opened, step, parts) }, parts);
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
  const { request, ledgers, job } = crawl;
  if (!request.steps.includes("process") || !needsProcessing(crawl)) return;
  job.progress?.({ step: "process" });
  const processed = await ledgers.withLedger({ step: "process" }, (setting) =>
    process({ ...crawl, ...setting }, listing, parts),
  );
  results.note("process", processed);
}

async function runEmbed(
  crawl: SourceCrawl,
  target: IndexTarget,
  { listing, removalsWait }: Pick<EmbedStep, "listing" | "removalsWait">,
  parts: EngineParts,
): Promise<Embedded> {
  crawl.job.progress?.({ step: "embed" });
  return await withEmbedStep(crawl, target, listing, async (setting) => {
    const step: EmbedStep = { ...setting, removalsWait };
    const embedded = await recordOwn(
      step,
      parts,
      () => embed(step, parts),
      ({ staged }) => staged === undefined,
    );
    if (target.swap) target.swap.shortfalls.push(...(await findShortfalls(embedded.failed, step)));
    return embedded;
  });
}

async function withEmbedStep<T>(
  crawl: SourceCrawl,
  target: IndexTarget,
  listing: ListingResult | undefined,
  work: (step: EmbedStep) => Promise<T>,
): Promise<T> {
  const vectorStoreId = target.isOwn ? undefined : target.store;
  return await crawl.ledgers.withLedger({ step: "embed", vectorStoreId }, (setting) =>
    work({ ...crawl, ...setting, target, listing, removalsWait: false }),
  );
}

/** For the domain's own store: runs work that records documents, and if it did, updates `files_metadata.json` and the registry. */
async function recordOwn<T>(
  step: EmbedStep,
  parts: EngineParts,
  work: () => Promise<T>,
  hasRecorded: (result: T) => boolean = () => true,
): Promise<T> {
  const { run, request, target, ledger, mirror, job } = step;
  if (!target.isOwn) return await work();
  const { metadata } = parts.ledgers;
  const repository = run.config.kind.abilities.registersAddresses ? parts.itemRepository() : undefined;
  const unregistered = repository && (await findUnregistered(run, ledger, repository));
  const warn = (sentence: string): void => job.log(`WARNING: ${sentence}`);
  // New versions inherit the properties that users wrote into the file.
  await metadata.readBack(run.domainId);
  const result = await work().finally(async () => {
    // It has an entry for every document: in watch mode, only scans of everything write it.
    if (request.onlyFolders?.has(run.config.sourceId)) return;
    for (const warning of await metadata.write(run.domainId)) warn(warning);
  });
  if (repository && unregistered && hasRecorded(result))
    await noteIndexed(run, { ledger, mirror, repository, warn, unregistered });
  return result;
}

interface UnfinishedSource {
  readonly listing: ListingResult | undefined;
  /** undefined: nothing was embedded. */
  readonly embedded: Embedded | undefined;
  readonly results: StepResults;
  readonly commit: CommitOfSource;
}

async function finishSource(
  crawl: SourceCrawl,
  { listing, embedded, results, commit }: UnfinishedSource,
  parts: EngineParts,
): Promise<SourceResult> {
  const { run, job, target } = crawl;
  await results.attempt(async () => {
    if (!target || !embedded || !isUnfinished(embedded)) return;
    if (commit.failure !== undefined && embedded.staged) {
      results.note("embed", { counts: noCounts(), problems: [], itemProblem: "" });
      throw commit.failure;
    }
    const isHeld = commit.isHeld === true;
    const { waiting } = embedded;
    if (waiting > 0) {
      await job.checkpoint();
      const documents = plural(waiting, "document");
      job.log(`Source '${run.config.sourceId}': removing ${documents} from the index.`);
    }
    const { failed, held } = await withEmbedStep(crawl, target, listing, (step) =>
      recordOwn(step, parts, () => finishEmbed(embedded, step, parts, { isHeld })),
    );
    // What a held crawl staged, except for removals, waits for a confirmation, or for a crawl that does better.
    for (const kind of held) results.counts.embed[kind] -= 1;
    results.counts.embed.held += held.length;
    results.counts.embed.removed += waiting - failed.length;
    results.counts.embed.failed += failed.length;
    if (failed.length > 0) {
      results.problems.push(
        `${plural(failed.length, "document")} could not be removed from the index; the next crawl tries again`,
      );
    }
  });
  await concludeTree(crawl, results, parts);
  await leaveAcknowledged(run, results, parts);
  return results.sum();
}

/** Acknowledged failures are no problems of the crawl. */
async function leaveAcknowledged(run: SourceRun, results: StepResults, parts: EngineParts): Promise<void> {
  if (failedIn(results.counts) === 0 || (await acknowledgedIn(run, parts)).size === 0) return;
  const { download, process, embed } = await countFailures(run, parts);
  const later = { fresh: process.fresh + embed.fresh, acknowledged: process.acknowledged + embed.acknowledged };
  results.acknowledged = download.acknowledged + later.acknowledged;
  for (const [sentence, step] of results.itemProblems) {
    const { fresh, acknowledged } = step === "download" ? download : later;
    if (fresh === 0 && acknowledged > 0) results.problems = results.problems.filter((one) => one !== sentence);
  }
}

function failedIn({ download, process, embed }: Readonly<Record<Step, StepCounts>>): number {
  return download.failed + process.failed + embed.failed;
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

export interface StepResult {
  readonly counts: StepCounts;
  /** One sentence per problem. */
  readonly problems: readonly string[];
  /** The sentence about failed items, which are listed one by one; "" for none. */
  readonly itemProblem: string;
}

/** Collects the results of the steps of one source. */
class StepResults {
  readonly counts = { download: noCounts(), process: noCounts(), embed: noCounts() };
  problems: string[] = [];
  /** The sentences of `problems` that are about failed items, with their step. */
  readonly itemProblems = new Map<string, Step>();
  planned: Awaited<ReturnType<typeof planResult>> = {};
  /** Acknowledged failures. */
  acknowledged = 0;
  readonly #crawl: SourceCrawl;
  #listing: Pick<ListingResult, "complete" | "hiddenRows" | "leftOut"> = {
    complete: false,
    hiddenRows: 0,
    leftOut: undefined,
  };

  constructor(crawl: SourceCrawl) {
    this.#crawl = crawl;
  }

  note(step: Step, result: StepResult, listing?: ListingResult): void {
    this.counts[step] = result.counts;
    this.problems.push(...result.problems);
    if (result.itemProblem !== "") {
      this.problems.push(result.itemProblem);
      this.itemProblems.set(result.itemProblem, step);
    }
    if (listing) this.#listing = listing;
  }

  /** Runs `steps`. An error becomes a problem of the source; only a cancelled job and a full disk throw. */
  async attempt(steps: () => Promise<void>): Promise<void> {
    try {
      await steps();
    } catch (error) {
      if (error instanceof CancelledError) throw error;
      stopWhenFull(error);
      const { run, target, job } = this.#crawl;
      job.progress?.({ hasFailed: true });
      const why = explain(error);
      // Two steps often fail for the same reason.
      if (this.problems.includes(why)) return;
      target?.swap?.shortfalls.push(`source '${run.config.sourceId}': ${why}`);
      job.log(`ERROR: source '${run.config.sourceId}' could not be finished: ${why}`);
      this.problems.push(why);
    }
  }

  sum(): SourceResult {
    const { run, approval } = this.#crawl;
    const { complete, hiddenRows, leftOut } = this.#listing;
    return {
      source_id: run.config.sourceId,
      source_type: run.config.sourceType,
      complete,
      ...(hiddenRows > 0 && { hidden_rows: hiddenRows }),
      ...(leftOut && countLeftOut(leftOut) > 0 && { left_out: leftOut }),
      ...this.counts,
      ...(this.acknowledged > 0 && { acknowledged: this.acknowledged }),
      error: this.problems.join("; "),
      ...this.planned,
      ...(approval && { kept_to_plan: approval.result() }),
    };
  }
}
