import { NotFoundError } from "../contracts/errors.ts";
import type { JobId } from "../contracts/ids.ts";
import type { JobRecord, JobState } from "../contracts/job.ts";
import { forEachConcurrent } from "../lib/concurrency.ts";
import {
  type FoundJobFile,
  findJob,
  findJobFiles,
  isJobState,
  jobNumber,
  type ReadJob,
  readJobFile,
  toNamePart,
} from "./job-file.ts";

export interface JobFilter {
  /** `inventory` includes everything below it. */
  readonly router?: string | undefined;
  /** The object of the job, as it was started: `DEMO`. */
  readonly object?: string | undefined;
  /** active: running or paused. */
  readonly state?: JobState | "active" | undefined;
  /** Filters by the content of the file. */
  readonly matching?: (job: JobRecord) => boolean;
  /** Maximum number, newest first. Older files are not opened. */
  readonly limit?: number;
  /** `limit` counts per object: the last crawl of every domain. */
  readonly per?: "object";
}

const READS_AT_ONCE = 8;

/** Newest first. Does not open files that their names rule out, nor ended jobs that are cached. */
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

/** If the file was renamed since the listing, the job is looked up again. Returns undefined if it was removed. */
export async function readListed(jobsFolder: string, file: FoundJobFile): Promise<ReadJob | undefined> {
  try {
    return (await readJobFile(file)) ?? (await findJob(jobsFolder, file.jobId));
  } catch (error) {
    if (error instanceof NotFoundError) return undefined;
    throw error;
  }
}

/** A file that was renamed while its folder was listed may appear twice. */
function newestFirst(files: readonly FoundJobFile[]): FoundJobFile[] {
  const byId = new Map<JobId, FoundJobFile>(files.map((file) => [file.jobId, file]));
  return [...byId.values()].sort((a, b) => jobNumber(b.jobId) - jobNumber(a.jobId));
}

function mayMatch(
  file: FoundJobFile,
  { router, object, state }: Pick<JobFilter, "router" | "object" | "state">,
): boolean {
  if (!isJobState(file.extension)) return false;
  if (router !== undefined && file.router !== router && !file.router.startsWith(`${router}/`)) return false;
  if (object !== undefined && file.object !== (object === "" ? "" : toNamePart(object))) return false;
  // A name can say "running" although the end is already written, but never "completed" while the job runs.
  return !asksForActive(state) || isActiveName(file);
}

function isActiveName({ extension }: FoundJobFile): boolean {
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

/** Columns in the file names, so that only the jobs of the page are opened. */
export const JOB_ORDERS = ["job_id", "state", "router", "action", "object"] as const;
type JobOrder = (typeof JOB_ORDERS)[number];

export interface JobPageRequest {
  readonly router?: string | undefined;
  readonly object?: string | undefined;
  readonly state?: JobState | undefined;
  /** Must occur in the id, state, router, action or object; "" for all. */
  readonly words: string;
  /** undefined: newest first. Equal jobs come newest first. */
  readonly order: { readonly by: JobOrder; readonly downwards: boolean } | undefined;
  readonly offset: number;
  /** undefined: all. */
  readonly limit: number | undefined;
}

export interface JobPage {
  readonly jobs: readonly JobRecord[];
  /** The number on all pages. */
  readonly total: number;
}

/** What is known about a job before its file is opened. */
interface NamedJob {
  readonly file: FoundJobFile;
  readonly state: string;
}

/** Returns a page of jobs. The cost depends on the page and on the number of running jobs, not on the number of all jobs. */
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

/** Maps in order, a few at once; leaves out undefined. */
async function mapFew<T, R>(items: readonly T[], work: (item: T) => Promise<R | undefined>): Promise<R[]> {
  const results = new Map<number, R>();
  await forEachConcurrent(items.entries(), READS_AT_ONCE, async ([at, item]) => {
    const result = await work(item);
    if (result !== undefined) results.set(at, result);
  });
  return [...items.keys()].flatMap((at) => results.get(at) ?? []);
}

/** The few jobs that seem to run are opened: their end may be written although the name does not say so yet. */
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

const MAX_REMEMBERED = 2000;
/** A result may hold a whole plan; those are few, and read again. */
const MAX_CHARS = 16_000;

/** Caches files whose names say that the job is over: they never change, so each is opened once. */
export class EndedJobs {
  readonly #known = new Map<string, ReadJob>();

  async read(file: FoundJobFile, open: () => Promise<ReadJob | undefined>): Promise<ReadJob | undefined> {
    const known = this.#known.get(file.path);
    const job = known ?? (await open());
    if (job && job.file.path === file.path && job.record.endedAt !== "" && isOverByName(file)) {
      if (known || JSON.stringify(job.record).length <= MAX_CHARS) this.#remember(file.path, job);
    }
    return job;
  }

  forget(path: string): void {
    this.#known.delete(path);
  }

  /** Evicts the least recently used entry. */
  #remember(path: string, job: ReadJob): void {
    this.#known.delete(path);
    this.#known.set(path, job);
    const [oldest] = this.#known.keys();
    if (this.#known.size > MAX_REMEMBERED && oldest !== undefined) this.#known.delete(oldest);
  }
}

function isOverByName({ extension }: FoundJobFile): boolean {
  return extension === "completed" || extension === "cancelled";
}
