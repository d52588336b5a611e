import { BadInputError, explain } from "../contracts/errors.ts";
import type { JobId } from "../contracts/ids.ts";
import type { JobRecord } from "../contracts/job.ts";
import type { ListedTaskQueue, NewTask, TaskQueue } from "../contracts/queue.ts";
import type { JobRunner } from "../jobs/job-runner.ts";
import type { JobStore, WorkerJob } from "../jobs/job-store.ts";

/**
 * Creates a runner that queues every job that has a task for the workers, and runs the others here. Stopping it does not touch queued jobs;
 * `done` of such a job then resolves with its current state.
 */
export function createQueueingRunner(runner: JobRunner, jobs: JobStore, queue: TaskQueue): JobRunner {
  const stopping = new AbortController();
  return {
    ...runner,
    async stop(reason) {
      stopping.abort();
      await runner.stop(reason);
    },
    async start(start, work) {
      if (!start.task) return runner.start(start, work);
      const jobId = await runner.reserve(start);
      await enqueue(start.task, jobId, jobs, queue);
      return { jobId, done: untilEnded(jobs, jobId, stopping.signal) };
    },
  };
}

/**
 * A job that could not be queued is ended: no worker would ever find it. If this process is killed in between, endDeadJobs ends the job.
 */
async function enqueue(task: NewTask, jobId: JobId, jobs: JobStore, queue: TaskQueue): Promise<void> {
  try {
    await queue.enqueue(forJob(task, jobId));
  } catch (error) {
    await jobs.control(jobId, "cancel", { force: true, reason: `It could not be queued: ${explain(error)}` });
    throw error;
  }
}

async function untilEnded(jobs: JobStore, jobId: JobId, signal: AbortSignal): Promise<JobRecord> {
  for await (const _ of jobs.follow(jobId, { signal }));
  return jobs.get(jobId);
}

/** A job file is written before its task is queued. A job without a task after this time never gets one. */
const QUEUED_WITHIN_MS = 60_000;

const ENDED = "Its process ended before the job did.";
const NEVER_QUEUED = "It was never queued, or its task was lost. Start it again.";

/** Ends jobs whose process is gone; they would be shown as running for ever. */
export async function endDeadJobs(jobs: JobStore, queue: ListedTaskQueue, log: (line: string) => void): Promise<void> {
  const forWorkers = new Set((await jobs.listForWorkers()).map(({ record }) => record.jobId));
  const isDead = ({ stalled, jobId }: JobRecord): boolean => stalled && !forWorkers.has(jobId);
  for (const { jobId } of await jobs.list({ state: "active", matching: isDead })) await end(jobs, jobId, ENDED);
  try {
    await endUnqueuedJobs(jobs, queue);
  } catch (error) {
    log(`Jobs waiting for a worker could not be checked: ${explain(error)}`);
  }
}

/** Ends jobs for workers that have no task in the queue. Reads the queue only if there are such jobs. */
export async function endUnqueuedJobs(jobs: JobStore, queue: ListedTaskQueue): Promise<void> {
  const doubtful = (await jobs.listForWorkers()).filter(isDoubtful);
  if (doubtful.length === 0) return;
  // The queue is read after the jobs: a task exists before its job is adopted, and until the job's end is written.
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
    // It ended, or wrote a heartbeat, since it was read.
    if (!(error instanceof BadInputError)) throw error;
  }
}

/** Adds the job's id to a task. */
export function forJob({ kind, payload }: NewTask, jobId: JobId): NewTask {
  return { kind, payload: { ...(payload as object), jobId } };
}

/** Returns the job's id from a task; undefined if it has none. */
export function jobOf({ payload }: Pick<NewTask, "payload">): JobId | undefined {
  const { jobId } = (payload ?? {}) as { readonly jobId?: unknown };
  return typeof jobId === "string" ? (jobId as JobId) : undefined;
}
