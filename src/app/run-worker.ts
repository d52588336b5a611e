import { setInterval } from "node:timers";
import { ConflictError, explain, NotFoundError } from "../contracts/errors.ts";
import type { Result } from "../contracts/job.ts";
import type { ClaimedTask, ListedTaskQueue } from "../contracts/queue.ts";
import type { JobRunner, JobWork } from "../jobs/job-runner.ts";
import type { JobStore } from "../jobs/job-store.ts";
import { backoffMs } from "../lib/retry.ts";
import { sleep } from "../lib/time.ts";
import type { App } from "./app.ts";
import { CRAWL_TASK, crawlJob, readCrawlTask } from "./jobs.ts";
import { endUnqueuedJobs, jobOf } from "./queued-jobs.ts";

export interface WorkerOptions {
  /** Shown to people in the queue and in the job's log: which worker has a task. */
  readonly name: string;
  readonly jobsAtOnce: number;
  readonly log: (line: string) => void;
  /** A worker that sends no heartbeat for this long loses its tasks. */
  readonly leaseMs?: number;
  /** How often the queue is polled. */
  readonly pollMs?: number;
}

export interface WorkerParts extends Pick<App, "crawl"> {
  readonly queue: ListedTaskQueue;
  readonly runner: JobRunner;
  readonly jobs: JobStore;
}

const LEASE_MS = 60_000;
const POLL_MS = 500;
const RETRY_MS = 5_000;
const LONGEST_RETRY_MS = 10 * 60_000;
const SWEEP_MS = 60_000;
/** A job that crashes its worker each time, or cannot be started, must end at some point. */
const MAX_ATTEMPTS = 5;

/**
 * Takes queued crawls and runs each in the job file that was reserved for it, until the signal aborts. Jobs that still run then are ended
 * by stopping the runner; their tasks return to the queue before this resolves.
 */
export async function runWorker(parts: WorkerParts, options: WorkerOptions, signal: AbortSignal): Promise<void> {
  const takers = Array.from({ length: options.jobsAtOnce }, () => takeTasks(parts, options, signal));
  await Promise.all([...takers, sweepJobs(parts, options, signal)]);
}

async function sweepJobs({ jobs, queue }: WorkerParts, { log }: WorkerOptions, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await endUnqueuedJobs(jobs, queue).catch((error: unknown) => log(`ERROR: ${explain(error)}`));
    await sleep(SWEEP_MS, signal);
  }
}

async function takeTasks(parts: WorkerParts, options: WorkerOptions, signal: AbortSignal): Promise<void> {
  const { queue } = parts;
  const { name, leaseMs = LEASE_MS, pollMs = POLL_MS, log } = options;
  while (!signal.aborted) {
    try {
      const task = await queue.claim([CRAWL_TASK], name, leaseMs);
      if (task) await runTask(task, parts, { ...options, leaseMs }, signal);
      else await sleep(pollMs, signal);
    } catch (error) {
      // The database or the disk is unreachable for a while: after the lease expired, another attempt takes the task.
      log(`ERROR: ${explain(error)}`);
      await sleep(RETRY_MS, signal);
    }
  }
}

async function runTask(
  task: ClaimedTask,
  parts: WorkerParts,
  options: WorkerOptions & { readonly leaseMs: number },
  signal: AbortSignal,
): Promise<void> {
  const { queue, runner } = parts;
  const { name, leaseMs, log } = options;
  const lease = renewLease(queue, task, leaseMs);
  try {
    const jobId = jobOf(task);
    // The sweep ends its job, like any other job without a task.
    if (!jobId) throw new NotFoundError(`run task ${task.id}: it names no job`);
    const line =
      task.attempts === 1
        ? `Worker ${name} runs the job.`
        : `Worker ${name} goes on with the job: the last one ended before it did.`;
    const adoption = { line, lost: lease.lost, stillMine: () => queue.renew(task, leaseMs) };
    const running = await runner.adopt(jobId, adoption, workOf(task, parts));
    if (running) log(`${jobId}: started`);
    const record = await running?.done;
    if (record) log(`${jobId} ${record.object}: ${record.endedAt === "" ? "left for another worker" : record.state}`);
    if (lease.lost.aborted) return;
    if (record?.endedAt === "") await queue.handBack(task);
    else await queue.complete(task);
  } catch (error) {
    await putAside(task, error, queue);
    if (error instanceof ConflictError) await sleep(RETRY_MS, signal);
    else log(`ERROR: ${explain(error)}`);
  } finally {
    lease.end();
  }
}

/** Handles a task that could not be started. If this worker stops, the task is for the next one; without a job file it is dropped. */
async function putAside(task: ClaimedTask, error: unknown, queue: ListedTaskQueue): Promise<void> {
  if (error instanceof ConflictError) await queue.handBack(task);
  else if (error instanceof NotFoundError) await queue.complete(task);
  else {
    const delayMs = backoffMs(task.attempts + 1, { firstMs: RETRY_MS, longestMs: LONGEST_RETRY_MS });
    await queue.fail(task, { error: explain(error), delayMs });
  }
}

/** Returns work that ends the job with the reason if the task cannot be run. */
function workOf(task: ClaimedTask, parts: WorkerParts): JobWork["work"] {
  if (task.attempts > MAX_ATTEMPTS) {
    const reason = task.error || "each time the worker ended before the job did.";
    return failWith(`Given up after ${MAX_ATTEMPTS} attempts: ${reason}`);
  }
  try {
    return crawlJob(parts, readCrawlTask(task.payload), { dryRun: false }).work;
  } catch (error) {
    return failWith(explain(error));
  }
}

function failWith(error: string): JobWork["work"] {
  return async (): Promise<Result> => ({ ok: false, error, data: {} });
}

interface RenewedLease {
  /** Aborts when another worker has the task, or may have it because the queue was unreachable for too long. */
  readonly lost: AbortSignal;
  end(): void;
}

function renewLease(queue: ListedTaskQueue, task: ClaimedTask, leaseMs: number): RenewedLease {
  const lost = new AbortController();
  let renewedAt = performance.now();
  const timer = setInterval(() => {
    const requestedAt = performance.now();
    queue.renew(task, leaseMs).then(
      (held) => {
        if (held) renewedAt = requestedAt;
        else lost.abort();
      },
      () => {
        if (performance.now() - renewedAt > leaseMs) lost.abort();
      },
    );
  }, leaseMs / 4);
  return { lost: lost.signal, end: () => clearInterval(timer) };
}
