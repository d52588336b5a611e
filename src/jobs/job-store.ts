import { rm, unlink } from "node:fs/promises";
import { BadInputError, NotFoundError } from "../contracts/errors.ts";
import type { JobId } from "../contracts/ids.ts";
import type { ControlAction, JobRecord, JobState } from "../contracts/job.ts";
import { forEachConcurrent } from "../lib/concurrency.ts";
import { sleep } from "../lib/time.ts";
import { type FoundJobFile, findJobFiles } from "./find-job-files.ts";
import { followTail } from "./follow-job.ts";
import { isJobState, jobNumber } from "./job-file-name.ts";
import { createTailSharing, type JobFileAccess } from "./job-tail.ts";
import { findLastEvent, openIfExists, type ReadJob, readJobFile } from "./read-job-file.ts";
import { forceCancel, requestControl } from "./request-control.ts";

/** The job files on disk, as any process sees them. */
export interface JobStore {
  /** Newest first. */
  list(filter?: { readonly state?: JobState; readonly router?: string }): Promise<JobRecord[]>;
  /** NotFoundError when there is none. */
  get(id: JobId): Promise<JobRecord>;
  /** Data of the last log event, "" before the first. */
  lastLog(id: JobId): Promise<string>;
  /** Asks the job, wherever it runs; BadInputError when its state does not allow it. `force` ends a stalled job here and now. */
  control(id: JobId, action: ControlAction, options?: { readonly force?: boolean }): Promise<string>;
  /**
   * The bytes of the job file from its beginning (or after the event `afterEvent`), following a live job to its
   * `end_json`. When the job has stalled it ends without one. NotFoundError comes with the first read.
   */
  follow(id: JobId, options: { readonly afterEvent?: number; readonly signal: AbortSignal }): AsyncIterable<Uint8Array>;
  /** Removes a job that is over and tells what it was; BadInputError while it runs. */
  remove(id: JobId): Promise<JobRecord>;
  /** Removes jobs that ended longer ago than this; running and paused ones stay. Returns the ids of those removed. */
  removeOldJobs(olderThanDays: number): Promise<JobId[]>;
}

export function createJobStore(jobsFolder: string): JobStore {
  const openTail = createTailSharing();
  const find = (id: JobId): Promise<ReadJob> => findJob(jobsFolder, id);

  async function list(filter: { readonly state?: JobState; readonly router?: string } = {}): Promise<JobRecord[]> {
    const jobs = await readJobs(jobsFolder, filter.router);
    const records = jobs.map((job) => job.record).filter((job) => !filter.state || job.state === filter.state);
    return records.sort((a, b) => jobNumber(b.jobId) - jobNumber(a.jobId));
  }
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
    list,
    get: async (id) => (await find(id)).record,
    lastLog: (id) => retryRenamed(async () => readLastLog((await find(id)).file), id),
    follow,
    async control(id, action, options) {
      const job = await find(id);
      if (options?.force) return forceCancel(jobsFolder, job, action, () => find(id));
      return requestControl(job, action, () => find(id));
    },
    async remove(id) {
      const { record, file } = await find(id);
      if (record.endedAt === "") throw new BadInputError(`Cannot delete active job '${id}'. Cancel it first.`);
      await unlink(file.path);
      return record;
    },
    removeOldJobs: (olderThanDays) => removeOldJobs(jobsFolder, olderThanDays),
  };
}

async function removeOldJobs(jobsFolder: string, olderThanDays: number): Promise<JobId[]> {
  const before = Date.now() - olderThanDays * 24 * 60 * 60_000;
  const removed: JobId[] = [];
  for (const { record, file } of await readJobs(jobsFolder)) {
    if (record.endedAt === "" || Date.parse(record.lastModifiedAt) >= before) continue;
    await rm(file.path, { force: true });
    removed.push(record.jobId);
  }
  await removeLostRequests(jobsFolder);
  return removed;
}

async function removeLostRequests(jobsFolder: string): Promise<void> {
  const files = await findJobFiles(jobsFolder);
  const jobs = new Set(files.filter((file) => isJobState(file.extension)).map((file) => file.jobId));
  for (const file of files) {
    if (!jobs.has(file.jobId)) await rm(file.path, { force: true });
  }
}

async function readJobs(jobsFolder: string, router?: string): Promise<ReadJob[]> {
  const jobs = new Map<JobId, ReadJob>();
  const files = (await findJobFiles(jobsFolder)).filter(
    (file) => isJobState(file.extension) && (router === undefined || file.router === router),
  );
  await forEachConcurrent(files, 8, async (file) => {
    // Renamed between the listing and now: the job is looked up anew. Gone for good: it was removed, and is left out.
    const job = (await readJobFile(file)) ?? (await findJob(jobsFolder, file.jobId).catch(ignoreNotFound));
    if (job) jobs.set(file.jobId, job);
  });
  return [...jobs.values()];
}

async function findJob(jobsFolder: string, id: JobId): Promise<ReadJob> {
  return retryRenamed(async () => {
    const files = await findJobFiles(jobsFolder);
    const file = files.find((candidate) => candidate.jobId === id && isJobState(candidate.extension));
    return file && readJobFile(file);
  }, id);
}

/** A listing may miss a file that is renamed while it is read, so "not there" is believed only the third time. */
async function retryRenamed<T>(attempt: () => Promise<T | undefined>, id: JobId): Promise<T> {
  for (let tries = 1; tries <= 3; tries++) {
    const found = await attempt();
    if (found !== undefined) return found;
    await sleep(10);
  }
  throw new NotFoundError(`Job '${id}' does not exist.`);
}

function ignoreNotFound(error: unknown): undefined {
  if (error instanceof NotFoundError) return undefined;
  throw error;
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
