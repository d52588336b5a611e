import { readdir } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { BadInputError, ConflictError, explain } from "../contracts/errors.ts";
import type { JobId } from "../contracts/ids.ts";
import type { JobContext, JobRecord, Result } from "../contracts/job.ts";
import type { NewTask } from "../contracts/queue.ts";
import { createKeyedMutex } from "../lib/concurrency.ts";
import { withFileLock } from "../lib/file-lease.ts";
import { claimNumber, highestClaim } from "../lib/numbered-claim.ts";
import { thisProcess } from "../lib/process-identity.ts";
import { nowUtcMicros, sleep, toFileStamp } from "../lib/time.ts";
import { createRequestWatch, JOBS_LOCK, type RequestWatch, takeRequests } from "./job-control.ts";
import {
  createJobFile,
  encodeEnd,
  encodeLog,
  encodeStart,
  findJob,
  findJobFiles,
  type JobFacts,
  type JobFile,
  jobNumber,
  type ReadJob,
  reopenJobFile,
  toNamePart,
  WAITING,
} from "./job-file.ts";
import { type JobRun, type Outcome, runJob } from "./job-run.ts";

export interface JobStart {
  /** Folder below `jobs/`: `crawler`. */
  readonly router: string;
  /** `crawl` */
  readonly action: string;
  /** `DEMO`; "" for none. */
  readonly object: string;
  /** The URL or command line that started it. */
  readonly endpoint: string;
  readonly dryRun: boolean;
  /** What another process needs to do the same work; without it the job runs where it was started. */
  readonly task?: NewTask;
}

/** Checked work that is ready to become a job. The caller adds the endpoint, unless it must not be written down as it was called. */
export interface JobWork {
  readonly start: Omit<JobStart, "endpoint"> & { readonly endpoint?: string };
  readonly work: (job: JobContext) => Promise<Result>;
}

export interface RunningJob {
  readonly jobId: JobId;
  /** Settles when `end_json` is on disk; never rejects. */
  readonly done: Promise<JobRecord>;
}

/** Runs work of this process as jobs. */
export interface JobRunner {
  /** Resolves when the job file exists with its `start_json`. */
  start(start: JobStart, work: (job: JobContext) => Promise<Result>): Promise<RunningJob>;
  /** Creates a job file that waits for a process to adopt it. */
  reserve(start: JobStart): Promise<JobId>;
  /** Continues a job of another process. Returns undefined if it is over; throws NotFoundError if there is none. */
  adopt(jobId: JobId, adoption: Adoption, work: (job: JobContext) => Promise<Result>): Promise<RunningJob | undefined>;
  /**
   * Cancels every running job of this process with the reason as its error, and waits until all have ended. Work that ignores the signal is
   * abandoned after a few seconds; its job ends all the same. No job starts afterwards. An adopted job is not ended: it waits for the next
   * process to adopt it.
   */
  stop(reason: string): Promise<void>;
}

interface JobRunnerOptions {
  readonly jobsFolder: string;
  readonly controlPollMs?: number;
  readonly heartbeatMs?: number;
  readonly stopGraceMs?: number;
}

export function createJobRunner(options: JobRunnerOptions): JobRunner {
  const { jobsFolder } = options;
  const runs = new Map<JobId, JobRun>();
  const ends = new Map<JobId, Promise<JobRecord>>();
  const starting = new Set<Promise<unknown>>();
  const watch = createRequestWatch(runs, {
    pollMs: options.controlPollMs ?? 250,
    heartbeatMs: options.heartbeatMs ?? 30_000,
  });
  let stopReason: string | undefined;

  function launch(opened: OpenedJob): RunningJob {
    const { facts, run } = opened;
    const { jobId } = facts;
    runs.set(jobId, run);
    watch.start();
    const done = finishJob(opened).finally(() => forget(jobId, runs, ends, watch));
    ends.set(jobId, done);
    return { jobId, done };
  }
  async function unlessStopping<T>(what: string, work: () => Promise<T>): Promise<T> {
    if (stopReason !== undefined) throw new ConflictError(`Cannot start job '${what}': ${stopReason}`);
    const launched = work();
    starting.add(launched);
    try {
      return await launched;
    } finally {
      starting.delete(launched);
    }
  }

  return {
    start: (start, work) => unlessStopping(start.action, async () => launch(await openJob(jobsFolder, start, work))),
    reserve: (start) => unlessStopping(start.action, () => reserveJob(jobsFolder, start)),
    adopt: (jobId, adoption, work) =>
      unlessStopping(jobId, async () => {
        const opened = await adoptJob(jobsFolder, jobId, adoption, work);
        return opened && launch(opened);
      }),
    async stop(reason) {
      stopReason = reason;
      await Promise.allSettled(starting);
      for (const run of runs.values()) run.stop(reason);
      const allEnded = new AbortController();
      const ended = Promise.all(ends.values()).finally(() => allEnded.abort());
      await sleep(options.stopGraceMs ?? 5_000, allEnded.signal);
      for (const run of runs.values()) run.giveUp();
      await ended;
    },
  };
}

