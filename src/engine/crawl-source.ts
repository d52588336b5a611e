import { existsSync } from "node:fs";
import { join } from "node:path";
import { CancelledError, explain } from "../contracts/errors.ts";
import type { VectorStoreId } from "../contracts/ids.ts";
import type { JobContext } from "../contracts/job.ts";
import type { Ledger } from "../contracts/ledger.ts";
import type { PlanDraft } from "../contracts/plan.ts";
import type { Source } from "../contracts/source.ts";
import type { SourceRun } from "../contracts/source-kind.ts";
import { plural } from "../lib/plural.ts";
import { sourceFolder } from "../mirror/layout.ts";
import { Mirror } from "../mirror/mirror.ts";
import { type Approval, openRunPlan } from "./approval.ts";
import type { CrawlRequest, SourceResult, Step, StepCounts } from "./crawl-request.ts";
import { stopWhenFull } from "./disk-full.ts";
import { download, type SourceLook } from "./download.ts";
import { type Embedded, embed, type Removals, type Uploads } from "./embed.ts";
import type { EngineParts } from "./engine-parts.ts";
import type { IndexTarget } from "./index-target.ts";
import { findUnregistered, keepUnregistered, noteIndexed } from "./ingest/registered-addresses.ts";
import { keepDocuments } from "./keep-documents.ts";
import { planResult } from "./planned-changes.ts";
import { processOriginals } from "./process.ts";
import { purgeMissing } from "./purge-missing.ts";
import { findShortfalls } from "./swap-store.ts";
import { noCounts } from "./tally.ts";
import { openStepLedgers, type StepLedgers } from "./with-ledger.ts";

/** One source on its way through the steps. */
interface Course {
  readonly run: SourceRun;
  readonly request: CrawlRequest;
  readonly parts: EngineParts;
  readonly job: JobContext;
  readonly mirror: Mirror;
  readonly ledgers: StepLedgers;
  /** What the steps do. */
  readonly plan: PlanDraft;
  /** Outside of it they do nothing. */
  readonly approval: Approval | undefined;
}

interface StepOutcome {
  readonly counts: StepCounts;
  readonly problems: readonly string[];
}

/** Files. A larger manifest is written by maintenance. */
const SMALL_MANIFEST = 20_000;

/** A source that went through its steps. */
export interface CrawledSource {
  readonly result: SourceResult;
  /** undefined: nothing is left to take out of the index. */
  readonly deferred?: DeferredRemovals | undefined;
}

/** What is gone from a source and still in the index. Its plan stays open until this is closed. */
interface DeferredRemovals {
  remove(): Promise<SourceResult>;
  close(): Promise<void>;
}

/**
 * The steps of the request, each under its own lease. What goes wrong is in the result; only a cancelled job throws. With
 * removals `later`, what is gone stays in the index until `deferred.remove`.
 */
export async function crawlSource(
  run: SourceRun,
  openSource: (ledger: Ledger) => Source,
  request: CrawlRequest,
  target: IndexTarget | undefined,
  parts: EngineParts,
  job: JobContext,
  removals: Removals = "now",
): Promise<CrawledSource> {
  const { dryRun } = job;
  const mirror = new Mirror(parts.crawlerFolder, sourceFolder(run.domainId, run.config), { dryRun });
  const ledgers = openStepLedgers(run, target?.isOwn ? undefined : target?.store, parts, job);
  const { plan, approval } = await openRunPlan(run, request, parts, job);
  let deferred: DeferredRemovals | undefined;
  try {
    const course: Course = { run, request, parts, job, mirror, ledgers, plan, approval };
    const account = openAccount(course, target);
    await account
      .attempt(async () => {
        const look = await takeSteps(course, openSource, account);
        if (!target) return;
        const embedded = await takeEmbed(course, look, target, removals);
        account.note("embed", embedded);
        if (embedded.deferred === 0) return;
        deferred = { remove: () => takeRemovals(course, look, target, account), close: () => plan.close() };
      })
      .finally(() => ledgers.close());
    await concludeTree(course, target, account);
    return { result: await account.sum(), deferred };
  } catch (error) {
    deferred = undefined;
    throw error;
  } finally {
    if (!deferred) await plan.close();
  }
}

