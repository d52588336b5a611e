import { join } from "node:path";
import { CancelledError } from "../contracts/errors.ts";
import type { JobContext } from "../contracts/job.ts";
import type { Ledger } from "../contracts/ledger.ts";
import { acquireLease } from "../lib/file-lease.ts";
import { PRIVATE_FOLDER, sourceFolder } from "../mirror/layout.ts";
import type { EngineParts, SourceRun, Step } from "./engine-parts.ts";

/**
 * Runs one step of one source under its lease: two runs of the same step on the same source never interleave, different
 * steps and sources do. What was put into the ledger is in the map files when this returns or throws.
 */
export async function withLedger<T>(
  run: SourceRun,
  step: Step,
  parts: EngineParts,
  job: JobContext,
  work: (ledger: Ledger) => Promise<T>,
): Promise<T> {
  const folder = join(parts.crawlerFolder, sourceFolder(run.domainId, run.config));
  if (job.dryRun) {
    const { ledger } = await parts.openLedger(folder, run.config, { step, readOnly: true });
    return await work(ledger);
  }
  const lease = await waitForLease(join(folder, PRIVATE_FOLDER, `lease-${step}`), job);
  try {
    const { ledger, problems } = await parts.openLedger(folder, run.config, { step, readOnly: false });
    for (const problem of problems) job.log(`WARNING: ${problem}`);
    try {
      return await work(ledger);
    } finally {
      await ledger.close();
    }
  } finally {
    await lease.release();
  }
}

async function waitForLease(path: string, job: JobContext): ReturnType<typeof acquireLease> {
  try {
    return await acquireLease(path, {
      owner: `job ${job.jobId}`,
      signal: job.signal,
      onWait: (owner) => job.log(`Waiting for ${owner}, which is working on the same source.`),
    });
  } catch (error) {
    if (job.signal.aborted) throw new CancelledError("waiting for the source stopped", { cause: error });
    throw error;
  }
}
