import type { JobRecord, JobState } from "../contracts/job.ts";
import { forEachConcurrent } from "../lib/concurrency.ts";
import { type FoundJobFile, findJobFiles } from "./find-job-files.ts";
import { jobNumber } from "./job-file-name.ts";
import { isActiveName, mayMatch, newestFirst, READS_AT_ONCE, readListed } from "./read-jobs.ts";

/** What the names of the files tell, so that only the jobs of the page are opened. */
export const JOB_ORDERS = ["job_id", "state", "router", "action", "object"] as const;
export type JobOrder = (typeof JOB_ORDERS)[number];

export interface JobPageRequest {
  readonly router?: string | undefined;
  readonly object?: string | undefined;
  readonly state?: JobState | undefined;
  /** Occurs in the id, state, router, action or object; "" for all. */
  readonly words: string;
  /** undefined: newest first. Jobs that are equal in it come newest first. */
  readonly order: { readonly by: JobOrder; readonly downwards: boolean } | undefined;
  readonly offset: number;
  /** undefined: all. */
  readonly limit: number | undefined;
}

export interface JobPage {
  readonly jobs: readonly JobRecord[];
  /** How many there are on all pages. */
  readonly total: number;
}

/** A job as far as it is known before its file is opened. */
interface NamedJob {
  readonly file: FoundJobFile;
  readonly state: string;
}

/** A part of the jobs. What it costs depends on the part, and on how many jobs run, not on how many there ever were. */
export async function pageOfJobs(jobsFolder: string, request: JobPageRequest): Promise<JobPage> {
  const { router, object, state, order, offset, limit } = request;
  const files = (await findJobFiles(jobsFolder)).filter((file) => mayMatch(file, { router, object, state }));
  const named = await mapFew(newestFirst(files), (file) => nameJob(jobsFolder, file));
  const found = named.filter((job) => fits(job, request));
  const ordered = order ? found.toSorted((a, b) => (order.downwards ? -1 : 1) * compare(a, b, order.by)) : found;
  const part = ordered.slice(offset, limit === undefined ? undefined : offset + limit);
  const read = await mapFew(part, ({ file }) => readListed(jobsFolder, file));
  return { jobs: read.map(({ record }) => record), total: ordered.length };
}

/** In the order of the items, a few at once; what is undefined is left out. */
async function mapFew<T, R>(items: readonly T[], work: (item: T) => Promise<R | undefined>): Promise<R[]> {
  const results = new Map<number, R>();
  await forEachConcurrent(items.entries(), READS_AT_ONCE, async ([at, item]) => {
    const result = await work(item);
    if (result !== undefined) results.set(at, result);
  });
  return [...items.keys()].flatMap((at) => results.get(at) ?? []);
}

/** The few that seem to run are looked into: their end may be written although their name does not say so yet. */
async function nameJob(jobsFolder: string, file: FoundJobFile): Promise<NamedJob | undefined> {
  if (!isActiveName(file)) return { file, state: file.extension };
  const job = await readListed(jobsFolder, file);
  return job && { file: job.file, state: job.record.state };
}

function fits(job: NamedJob, { state, words }: JobPageRequest): boolean {
  if (state !== undefined && job.state !== state) return false;
  const { jobId, router, action, object } = job.file;
  const wanted = words.toLowerCase();
  return [jobId, job.state, router, action, object].some((text) => text.toLowerCase().includes(wanted));
}

function compare(a: NamedJob, b: NamedJob, by: JobOrder): number {
  if (by === "job_id") return jobNumber(a.file.jobId) - jobNumber(b.file.jobId);
  const textOf = (job: NamedJob): string => (by === "state" ? job.state : job.file[by]);
  return textOf(a).localeCompare(textOf(b), "en");
}
