import { BadInputError, explain } from "../contracts/errors.ts";
import type { JobId } from "../contracts/ids.ts";
import type { JobRecord } from "../contracts/job.ts";
import type { ListedTaskQueue } from "../contracts/queue.ts";
import type { JobStore, WorkerJob } from "../jobs/job-store.ts";
import { jobOf } from "./task-job.ts";

/** The file of a job is there before its task. What was not queued after so long never will be. */
const QUEUED_WITHIN_MS = 60_000;

const ENDED = "Its process ended before it did.";
const NEVER_QUEUED = "It was never queued, or its task was lost. Start it again.";

/** Jobs that nobody will ever end would be shown as running for ever. */
export async function endDeadJobs(jobs: JobStore, queue: ListedTaskQueue, log: (line: string) => void): Promise<void> {
  const forWorkers = new Set((await jobs.listForWorkers()).map(({ record }) => record.jobId));
  const isDead = ({ stalled, jobId }: JobRecord): boolean => stalled && !forWorkers.has(jobId);
  for (const { jobId } of await jobs.list({ state: "active", matching: isDead })) await end(jobs, jobId, ENDED);
  try {
    await endUnqueuedJobs(jobs, queue);
  } catch (error) {
    log(`Jobs that wait for a worker were not looked at: ${explain(error)}`);
  }
}

/** Ends those that are for workers and have no task any worker would find them by. The queue is asked only if there are any. */
export async function endUnqueuedJobs(jobs: JobStore, queue: ListedTaskQueue): Promise<void> {
  const doubtful = (await jobs.listForWorkers()).filter(isDoubtful);
  if (doubtful.length === 0) return;
  // Asked after the jobs were read: a task is there before its job is taken on, until the end of the job is written.
  const queued = new Set((await queue.list()).map(jobOf));
  for (const { record, waiting } of doubtful) {
    if (!queued.has(record.jobId)) await end(jobs, record.jobId, waiting ? NEVER_QUEUED : ENDED);
  }
}

function isDoubtful({ record, waiting }: WorkerJob): boolean {
  return waiting ? Date.now() - Date.parse(record.lastModifiedAt) > QUEUED_WITHIN_MS : record.stalled;
}

async function end(jobs: JobStore, jobId: JobId, reason: string): Promise<void> {
  try {
    await jobs.control(jobId, "cancel", { force: true, reason });
  } catch (error) {
    // It ended, or gave a sign of life, since it was read.
    if (!(error instanceof BadInputError)) throw error;
  }
}
