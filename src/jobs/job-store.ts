import { unlink } from "node:fs/promises";
import { BadInputError } from "../contracts/errors.ts";
import type { JobId } from "../contracts/ids.ts";
import type { ControlAction, JobRecord } from "../contracts/job.ts";
import { EndedJobs } from "./ended-jobs.ts";
import { findJob, retryRenamed } from "./find-job.ts";
import type { FoundJobFile } from "./find-job-files.ts";
import { followTail } from "./follow-job.ts";
import { createTailSharing, type JobFileAccess } from "./job-tail.ts";
import { type JobPage, type JobPageRequest, pageOfJobs } from "./page-of-jobs.ts";
import { findLastEvent, openIfExists, type ReadJob } from "./read-job-file.ts";
import { type JobFilter, readJobs } from "./read-jobs.ts";
import { type RemovedJob, removeOldJobs } from "./remove-old-jobs.ts";
import { forceCancel, requestControl } from "./request-control.ts";

/** The job files on disk, as any process sees them. */
export interface JobStore {
  /** Newest first. What the names of the files tell is decided by them; only the others are opened. */
  list(filter?: JobFilter): Promise<JobRecord[]>;
  /** A part of the list, in an order. Only the files of that part, and of the jobs that run, are opened. */
  page(request: JobPageRequest): Promise<JobPage>;
  /** NotFoundError when there is none. */
  get(id: JobId): Promise<JobRecord>;
  /** Those without an end that any worker may take on. */
  listForWorkers(): Promise<WorkerJob[]>;
  /** Data of the last log event, "" before the first. */
  lastLog(id: JobId): Promise<string>;
  /** Asks the job, wherever it runs; BadInputError when its state does not allow it. `force` ends a stalled job here and now. */
  control(
    id: JobId,
    action: ControlAction,
    options?: { readonly force?: boolean; readonly reason?: string },
  ): Promise<string>;
  /**
   * The bytes of the job file from its beginning (or after the event `afterEvent`), following a live job to its
   * `end_json`. When the job has stalled it ends without one. NotFoundError comes with the first read.
   */
  follow(id: JobId, options: { readonly afterEvent?: number; readonly signal: AbortSignal }): AsyncIterable<Uint8Array>;
  /** Removes a job that is over and tells what it was; BadInputError while it runs. */
  remove(id: JobId): Promise<JobRecord>;
  /** Removes jobs that ended longer ago than this; running and paused ones stay. Returns the ids of those removed. */
  removeOldJobs(olderThanDays: number, options?: { readonly dryRun: boolean }): Promise<RemovedJob[]>;
}

export interface WorkerJob {
  readonly record: JobRecord;
  /** No worker has it. */
  readonly waiting: boolean;
}

export function createJobStore(jobsFolder: string): JobStore {
  const openTail = createTailSharing();
  const ended = new EndedJobs();
  const find = (id: JobId): Promise<ReadJob> => findJob(jobsFolder, id);

  async function* follow(
    id: JobId,
    options: { readonly afterEvent?: number; readonly signal: AbortSignal },
  ): AsyncGenerator<Uint8Array, void> {
    const access: JobFileAccess = {
      open: async () => openIfExists((await find(id)).file.path),
      async isOver() {
        const { record } = await find(id);
        return record.stalled || record.endedAt !== "";
      },
    };
    const tail = await retryRenamed(() => openTail(id, access), id);
    try {
      yield* followTail(tail, options);
    } finally {
      tail.release();
    }
  }
  return {
    list: async (filter = {}) => (await readJobs(jobsFolder, filter, ended)).map((job) => job.record),
    page: (request) => pageOfJobs(jobsFolder, request),
    async listForWorkers() {
      const active = await readJobs(jobsFolder, { state: "active" }, ended);
      return active.filter(({ facts }) => facts.process === null).map(({ record, waiting }) => ({ record, waiting }));
    },
    get: async (id) => (await find(id)).record,
    lastLog: (id) => retryRenamed(async () => readLastLog((await find(id)).file), id),
    follow,
    async control(id, action, options) {
      const job = await find(id);
      const cancelNow = (): Promise<string> => forceCancel(jobsFolder, job, action, () => find(id), options?.reason);
      if (options?.force) return cancelNow();
      if (!job.waiting || action !== "cancel") return requestControl(job, action, () => find(id));
      // A worker may take it on at this very moment, and then has to be asked.
      return cancelNow().catch(async (error: unknown) => {
        if ((await find(id)).waiting) throw error;
        return requestControl(job, action, () => find(id));
      });
    },
    async remove(id) {
      const { record, file } = await find(id);
      if (record.endedAt === "") throw new BadInputError(`Cannot delete active job '${id}'. Cancel it first.`);
      await unlink(file.path);
      ended.forget(file.path);
      return record;
    },
    removeOldJobs: (olderThanDays, options) => removeOldJobs(jobsFolder, olderThanDays, options),
  };
}

async function readLastLog(file: FoundJobFile): Promise<string | undefined> {
  const handle = await openIfExists(file.path);
  if (!handle) return undefined;
  try {
    const { size } = await handle.stat();
    const event = await findLastEvent(handle, size, ({ event }) => event === "log", { onlyTheLast: false });
    return event?.data ?? "";
  } finally {
    await handle.close();
  }
}
