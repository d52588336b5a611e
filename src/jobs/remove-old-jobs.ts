import type { Stats } from "node:fs";
import { rm, stat } from "node:fs/promises";
import type { JobId } from "../contracts/ids.ts";
import { isErrno } from "../lib/atomic-file.ts";
import { findJobFiles } from "./find-job-files.ts";
import { isJobState } from "./job-file-name.ts";
import { readListed } from "./read-jobs.ts";

export interface RemovedJob {
  readonly jobId: JobId;
  readonly bytes: number;
}

/** One at a time, and only what was not touched for so long is opened. Tells which; a dry run does only that. */
export async function removeOldJobs(
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

/** undefined for a file that is gone. */
async function factsOf(path: string): Promise<Stats | undefined> {
  try {
    return await stat(path);
  } catch (error) {
    if (isErrno(error, "ENOENT")) return undefined;
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
