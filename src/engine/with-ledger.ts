import { join } from "node:path";
import { CancelledError, ConflictError } from "../contracts/errors.ts";
import type { DomainId, VectorStoreId } from "../contracts/ids.ts";
import type { JobContext } from "../contracts/job.ts";
import { type Lease, type Leases, sourceLease } from "../contracts/lease.ts";
import type { Ledger, LedgerOptions } from "../contracts/ledger.ts";
import type { SourceRun } from "../contracts/source-kind.ts";
import { sourceFolder } from "../mirror/layout.ts";
import type { Step } from "./crawl-request.ts";
import type { EngineParts } from "./engine-parts.ts";

interface StepOptions {
  readonly step: Step;
  /** Do not create the source's folder: the domain may be deleted while waiting. */
  readonly mustExist?: boolean;
  /** Another store than the domain's own, with a separate map file. */
  readonly vectorStoreId?: VectorStoreId | undefined;
}

/** Process works on the rows and files of download, so they share a lease. */
const LEASES: Readonly<Record<Step, "download" | "embed">> = {
  download: "download",
  process: "download",
  embed: "embed",
};

/** Well below the minute after which a lease expires. */
const LEASE_CHECK_MS = 10_000;

/** The source's folder, absolute. */
export function folderOfRun({ domainId, config }: SourceRun, { crawlerFolder }: Pick<EngineParts, "crawlerFolder">) {
  return join(crawlerFolder, sourceFolder(domainId, config));
}

/**
 * Runs one step of one source under its lease: the same step of the same source never runs twice at once; embedding
 * runs concurrently with the other steps, and sources with each other. The ledger is flushed and exported when this
 * returns or throws. The given job fails at its next checkpoint if the lease is lost, as after a long suspension.
 */
export async function withLedger<T>(
  run: SourceRun,
  options: StepOptions,
  parts: EngineParts,
  job: JobContext,
  work: (setting: { readonly ledger: Ledger; readonly job: JobContext }) => Promise<T>,
): Promise<T> {
  const { step, vectorStoreId } = options;
  await using lease = await waitForLease(parts, run.domainId, sourceLease(run.config, LEASES[step]), job, {
    ...(options.mustExist && { within: folderOfRun(run, parts) }),
  });
  const ledger = await openLedger(run, { step, vectorStoreId, readOnly: false }, parts, job);
  const logged = ledger.edits.length;
  const result = await workAndClose(ledger, lease, () => work({ ledger, job: whileHeld(lease, job) }));
  logEdits(ledger.edits.slice(logged), run, job);
  return result;
}

/** Opens the ledger for the steps of one source. Must be closed. */
export interface StepLedgers {
  withLedger<T>(
    options: StepOptions,
    work: (setting: { readonly ledger: Ledger; readonly job: JobContext }) => Promise<T>,
  ): Promise<T>;
  close(): Promise<void>;
}

/**
 * A dry run has one overlay ledger for all steps: each sees what the earlier ones would have done. For kinds that keep
 * map files, those of the dry run lie beside them until its end.
 */
export function openStepLedgers(
  run: SourceRun,
  vectorStoreId: VectorStoreId | undefined,
  parts: EngineParts,
  job: JobContext,
): StepLedgers {
  if (!job.dryRun) {
    return { withLedger: (options, work) => withLedger(run, options, parts, job, work), close: async () => undefined };
  }
  let opening: Promise<Ledger> | undefined;
  let maps: { remove(): Promise<void> } | undefined;
  return {
    async withLedger({ step }, work) {
      opening ??= openLedger(run, { vectorStoreId, readOnly: false }, parts, job);
      const ledger = await opening;
      const writeMaps = async (): Promise<void> => {
        if (step !== "download" || !run.config.kind.abilities.keepsMaps) return;
        maps = await parts.ledgers.writeScratchMaps(run, ledger, job.jobId);
      };
      await writeMaps();
      const result = await work({ ledger, job });
      await writeMaps();
      return result;
    },
    async close() {
      await maps?.remove();
      await (await opening?.catch(() => undefined))?.close();
    },
  };
}

async function openLedger(
  run: SourceRun,
  options: LedgerOptions,
  parts: EngineParts,
  job: JobContext,
): Promise<Ledger> {
  const ledger = await parts.ledgers.open(run, options);
  for (const problem of ledger.problems) job.log(`WARNING: ${problem}`);
  logEdits(ledger.edits, run, job);
  return ledger;
}

function logEdits(edits: readonly string[], { config }: SourceRun, job: JobContext): void {
  for (const edit of edits) job.log(`Source '${config.sourceId}': ${edit}.`);
}

async function workAndClose<T>(ledger: Ledger, lease: Lease, work: () => Promise<T>): Promise<T> {
  let result: T;
  try {
    result = await work();
  } catch (error) {
    // Report the failure even if closing fails too. If the lease is lost, do not close: the ledger belongs to another
    // run now, and what was flushed is in it.
    if (await lease.stillHeld()) await ledger.close().catch(() => undefined);
    throw error;
  }
  await ledger.close();
  return result;
}

/** A job that also fails at a checkpoint when the lease is lost. */
function whileHeld(lease: Lease, job: JobContext): JobContext {
  let checkedAtMs = Date.now();
  return {
    jobId: job.jobId,
    dryRun: job.dryRun,
    signal: job.signal,
    log: (line) => job.log(line),
    async checkpoint() {
      await job.checkpoint();
      if (Date.now() - checkedAtMs < LEASE_CHECK_MS) return;
      if (!(await lease.stillHeld())) {
        throw new ConflictError("this run was suspended for too long, and another one took the source over");
      }
      checkedAtMs = Date.now();
    },
  };
}

/** Takes both leases of a source, so that no crawl works on it. The job that it returns fails at a checkpoint when one is lost. */
export async function leaseSource(
  { domainId, config }: Pick<SourceRun, "domainId" | "config">,
  parts: { readonly ledgers: { readonly leases: Leases } },
  job: JobContext,
  take: typeof waitForLease = waitForLease,
): Promise<AsyncDisposable & { readonly job: JobContext }> {
  await using taken = new AsyncDisposableStack();
  let held = job;
  for (const step of ["download", "embed"] as const) {
    held = whileHeld(taken.use(await take(parts, domainId, sourceLease(config, step), job)), held);
  }
  const leases = taken.move();
  return { job: held, [Symbol.asyncDispose]: () => leases.disposeAsync() };
}

export async function waitForLease(
  { ledgers }: { readonly ledgers: { readonly leases: Leases } },
  domainId: DomainId,
  name: string,
  job: JobContext,
  options: { readonly within?: string } = {},
): Promise<Lease> {
  try {
    return await ledgers.leases.acquire(domainId, name, {
      ...options,
      owner: `job ${job.jobId}`,
      signal: job.signal,
      onWait: (owner) => job.log(`Waiting for ${owner}, which is working on the same source.`),
    });
  } catch (error) {
    if (job.signal.aborted) throw new CancelledError("waiting for the source stopped", { cause: error });
    throw error;
  }
}

/** Returns undefined if another job holds it. */
export async function leaseUnlessHeld(
  { ledgers }: { readonly ledgers: { readonly leases: Leases } },
  domainId: DomainId,
  name: string,
  { jobId }: Pick<JobContext, "jobId">,
): Promise<Lease | undefined> {
  const held = new AbortController();
  const options = { owner: `job ${jobId}`, signal: held.signal, onWait: () => held.abort() };
  try {
    return await ledgers.leases.acquire(domainId, name, options);
  } catch (error) {
    if (held.signal.aborted) return undefined;
    throw error;
  }
}