/** Those before the index. undefined: this run did not look at the source. */
async function takeSteps(
  course: Course,
  openSource: (ledger: Ledger) => Source,
  account: Account,
): Promise<SourceLook | undefined> {
  const { steps } = course.request;
  const downloaded = steps.includes("download") ? await takeDownload(course, openSource) : undefined;
  if (downloaded) account.note("download", downloaded, downloaded.look);
  if (steps.includes("process")) account.note("process", await takeProcess(course, downloaded?.look));
  return downloaded?.look;
}

/** What is due of a source without ids, whatever became of its steps. */
async function concludeTree(course: Course, target: IndexTarget | undefined, account: Account): Promise<void> {
  const { run, request, parts, job, approval } = course;
  if (run.config.kind.abilities.hasIds || job.dryRun) return;
  // A purge is in no plan.
  if (target?.isOwn && !approval) {
    await account.attempt(async () => void (await purgeMissing(run, target.index, parts, job)));
  }
  // What a watch sees would make it be written all day.
  if (!request.gathered) {
    await account.attempt(() => parts.ledgers.exportManifest(run, { upTo: SMALL_MANIFEST }));
  }
}

/** What became of a source, step by step. */
interface Account {
  readonly counts: { download: StepCounts; process: StepCounts; embed: StepCounts };
  readonly problems: string[];
  note(step: Step, outcome: StepOutcome, facts?: Pick<SourceLook, "complete" | "hiddenRows">): void;
  /** What goes wrong becomes a problem of the source. */
  attempt(steps: () => Promise<void>): Promise<void>;
  sum(): Promise<SourceResult>;
}

function openAccount({ run, job, plan }: Course, target: IndexTarget | undefined): Account {
  const { sourceId: source_id, sourceType: source_type } = run.config;
  const counts = { download: noCounts(), process: noCounts(), embed: noCounts() };
  const problems: string[] = [];
  let facts: Pick<SourceLook, "complete" | "hiddenRows"> = { complete: false, hiddenRows: 0 };
  return {
    counts,
    problems,
    note(step, outcome, learnt) {
      counts[step] = outcome.counts;
      problems.push(...outcome.problems);
      if (learnt) facts = learnt;
    },
    async attempt(steps) {
      try {
        await steps();
      } catch (error) {
        if (error instanceof CancelledError) throw error;
        stopWhenFull(error);
        const why = explain(error);
        // What keeps one step from its work mostly keeps the next one, too.
        if (problems.includes(why)) return;
        target?.swap?.shortfalls.push(`source '${source_id}': ${why}`);
        job.log(`ERROR: source '${source_id}' could not be finished: ${why}`);
        problems.push(why);
      }
    },
    sum: async () => ({
      source_id,
      source_type,
      complete: facts.complete,
      ...(facts.hiddenRows > 0 && { hidden_rows: facts.hiddenRows }),
      ...counts,
      error: problems.join("; "),
      ...(job.dryRun && (await planResult(plan))),
    }),
  };
}

/** The embed step once more, for what is to be removed only: by now everything else is in the index, or has failed. */
async function takeRemovals(
  course: Course,
  look: SourceLook | undefined,
  target: IndexTarget,
  account: Account,
): Promise<SourceResult> {
  const { job, run, request } = course;
  await job.checkpoint();
  job.log(`Source '${run.config.sourceId}': what is gone leaves the index.`);
  await account.attempt(async () => {
    const again: Course = { ...course, request: { ...request, mode: "incremental", retryFailed: false } };
    const { counts, failed } = await takeEmbed(again, look, target, "only");
    account.counts.embed.removed += counts.removed;
    account.counts.embed.failed += failed.length;
    if (failed.length > 0) {
      account.problems.push(`${plural(failed.length, "document")} of what is gone could not be removed`);
    }
  });
  return await account.sum();
}

