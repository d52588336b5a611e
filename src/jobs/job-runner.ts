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
  /** What another process needs to know to do the same work; without it the job runs where it was started. */
  readonly task?: NewTask;
}

/** Work that was checked and is ready to become a job. Whoever starts it adds where it was asked for. */
export interface JobWork {
  readonly start: Omit<JobStart, "endpoint">;
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
  /** A job whose file exists, and which waits for somebody to adopt it. */
  reserve(start: JobStart): Promise<JobId>;
  /** Goes on with a job of another process. undefined: it is over. NotFoundError when there is none. */
  adopt(jobId: JobId, adoption: Adoption, work: (job: JobContext) => Promise<Result>): Promise<RunningJob | undefined>;
  /**
   * Cancels every running job of this process with the reason as its error, and waits until all have ended. Work that
   * does not heed the signal is left behind after a few seconds; its job ends all the same. Nothing starts afterwards.
   * A job that was adopted is left for the next one to adopt instead: it waits again.
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

/** A job of this process, and what its end has to say of its beginning. */
interface OpenedJob {
  readonly facts: JobFacts;
  readonly run: JobRun;
  readonly start: Pick<JobStart, "router" | "action" | "object">;
  /** Of a job that another process reserved. */
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
  // Of no process: the one that asks may be gone before the job begins, and that is fine.
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
  // One that was paused when its process ended stays so: nobody has resumed it.
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

/** Waits for the work and writes the end. Never rejects: what goes wrong while ending becomes part of the result. */
async function finishJob({ facts: started, run, start, adoption }: OpenedJob): Promise<JobRecord> {
  const { state, result } = toWritable(await run.outcome);
  const facts: JobFacts = { ...started, state, result, endedAt: nowUtcMicros() };
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
    // Two ends would be worse than one that comes later: whoever has the job next writes it.
    return false;
  }
}

/** A request that came too late must not wait for a job that never looks again. */
async function dropRequests(run: JobRun, jobId: JobId): Promise<void> {
  const folder = dirname(run.file.path);
  try {
    await takeRequests(folder, jobId, await readdir(folder));
  } catch {
    // It stays as an empty sign; removing old jobs removes it.
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

/** What makes a job of another process one of this process. */
export interface Adoption {
  /** The line that says who goes on with it. */
  readonly line: string;
  /** Asked before the end is written: false, or a failure to tell, leaves the end to whoever has the job now. */
  readonly stillMine: () => Promise<boolean>;
  /** Aborts when somebody else has the job. */
  readonly lost: AbortSignal;
}

interface AdoptedJob {
  readonly file: JobFile;
  readonly job: ReadJob;
}

/**
 * Takes on a job that was left for others or whose process ended; that no process has it any more is for the caller to
 * know. undefined: it is over. NotFoundError when there is none.
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
    // Once this is written the job does not wait any more, and cancelling it means to ask.
    await file.settle();
    return { file, job };
  });
}

/** Enough for as many processes to start a job at the same moment without one being turned away. */
const KEPT_CLAIMS = 20;

const oneAtATime = createKeyedMutex();

/**
 * The next job id, unique among all processes and router folders. The claims under `.lockstep/job-ids` decide; the
 * names of the job files count as well, so losing that folder cannot bring an id back that a kept job has. Within a
 * process one asks after the other: they would only get in each other's way.
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
    if (await claimNumber(claims, number, { content: "", kept: KEPT_CLAIMS })) return `jb_${number}` as JobId;
  }
}
