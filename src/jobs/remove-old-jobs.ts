import { rm, stat } from "node:fs/promises";
import type { JobId } from "../contracts/ids.ts";
import { isErrno } from "../lib/atomic-file.ts";
import { findJobFiles } from "./find-job-files.ts";
import { isJobState } from "./job-file-name.ts";
import { readListed } from "./read-jobs.ts";

/** One at a time, and only what was not touched for so long is opened. Returns the ids of those removed. */
export async function removeOldJobs(jobsFolder: string, olderThanDays: number): Promise<JobId[]> {
  const before = Date.now() - olderThanDays * 24 * 60 * 60_000;
  const removed: JobId[] = [];
  for (const file of await findJobFiles(jobsFolder)) {
    if (!isJobState(file.extension) || !((await touchedAtMs(file.path)) < before)) continue;
    const job = await readListed(jobsFolder, file);
    if (!job || job.record.endedAt === "") continue;
    await rm(job.file.path, { force: true });
    removed.push(file.jobId);
  }
  await removeLostRequests(jobsFolder);
  return removed;
}

/** NaN, which is older than nothing, for a file that is gone. */
async function touchedAtMs(path: string): Promise<number> {
  try {
    return (await stat(path)).mtimeMs;
  } catch (error) {
    if (isErrno(error, "ENOENT")) return Number.NaN;
    throw error;
  }
}

async function removeLostRequests(jobsFolder: string): Promise<void> {
  const files = await findJobFiles(jobsFolder);
  const jobs = new Set(files.filter((file) => isJobState(file.extension)).map((file) => file.jobId));
  for (const file of files) {
    if (!jobs.has(file.jobId)) await rm(file.path, { force: true });
  }
}