async function takeDownload(
  course: Course,
  openSource: (ledger: Ledger) => Source,
): Promise<StepOutcome & { readonly look: SourceLook }> {
  const { run, request, parts, job, mirror, ledgers, plan, approval } = course;
  const converter = run.config.kind.openConverter?.();
  const { keepsMaps } = run.config.kind.abilities;
  if (request.mode === "incremental" && keepsMaps && !existsSync(join(mirror.folder, "files_map.csv"))) {
    job.log("files_map.csv is missing (first run, or deleted): everything is taken as with mode=full.");
  }
  let source: Source | undefined;
  try {
    return await ledgers.withLedger({ step: "download" }, (setting) => {
      source = openSource(setting.ledger);
      const { confirmDeletes } = request;
      const kept = keepUnregistered(source, run, { ...parts, ...setting, confirmDeletes, dryRun: job.dryRun });
      return download(
        run,
        request,
        { source: kept, mirror, converter, draft: plan, approval, ...setting },
        parts,
        setting.job,
      );
    });
  } finally {
    await source?.close?.();
  }
}

/** Other kinds whose files are documents as they come have nothing to process. */
async function takeProcess(course: Course, look?: SourceLook): Promise<StepOutcome> {
  const { run, request, parts, mirror, ledgers, plan, approval } = course;
  if (run.config.kind.abilities.keepsTexts) {
    return await ledgers.withLedger({ step: "process" }, (setting) =>
      keepDocuments({ run, request, look, parts, mirror, ...setting }),
    );
  }
  const converter = run.config.kind.openConverter?.();
  if (!converter) return { counts: noCounts(), problems: [] };
  return await ledgers.withLedger({ step: "process" }, (setting) =>
    processOriginals({ request, look, mirror, converter, plan, approval, ...setting }),
  );
}

async function takeEmbed(
  course: Course,
  look: SourceLook | undefined,
  target: IndexTarget,
  removals: Removals,
): Promise<Embedded> {
  const { run, request, parts, job, mirror, ledgers, plan, approval } = course;
  const vectorStoreId = target.isOwn ? undefined : target.store;
  return await ledgers.withLedger({ step: "embed", vectorStoreId }, async ({ ledger, ...setting }) => {
    const reader = parts.extractor.revision;
    const tools = { ...target, ledger, mirror, reader };
    const typeByName = run.config.kind.openConverter?.() === undefined;
    const uploaded = target.swap ? await openUploads(course, target.swap.before) : undefined;
    const isNoted = run.config.kind.abilities.registersAddresses && target.isOwn && !job.dryRun;
    const unregistered = isNoted && (await findUnregistered(run, ledger, parts.shelf()));
    const { metadata } = parts.ledgers;
    const writeMetadata = async (): Promise<void> => {
      if (!target.isOwn || job.dryRun) return;
      for (const warning of await metadata.write(run.domainId)) job.log(`WARNING: ${warning}`);
    };
    // New versions inherit what users wrote into it.
    if (target.isOwn && !job.dryRun) await metadata.readBack(run.domainId);
    const embedded = await embed({
      run,
      request,
      look,
      tools,
      uploaded,
      removals,
      wanted: { ...parts, typeByName },
      plan,
      approval,
      job: setting.job,
    }).finally(writeMetadata);
    if (target.swap && !job.dryRun) {
      target.swap.shortfalls.push(
        ...(await findShortfalls(run, request, { ...embedded, look, ledger, mirror }, target)),
      );
    }
    if (unregistered) {
      const warn = (sentence: string): void => job.log(`WARNING: ${sentence}`);
      await noteIndexed(run, { ledger, mirror, shelf: parts.shelf(), warn, unregistered });
    }
    return embedded;
  });
}

/** What the store that is to be replaced has of this source: the same bytes need not be uploaded again. */
async function openUploads({ run, parts }: Course, store: VectorStoreId): Promise<Uploads> {
  const ledger = await parts.ledgers.open(run, { readOnly: true });
  return async ({ itemId, sha256 }) => {
    const indexed = (await ledger.get(itemId))?.indexed;
    const same = indexed?.vectorStoreId === store && sha256 !== "" && indexed.sha256 === sha256;
    return same && indexed.fileId ? indexed.fileId : undefined;
  };
}
