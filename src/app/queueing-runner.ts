import { explain } from "../contracts/errors.ts";
import type { JobId } from "../contracts/ids.ts";
import type { JobRecord } from "../contracts/job.ts";
import type { NewTask, TaskQueue } from "../contracts/queue.ts";
import type { JobRunner } from "../jobs/job-runner.ts";
import type { JobStore } from "../jobs/job-store.ts";
import { forJob } from "./task-job.ts";

/**
 * A runner that leaves every job that has a task to the workers, and runs the others here. Stopping it does not touch what
 * it left to them; whoever waits here for the end of such a job is told how far it came.
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

/** A job that nobody will ever find must not wait for ever. One whose process is killed here is ended by end-dead-jobs.ts. */
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