function forget(
  jobId: JobId,
  runs: Map<JobId, JobRun>,
  ends: Map<JobId, Promise<JobRecord>>,
  watch: RequestWatch,
): void {
  runs.delete(jobId);
  ends.delete(jobId);
  if (runs.size === 0) watch.wake();
}

/** A job of this process, and the facts that its end event repeats. */
interface OpenedJob {
  readonly facts: JobFacts;
  readonly run: JobRun;
  readonly start: Pick<JobStart, "router" | "action" | "object">;
  /** For a job that another process reserved. */
  readonly adoption?: Adoption;
}

async function openJob(
  jobsFolder: string,
  start: JobStart,
  work: (job: JobContext) => Promise<Result>,
): Promise<OpenedJob> {
  let run: JobRun | undefined;
  const { file, facts } = await createFile(jobsFolder, start, thisProcess(), (error) => run?.fail(error));
  run = runJob({ jobId: facts.jobId, dryRun: start.dryRun }, file, work);
  return { facts, run, start };
}

async function reserveJob(jobsFolder: string, start: JobStart): Promise<JobId> {
  // Without a process: the one that requests the job may end before the job begins.
  const { file, facts } = await createFile(jobsFolder, start, null, () => undefined);
  await file.leave(encodeLog(file.nextEventId(), WAITING));
  return facts.jobId;
}

async function adoptJob(
  jobsFolder: string,
  jobId: JobId,
  adoption: Adoption,
  work: (job: JobContext) => Promise<Result>,
): Promise<OpenedJob | undefined> {
  let run: JobRun | undefined;
  const adopted = await adoptJobFile(jobsFolder, jobId, adoption.line, (error) => run?.fail(error));
  if (!adopted) return undefined;
  const { file, job } = adopted;
  // A job that was paused when its process ended stays paused: it was not resumed.
  const paused = job.file.extension === "paused";
  const started = runJob({ jobId, dryRun: job.facts.dryRun, paused }, file, work);
  run = started;
  adoption.lost.addEventListener("abort", () => started.fail(new Error("Another process goes on with the job.")), {
    once: true,
  });
  return { facts: job.facts, run: started, start: job.file, adoption };
}

async function createFile(
  jobsFolder: string,
  start: JobStart,
  process: JobFacts["process"],
  onTrouble: (error: unknown) => void,
): Promise<{ readonly file: JobFile; readonly facts: JobFacts }> {
  if (!/^[A-Za-z0-9_-]+(\/[A-Za-z0-9_-]+)*$/.test(start.router)) {
    throw new BadInputError(`Cannot start job '${start.action}': '${start.router}' is no router name.`);
  }
  const jobId = await reserveJobId(jobsFolder);
  const now = new Date();
  const facts: JobFacts = {
    jobId,
    endpoint: start.endpoint,
    state: "running",
    startedAt: nowUtcMicros(),
    endedAt: "",
    result: null,
    dryRun: start.dryRun,
    process,
  };
  const file = await createJobFile({
    folder: join(jobsFolder, start.router),
    name: { stamp: toFileStamp(now), action: start.action, jobId, object: start.object },
    start: encodeStart(1, facts),
    onTrouble: (error) => onTrouble(new Error(`write job file of '${jobId}'`, { cause: error })),
  });
  return { file, facts };
}

