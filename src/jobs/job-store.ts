import type { Stats } from "node:fs";
import { rm, stat, unlink } from "node:fs/promises";
import { BadInputError } from "../contracts/errors.ts";
import type { JobId } from "../contracts/ids.ts";
import type { ControlAction, JobRecord } from "../contracts/job.ts";
import { ifMissing } from "../lib/atomic-file.ts";
import { openIfExists } from "../lib/file-system.ts";
import { forceCancel, requestControl } from "./job-control.ts";
import {
  type FoundJobFile,
  findJob,
  findJobFiles,
  findLastEvent,
  isJobState,
  type ReadJob,
  retryRenamed,
} from "./job-file.ts";
import { createTailSharing, type JobFileAccess, type JobTail } from "./job-tail.ts";
import {
  EndedJobs,
  type JobFilter,
  type JobPage,
  type JobPageRequest,
  pageOfJobs,
  readJobs,
  readListed,
} from "./list-jobs.ts";

/** The job files on disk, as every process sees them. */
export interface JobStore {
  /** Newest first. Filters by file name where possible; opens only the remaining files. */
  list(filter?: JobFilter): Promise<JobRecord[]>;
  /** Returns a sorted page of the list. Opens only the files of that page, and of running jobs. */
  page(request: JobPageRequest): Promise<JobPage>;
  /** Throws NotFoundError if there is none. */
  get(id: JobId): Promise<JobRecord>;
  /** Lists jobs without an end that any worker may adopt. */
  listForWorkers(): Promise<WorkerJob[]>;
  /** Returns the last log line; "" if there is none. */
  lastLog(id: JobId): Promise<string>;
  /**
   * Requests the action from the job, wherever it runs; BadInputError if its state does not allow it. `force` ends a stalled job at once.
   */
  control(
    id: JobId,
    action: ControlAction,
    options?: { readonly force?: boolean; readonly reason?: string },
  ): Promise<string>;
  /**
   * Streams the job file from its beginning (or after the event `afterEvent`), following a live job to its `end_json`. Ends without one if
   * the job has stalled. NotFoundError comes with the first read.
   */
  follow(id: JobId, options: { readonly afterEvent?: number; readonly signal: AbortSignal }): AsyncIterable<Uint8Array>;
  /** Removes an ended job and returns its record; BadInputError while it runs. */
  remove(id: JobId): Promise<JobRecord>;
  /** Removes jobs that ended longer ago than this; running and paused ones stay. Returns the removed ones. */
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
      // A worker may adopt it at this very moment; then it needs a request.
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
  await using handle = await openIfExists(file.path);
  if (!handle) return undefined;
  const { size } = await handle.stat();
  const event = await findLastEvent(handle, size, ({ event }) => event === "log", { onlyTheLast: false });
  return event?.data ?? "";
}

/**
 * Streams a job file as it grows, whole events only, each once. Ends after `end_json`, with the signal, or when the job has stalled; in the
 * last case without an `end_json`, because the file has none.
 */
async function* followTail(
  tail: JobTail,
  options: { readonly afterEvent?: number | undefined; readonly signal: AbortSignal },
): AsyncGenerator<Uint8Array, void> {
  let offset = 0;
  let skipping = options.afterEvent !== undefined && options.afterEvent > 0;
  for (;;) {
    const bytes = await tail.read(offset, options.signal);
    if (!bytes || options.signal.aborted) return;
    offset += bytes.length;
    if (!skipping) {
      yield bytes;
      continue;
    }
    const from = findEventAfter(bytes, options.afterEvent ?? 0);
    if (from < 0) continue;
    skipping = false;
    yield bytes.subarray(from);
  }
}

/** Returns the offset of the first event with a higher id, or -1. */
function findEventAfter(bytes: Buffer, afterEvent: number): number {
  let start = 0;
  while (start < bytes.length) {
    const end = bytes.indexOf("\n\n", start);
    if (end < 0) return -1;
    // The id is in the second line, so the data need not be read.
    const head = bytes.subarray(start, Math.min(end, start + 100)).toString("latin1");
    const id = /^id: (\d+)$/m.exec(head)?.[1];
    if (id !== undefined && Number(id) > afterEvent) return start;
    start = end + 2;
  }
  return -1;
}

interface RemovedJob {
  readonly jobId: JobId;
  readonly bytes: number;
}

/** Removes one at a time, and opens only files that were not touched for this long. Returns them; a dry run removes nothing. */
async function removeOldJobs(
  jobsFolder: string,
  olderThanDays: number,
  { dryRun } = { dryRun: false },
): Promise<RemovedJob[]> {
  const before = Date.now() - olderThanDays * 24 * 60 * 60_000;
  const removed: RemovedJob[] = [];
  for (const file of await findJobFiles(jobsFolder)) {
    const facts = isJobState(file.extension) ? await factsOf(file.path) : undefined;
    if (!facts || facts.mtimeMs >= before) continue;
    const job = await readListed(jobsFolder, file);
    if (!job || job.record.endedAt === "") continue;
    if (!dryRun) await rm(job.file.path, { force: true });
    removed.push({ jobId: file.jobId, bytes: facts.size });
  }
  if (!dryRun) await removeLostRequests(jobsFolder);
  return removed;
}

/** Returns undefined for a file that does not exist. */
function factsOf(path: string): Promise<Stats | undefined> {
  return stat(path).catch(ifMissing(undefined));
}

async function removeLostRequests(jobsFolder: string): Promise<void> {
  const files = await findJobFiles(jobsFolder);
  const jobs = new Set(files.filter((file) => isJobState(file.extension)).map((file) => file.jobId));
  for (const file of files) {
    if (!jobs.has(file.jobId)) await rm(file.path, { force: true });
  }
}
