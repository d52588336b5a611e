import { join } from "node:path";
import { CancelledError, ConflictError } from "../contracts/errors.ts";
import type { JobContext } from "../contracts/job.ts";
import type { Ledger } from "../contracts/ledger.ts";
import { acquireLease, type Lease } from "../lib/file-lease.ts";
import { PRIVATE_FOLDER, sourceFolder } from "../mirror/layout.ts";
import type { Step } from "./crawl-request.ts";
import type { EngineParts, SourceRun } from "./engine-parts.ts";

type Work<T> = (ledger: Promise<Ledger>, job: JobContext) => Promise<T>;

/** Well below the minute after which a lease that is not renewed can be taken over. */
const LEASE_CHECK_MS = 10_000;

/**
 * Runs one step of one source under its lease: two runs of the same step on the same source never interleave, different
 * steps and sources do. What was put into the ledger is in the map files when this returns or throws. The job handed to
 * the work fails at its next checkpoint when the lease was lost, as happens to a process that was asleep for long.
 * The ledger is handed over while it is being opened, so that the work can begin with what does not need it.
 */
export async function withLedger<T>(
  run: SourceRun,
  step: Step,
  parts: EngineParts,
  job: JobContext,
  work: Work<T>,
): Promise<T> {
  const folder = join(parts.crawlerFolder, sourceFolder(run.domainId, run.config));
  if (job.dryRun) {
    const opening = parts.openLedger(folder, run.config, { step, readOnly: true });
    return await work(
      opening.then(({ ledger }) => ledger),
      job,
    );
  }
  const lease = await waitForLease(join(folder, PRIVATE_FOLDER, `lease-${step}`), job);
  try {
    const opening = parts.openLedger(folder, run.config, { step, readOnly: false }).then(({ ledger, problems }) => {
      for (const problem of problems) job.log(`WARNING: ${problem}`);
      return ledger;
    });
    return await workAndClose(opening, lease, job, work);
  } finally {
    await lease.release();
  }
}

async function workAndClose<T>(opening: Promise<Ledger>, lease: Lease, job: JobContext, work: Work<T>): Promise<T> {
  let result: T;
  try {
    result = await work(opening, whileHeld(lease, job));
  } catch (error) {
    // The reason of the failure counts, also when the ledger cannot be closed any more; and what is somebody else's
    // now is left alone: what was acknowledged is in the journal.
    if (await lease.stillHeld()) await opening.then((ledger) => ledger.close()).catch(() => undefined);
    throw error;
  }
  await (await opening).close();
  return result;
}

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
        throw new ConflictError("this run was out of action for too long, and another one took the source over");
      }
      checkedAtMs = Date.now();
    },
  };
}

async function waitForLease(path: string, job: JobContext): Promise<Lease> {
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