/** Waits for the work and writes the end. Never rejects: an error while ending becomes part of the result. */
async function finishJob({ facts: started, run, start, adoption }: OpenedJob): Promise<JobRecord> {
  const { state, result } = toWritable(await run.outcome);
  const { progress = started.progress } = run;
  const facts: JobFacts = { ...started, state, result, endedAt: nowUtcMicros(), ...(progress && { progress }) };
  try {
    const mine = (await run.file.isMine()) && (adoption === undefined || (await isStillMine(adoption)));
    if (mine && adoption && run.stopped && !result.ok) {
      await run.file.leave(encodeLog(run.file.nextEventId(), WAITING));
      return toRecord({ ...started, endedAt: "" }, start);
    }
    if (mine) {
      await run.file.end(encodeEnd(run.file.nextEventId(), facts), state);
      await dropRequests(run, facts.jobId);
    } else {
      await run.file.abandon();
    }
    return toRecord(facts, start);
  } catch (error) {
    const failed = `${result.error} The end of the job could not be written: ${explain(error)}`.trim();
    return toRecord({ ...facts, result: { ...result, ok: false, error: failed } }, start);
  }
}

async function isStillMine(adoption: Adoption): Promise<boolean> {
  try {
    return await adoption.stillMine();
  } catch {
    // Two ends would be worse than a late one: the process that has the job next writes it.
    return false;
  }
}

/** Removes requests that came too late: no process would ever read them. */
async function dropRequests(run: JobRun, jobId: JobId): Promise<void> {
  const folder = dirname(run.file.path);
  try {
    await takeRequests(folder, jobId, await readdir(folder));
  } catch {
    // The file stays without effect; removing old jobs removes it.
  }
}

function toWritable(outcome: Outcome): Outcome {
  try {
    JSON.stringify(outcome.result);
    return { state: outcome.state, result: { ...outcome.result, data: outcome.result.data ?? {} } };
  } catch (error) {
    const problem = `The result cannot be written as JSON: ${explain(error)}`;
    return {
      state: outcome.state,
      result: { ok: false, error: `${outcome.result.error} ${problem}`.trim(), data: {} },
    };
  }
}

function toRecord(facts: JobFacts, start: OpenedJob["start"]): JobRecord {
  const { process: _process, ...record } = facts;
  return {
    ...record,
    stalled: false,
    router: start.router,
    action: toNamePart(start.action),
    object: start.object === "" ? "" : toNamePart(start.object),
    lastModifiedAt: facts.endedAt,
  };
}

/** Makes a job of another process one of this process. */
export interface Adoption {
  /** The log line that says which worker continues the job. */
  readonly line: string;
  /** Called before the end is written. On false or an error, the process that has the job now writes the end. */
  readonly stillMine: () => Promise<boolean>;
  /** Aborts when another process has the job. */
  readonly lost: AbortSignal;
}

interface AdoptedJob {
  readonly file: JobFile;
  readonly job: ReadJob;
}

/**
 * Reopens a job that was left for others or whose process ended; the caller must know that no process has it. Returns undefined if it is
 * over; throws NotFoundError if there is none.
 */
function adoptJobFile(
  jobsFolder: string,
  jobId: JobId,
  line: string,
  onTrouble: (error: unknown) => void,
): Promise<AdoptedJob | undefined> {
  return withFileLock(join(jobsFolder, JOBS_LOCK), async () => {
    const job = await findJob(jobsFolder, jobId);
    if (job.record.endedAt !== "") return undefined;
    const file = await reopenJobFile(job.file, onTrouble);
    file.append(encodeLog(file.nextEventId(), line));
    // From now on the job does not wait any more, and cancelling it takes a request.
    await file.settle();
    return { file, job };
  });
}

/** This many processes can start a job at the same moment without one failing. */
const RETAINED_CLAIMS = 20;

const oneAtATime = createKeyedMutex();

/**
 * Returns the next job id, unique among all processes and router folders. The claims in `.lockstep/job-ids` decide; names of job files
 * count as well, so losing that folder cannot reuse the id of an existing job. Within a process the calls are serialized, because they
 * would only conflict.
 */
function reserveJobId(jobsFolder: string): Promise<JobId> {
  return oneAtATime(resolve(jobsFolder), () => claimNextId(jobsFolder));
}

async function claimNextId(jobsFolder: string): Promise<JobId> {
  const claims = join(jobsFolder, ".lockstep", "job-ids");
  const files = await findJobFiles(jobsFolder);
  const highestFile = files.reduce((highest, file) => Math.max(highest, jobNumber(file.jobId)), 0);
  for (;;) {
    const number = Math.max((await highestClaim(claims))?.number ?? 0, highestFile) + 1;
    if (await claimNumber(claims, number, { content: "", retain: RETAINED_CLAIMS })) return `jb_${number}` as JobId;
  }
}
