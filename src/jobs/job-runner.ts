import { readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { BadInputError, ConflictError, explain } from "../contracts/errors.ts";
import type { JobId } from "../contracts/ids.ts";
import type { JobContext, JobRecord, Result } from "../contracts/job.ts";
import { thisProcess } from "../lib/process-identity.ts";
import { nowUtcMicros, sleep, toFileStamp } from "../lib/time.ts";
import { encodeEnd, encodeStart, type JobFacts } from "./job-events.ts";
import { createJobFile } from "./job-file.ts";
import { toNamePart } from "./job-file-name.ts";
import { type JobRun, type Outcome, runJob } from "./job-run.ts";
import { reserveJobId } from "./reserve-job-id.ts";
import { createRequestWatch, type RequestWatch, takeRequests } from "./watch-requests.ts";

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
  /**
   * Cancels every running job of this process with the reason as its error, and waits until all have ended. Work that
   * does not heed the signal is left behind after a few seconds; its job ends all the same. Nothing starts afterwards.
   */
  stop(reason: string): Promise<void>;
}

export interface JobRunnerOptions {
  readonly jobsFolder: string;
  readonly controlPollMs?: number;
  readonly heartbeatMs?: number;
  readonly stopGraceMs?: number;
}

export function createJobRunner(options: JobRunnerOptions): JobRunner {
  const { jobsFolder } = options;
  const runs = new Map<JobId, JobRun>();
  const ends = new Map<JobId, Promise<JobRecord>>();
  const starting = new Set<Promise<RunningJob>>();
  const watch = createRequestWatch(runs, {
    pollMs: options.controlPollMs ?? 250,
    heartbeatMs: options.heartbeatMs ?? 30_000,
  });
  let stopReason: string | undefined;

  async function launch(start: JobStart, work: (job: JobContext) => Promise<Result>): Promise<RunningJob> {
    const { facts, run } = await openJob(jobsFolder, start, work);
    const { jobId } = facts;
    runs.set(jobId, run);
    watch.start();
    const done = finishJob(run, facts, start).finally(() => forget(jobId, runs, ends, watch));
    ends.set(jobId, done);
    return { jobId, done };
  }

  return {
    async start(start, work) {
      if (stopReason !== undefined) throw new ConflictError(`Cannot start job '${start.action}': ${stopReason}`);
      const launched = launch(start, work);
      starting.add(launched);
      try {
        return await launched;
      } finally {
        starting.delete(launched);
      }
    },
    async stop(reason) {
      stopReason = reason;
      await Promise.allSettled(starting);
      for (const run of runs.values()) run.cancel(reason);
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

async function openJob(
  jobsFolder: string,
  start: JobStart,
  work: (job: JobContext) => Promise<Result>,
): Promise<{ readonly facts: JobFacts; readonly run: JobRun }> {
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
    process: thisProcess(),
  };
  let run: JobRun | undefined;
  const file = await createJobFile({
    folder: join(jobsFolder, start.router),
    name: { stamp: toFileStamp(now), action: start.action, jobId, object: start.object },
    start: encodeStart(1, facts),
    onTrouble: (error) => run?.fail(new Error(`write job file of '${jobId}'`, { cause: error })),
  });
  run = runJob({ jobId, dryRun: start.dryRun }, file, work);
  return { facts, run };
}

/** Waits for the work and writes the end. Never rejects: what goes wrong while ending becomes part of the result. */
async function finishJob(run: JobRun, started: JobFacts, start: JobStart): Promise<JobRecord> {
  const { state, result } = toWritable(await run.outcome);
  const facts: JobFacts = { ...started, state, result, endedAt: nowUtcMicros() };
  try {
    if (await run.file.isMine()) {
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

function toRecord(facts: JobFacts, start: JobStart): JobRecord {
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
