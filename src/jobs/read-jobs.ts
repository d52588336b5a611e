import { NotFoundError } from "../contracts/errors.ts";
import type { JobId } from "../contracts/ids.ts";
import type { JobRecord, JobState } from "../contracts/job.ts";
import { forEachConcurrent } from "../lib/concurrency.ts";
import type { EndedJobs } from "./ended-jobs.ts";
import { findJob } from "./find-job.ts";
import { type FoundJobFile, findJobFiles } from "./find-job-files.ts";
import { isJobState, jobNumber, toNamePart } from "./job-file-name.ts";
import { type ReadJob, readJobFile } from "./read-job-file.ts";

export interface JobFilter {
  /** `inventory` is also what lies below it. */
  readonly router?: string | undefined;
  /** What the job is about, as it was started: `DEMO`. */
  readonly object?: string | undefined;
  /** active: running or paused. */
  readonly state?: JobState | "active" | undefined;
  /** For what only the content of the file tells. */
  readonly matching?: (job: JobRecord) => boolean;
  /** At most so many, the newest. Files older than the last of them are not opened. */
  readonly limit?: number;
  /** `limit` counts for each object by itself: the last crawl of every domain. */
  readonly per?: "object";
}

export const READS_AT_ONCE = 8;

/** Newest first. Files that their names rule out are not opened, nor those of ended jobs that are remembered. */
export async function readJobs(jobsFolder: string, filter: JobFilter, ended: EndedJobs): Promise<ReadJob[]> {
  const files = newestFirst((await findJobFiles(jobsFolder)).filter((file) => mayMatch(file, filter)));
  const groups = filter.per === "object" ? [...Map.groupBy(files, (file) => file.object).values()] : [files];
  const read = (file: FoundJobFile): Promise<ReadJob | undefined> =>
    ended.read(file, () => readListed(jobsFolder, file));
  const jobs: ReadJob[] = [];
  await forEachConcurrent(groups, READS_AT_ONCE, async (group) => {
    jobs.push(...(await readNewest(group, filter, read)));
  });
  return jobs.sort((a, b) => jobNumber(b.record.jobId) - jobNumber(a.record.jobId));
}

async function readNewest(
  files: readonly FoundJobFile[],
  filter: JobFilter,
  read: (file: FoundJobFile) => Promise<ReadJob | undefined>,
): Promise<ReadJob[]> {
  const { limit = Number.POSITIVE_INFINITY } = filter;
  const found: ReadJob[] = [];
  for (let at = 0; at < files.length && found.length < limit; ) {
    const next = files.slice(at, at + Math.min(READS_AT_ONCE, limit - found.length));
    at += next.length;
    for (const job of await Promise.all(next.map(read))) {
      if (job && matches(job.record, filter)) found.push(job);
    }
  }
  return found;
}

/** Renamed between the listing and now: the job is looked up anew. Gone for good: it was removed, and is left out. */
export async function readListed(jobsFolder: string, file: FoundJobFile): Promise<ReadJob | undefined> {
  try {
    return (await readJobFile(file)) ?? (await findJob(jobsFolder, file.jobId));
  } catch (error) {
    if (error instanceof NotFoundError) return undefined;
    throw error;
  }
}

/** A file that was renamed while its folder was read may be there twice. */
export function newestFirst(files: readonly FoundJobFile[]): FoundJobFile[] {
  const byId = new Map<JobId, FoundJobFile>(files.map((file) => [file.jobId, file]));
  return [...byId.values()].sort((a, b) => jobNumber(b.jobId) - jobNumber(a.jobId));
}

export function mayMatch(
  file: FoundJobFile,
  { router, object, state }: Pick<JobFilter, "router" | "object" | "state">,
): boolean {
  if (!isJobState(file.extension)) return false;
  if (router !== undefined && file.router !== router && !file.router.startsWith(`${router}/`)) return false;
  if (object !== undefined && file.object !== (object === "" ? "" : toNamePart(object))) return false;
  // A name can say "running" of a job whose end is written already, yet never "completed" of one that runs.
  return !asksForActive(state) || isActiveName(file);
}

export function isActiveName({ extension }: FoundJobFile): boolean {
  return extension === "running" || extension === "paused";
}

function matches(job: JobRecord, { state, matching }: JobFilter): boolean {
  const active = job.state === "running" || job.state === "paused";
  const inState = state === undefined || (state === "active" ? active : job.state === state);
  return inState && (matching?.(job) ?? true);
}

function asksForActive(state: JobFilter["state"]): boolean {
  return state === "active" || state === "running" || state === "paused";
}
