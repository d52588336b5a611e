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
  /** The source's folder is not made, since a domain may go while it is waited for. */
  readonly mustExist?: boolean;
  /** Rows about this store go into a map file of their own. */
  readonly vectorStoreId?: VectorStoreId | undefined;
}

/** Processing works on what downloading writes, rows and files alike, so the two take turns. */
const LEASES: Readonly<Record<Step, "download" | "embed">> = {
  download: "download",
  process: "download",
  embed: "embed",
};

/** Well below the minute after which a lease that is not renewed can be taken over. */
const LEASE_CHECK_MS = 10_000;

/** Of the source, absolute. */
export function folderOfRun({ domainId, config }: SourceRun, { crawlerFolder }: Pick<EngineParts, "crawlerFolder">) {
  return join(crawlerFolder, sourceFolder(domainId, config));
}

/**
 * Runs one step of one source under its lease: two runs of the same step on the same source never interleave, embedding
 * beside the others, and different sources, do. What was put into the ledger is in the map files when this returns or throws. The job handed to
 * the work fails at its next checkpoint when the lease was lost, as happens to a process that was asleep for long.
 */
export async function withLedger<T>(
  run: SourceRun,
  options: StepOptions,
  parts: EngineParts,
  job: JobContext,
  work: (setting: { readonly ledger: Ledger; readonly job: JobContext }) => Promise<T>,
): Promise<T> {
  const { step, vectorStoreId } = options;
  if (job.dryRun) {
    const ledgers = openStepLedgers(run, vectorStoreId, parts, job);
    return await ledgers.withLedger(options, work).finally(() => ledgers.close());
  }
  const lease = await waitForLease(parts, run.domainId, sourceLease(run.config, LEASES[step]), job, {
    ...(options.mustExist && { within: folderOfRun(run, parts) }),
  });
  try {
    const ledger = await openLedger(run, { step, vectorStoreId, readOnly: false }, parts, job);
    const said = ledger.edits.length;
    const result = await workAndClose(ledger, lease, () => work({ ledger, job: whileHeld(lease, job) }));
    sayEdits(ledger.edits.slice(said), run, job);
    return result;
  } finally {
    await lease.release();
  }
}

/** How the steps of one source come to their ledger. To be closed. */
export interface StepLedgers {
  withLedger<T>(
    options: StepOptions,
    work: (setting: { readonly ledger: Ledger; readonly job: JobContext }) => Promise<T>,
  ): Promise<T>;
  close(): Promise<void>;
}

/**
 * A dry run has one ledger for all steps, into which nothing is written: each step sees what those before it would have done. Where map files are
 * specified, those of the dry run lie beside them until its end.
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
      opening ??= openLedger(run, { vectorStoreId, readOnly: true, isSnapshot: true }, parts, job);
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
  sayEdits(ledger.edits, run, job);
  return ledger;
}

function sayEdits(edits: readonly string[], { config }: SourceRun, job: JobContext): void {
  for (const edit of edits) job.log(`Source '${config.sourceId}': ${edit}.`);
}

async function workAndClose<T>(ledger: Ledger, lease: Lease, work: () => Promise<T>): Promise<T> {
  let result: T;
  try {
    result = await work();
  } catch (error) {
    // The reason of the failure counts, also when the ledger cannot be closed any more; and what is somebody else's
    // now is left alone: what was flushed is in the ledger.
    if (await lease.stillHeld()) await ledger.close().catch(() => undefined);
    throw error;
  }
  await ledger.close();
  return result;
}

/** The job as it is for whoever works under a lease. */
export function whileHeld(lease: Lease, job: JobContext): JobContext {
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
        throw new ConflictError("this run was out of action for too long, and another one took the source over");
      }
      checkedAtMs = Date.now();
    },
  };
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
