import { open, readdir, rename, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { BadInputError } from "../contracts/errors.ts";
import type { JobId } from "../contracts/ids.ts";
import type { ControlAction, JobRecord } from "../contracts/job.ts";
import { isErrno } from "../lib/atomic-file.ts";
import { withFileLock } from "../lib/file-lease.ts";
import { capital } from "../lib/text.ts";
import { nowUtcMicros, sleep, toFileStamp } from "../lib/time.ts";
import {
  encodeEnd,
  findCompleteSize,
  findLastEvent,
  formatJobFileName,
  type ReadJob,
  requestsFor,
} from "./job-file.ts";
import { CANCELLED_BY_USER, type JobRun } from "./job-run.ts";

/** Lock for writing into a job file that another process wrote into before. */
export const JOBS_LOCK = join(".lockstep", "force-cancel.lock");

/** Writes a control file that the job finds, whichever process it runs in. Returns the message for the user. */
export async function requestControl(
  job: ReadJob,
  action: ControlAction,
  readAgain: () => Promise<ReadJob>,
): Promise<string> {
  checkAllowed(job.record, action);
  const { jobId } = job.record;
  const name = formatJobFileName({
    stamp: toFileStamp(new Date()),
    action: job.file.action,
    jobId,
    object: job.file.object,
    extension: `${action}_requested`,
  });
  const path = join(dirname(job.file.path), name);
  await writeFile(path, `${JSON.stringify({ action, requested_utc: nowUtcMicros() })}\n`);
  // The job may have ended since it was read, and would never remove the request.
  const now = (await readAgain()).record;
  if (now.endedAt !== "") {
    await rm(path, { force: true });
    if (!hasFollowed(now, action)) checkAllowed(now, action);
  }
  const message = `${capital(action)} requested for job '${jobId}'.`;
  return now.stalled ? `${message} It sends no heartbeat; cancel it with force=true to end it now.` : message;
}

/**
 * Writes the end that the job's own process can no longer write. Refused while that process writes heartbeats: two writers would contradict
 * each other.
 */
export async function forceCancel(
  jobsFolder: string,
  job: ReadJob,
  action: ControlAction,
  readAgain: () => Promise<ReadJob>,
  reason: string = CANCELLED_BY_USER,
): Promise<string> {
  const { jobId } = job.record;
  if (action !== "cancel") throw new BadInputError(`'force' goes with action 'cancel' only, not with '${action}'.`);
  return withFileLock(join(jobsFolder, JOBS_LOCK), async () => {
    const current = await readAgain();
    checkAllowed(current.record, action);
    if (!current.record.stalled && !current.waiting) {
      const seenAt = current.record.lastModifiedAt;
      throw new BadInputError(
        `Cannot cancel job '${jobId}' by force: it is running (last heartbeat ${seenAt}). Cancel it without force.`,
      );
    }
    await appendEnd(current, reason);
    const folder = dirname(current.file.path);
    await rename(current.file.path, join(folder, formatJobFileName({ ...current.file, extension: "cancelled" })));
    await takeRequests(folder, jobId, await readdir(folder));
    return current.waiting ? `Job '${jobId}' was cancelled while it waited.` : `Job '${jobId}' was cancelled by force.`;
  });
}

function checkAllowed(record: JobRecord, action: ControlAction): void {
  const { jobId, state } = record;
  if (state === "completed" || state === "cancelled") throw new BadInputError(`Job '${jobId}' is already ${state}.`);
  if (action === "resume" && state === "running") throw new BadInputError(`Cannot resume running job '${jobId}'.`);
  if (action === "pause" && state === "paused") throw new BadInputError(`Cannot pause paused job '${jobId}'.`);
}

/** A quick job may already have done what was requested, and more: a paused job ends only after it was resumed. */
function hasFollowed({ state }: JobRecord, action: ControlAction): boolean {
  return (action === "cancel" && state === "cancelled") || (action === "resume" && state === "completed");
}

async function appendEnd(job: ReadJob, reason: string): Promise<void> {
  await using handle = await open(job.file.path, "r+").catch((error: unknown) => {
    if (!isErrno(error, "ENOENT")) throw error;
    throw new BadInputError(`Cannot cancel job '${job.record.jobId}' by force: it changed its state just now.`);
  });
  const { size } = await handle.stat();
  // A crash may have left the beginning of an event. No reader was sent it, and it would swallow the end event.
  const complete = await findCompleteSize(handle, size);
  if (complete < size) await handle.truncate(complete);
  const last = await findLastEvent(handle, complete, () => true, { onlyTheLast: true });
  const end = encodeEnd(Number(last?.id ?? 0) + 1, {
    ...job.facts,
    state: "cancelled",
    endedAt: nowUtcMicros(),
    result: { ok: false, error: reason, data: {} },
  });
  await handle.write(end, complete);
  await handle.sync();
}

export interface RequestWatch {
  /** Watches as long as there are jobs. */
  start(): void;
  /** Ends the wait between two checks, for a process that wants to exit. */
  wake(): void;
}

/**
 * Checks for control files of all jobs of this process, and writes heartbeats (mtime) to their files. Lists each folder once per round:
 * file notifications do not work on network disks, and one listing costs less than a watcher.
 */
export function createRequestWatch(
  jobs: ReadonlyMap<JobId, JobRun>,
  timing: { readonly pollMs: number; readonly heartbeatMs: number },
): RequestWatch {
  let watching = false;
  let waiting = new AbortController();
  let touchedAt = performance.now();

  async function watch(): Promise<void> {
    while (jobs.size > 0) {
      waiting = new AbortController();
      await sleep(timing.pollMs, waiting.signal);
      for (const [folder, group] of groupByFolder(jobs)) await checkFolder(folder, group);
      if (performance.now() - touchedAt < timing.heartbeatMs) continue;
      touchedAt = performance.now();
      // The next heartbeat makes up for a missed one.
      await Promise.allSettled([...jobs.values()].map((run) => run.file.touch()));
    }
  }
  function start(): void {
    if (watching) return;
    watching = true;
    touchedAt = performance.now();
    void watch().finally(() => {
      watching = false;
      if (jobs.size > 0) start();
    });
  }
  return { start, wake: () => waiting.abort() };
}

/** Deletes the requests for a job and returns the one that counts: cancel before pause before resume. */
export async function takeRequests(
  folder: string,
  jobId: JobId,
  names: readonly string[],
): Promise<ControlAction | undefined> {
  const requests = requestsFor(jobId, names);
  for (const { name } of requests) await rm(join(folder, name), { force: true });
  const requested = new Set(requests.map(({ request }) => request));
  return (["cancel", "pause", "resume"] as const).find((action) => requested.has(`${action}_requested`));
}

async function checkFolder(folder: string, group: readonly (readonly [JobId, JobRun])[]): Promise<void> {
  try {
    const names = await readdir(folder);
    for (const [jobId, run] of group) {
      const action = await takeRequests(folder, jobId, names);
      if (action) run.request(action);
      if (!names.includes(basename(run.file.path)) && !(await run.file.isMine())) {
        run.fail(new Error("The job was ended by another process."));
      }
    }
  } catch {
    // A folder that cannot be read now is read again in the next round; the work itself goes on.
  }
}

function groupByFolder(jobs: ReadonlyMap<JobId, JobRun>): Map<string, (readonly [JobId, JobRun])[]> {
  const groups = new Map<string, (readonly [JobId, JobRun])[]>();
  for (const job of jobs) {
    const folder = dirname(job[1].file.path);
    const group = groups.get(folder);
    if (group) group.push(job);
    else groups.set(folder, [job]);
  }
  return groups;
}
