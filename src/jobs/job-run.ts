import { setImmediate as nextTurn } from "node:timers/promises";
import { CancelledError, explain } from "../contracts/errors.ts";
import type { JobId } from "../contracts/ids.ts";
import type { ControlAction, JobContext, JobProgress, JobState, ProgressChange, Result } from "../contracts/job.ts";
import { countRepeats } from "../lib/count-repeats.ts";
import { countIn, encodeLog, type JobFile } from "./job-file.ts";

export const CANCELLED_BY_USER = "Cancelled by user.";

/** How a job ended, before it is written to its file. */
export interface Outcome {
  readonly state: JobState;
  readonly result: Result;
}

/** A job of this process between its start and its end. */
export interface JobRun {
  readonly file: JobFile;
  /** Settles with the work; never rejects. */
  readonly outcome: Promise<Outcome>;
  /** What the work last said. */
  readonly progress: JobProgress | undefined;
  /** Applies a request from a control file. */
  request(action: ControlAction): void;
  /** The process ends; the job itself may continue in another one. */
  stop(reason: string): void;
  readonly stopped: boolean;
  /** Ends the job for a reason other than a user's request: its file cannot be written, or another process ended it. */
  fail(error: unknown): void;
  /** Stops waiting for work that ignores the signal. */
  giveUp(): void;
}

/** Without a pause for longer than this between two checkpoints, requests would not be read. */
const YIELD_EVERY_MS = 50;
const LOG_AGAIN_MS = 60_000;
const GO_ON = Promise.resolve();

export function runJob(
  { paused = false, ...identity }: { readonly jobId: JobId; readonly dryRun: boolean; readonly paused?: boolean },
  file: JobFile,
  work: (job: JobContext) => Promise<Result>,
): JobRun {
  const abort = new AbortController();
  const pauseGate = createPauseGate(file, abort.signal, log);
  let givenUp: (outcome: Outcome) => void = () => undefined;
  let over = false;
  let stopped = false;
  let yieldedAt = performance.now();
  let progress: JobProgress | undefined;

  const warnings = countRepeats(write, { everyMs: LOG_AGAIN_MS });

  function write(line: string): void {
    const items = progress && countIn(line);
    if (progress && items) progress = { ...progress, items };
    if (!over) file.append(encodeLog(file.nextEventId(), line, progress));
  }
  /** Repeated WARNING and ERROR lines are counted, not repeated; other lines are always written. */
  function log(line: string): void {
    if (/^(?:WARNING|ERROR): /.test(line)) warnings.say(line);
    else write(line);
  }
  /** Steps call it for every item: where nothing is to be done, it costs no promise of its own. */
  function checkpoint(): Promise<void> {
    const isDue = performance.now() - yieldedAt > YIELD_EVERY_MS;
    return isDue || pauseGate.closed || abort.signal.aborted ? yieldAndObey(isDue) : GO_ON;
  }
  async function yieldAndObey(isDue: boolean): Promise<void> {
    if (isDue) {
      await nextTurn();
      yieldedAt = performance.now();
    }
    await pauseGate.pass();
    abort.signal.throwIfAborted();
  }
  function cancel(reason: string): void {
    abort.abort(new CancelledError(reason));
  }
  if (paused) pauseGate.set(true);
  const hung = new Promise<Outcome>((resolve) => {
    givenUp = resolve;
  });
  const context: JobContext = {
    ...identity,
    signal: abort.signal,
    log,
    progress(change) {
      progress = withChange(progress, change);
    },
    checkpoint,
  };
  const outcome = Promise.race([settle(work, context), hung]).then((ended) => {
    warnings.end();
    over = true;
    return ended;
  });
  return {
    file,
    outcome,
    request: (action) => (action === "cancel" ? cancel(CANCELLED_BY_USER) : pauseGate.set(action === "pause")),
    stop(reason) {
      stopped = !abort.signal.aborted;
      cancel(reason);
    },
    get progress() {
      return progress;
    },
    get stopped() {
      return stopped;
    },
    fail: (error) => abort.abort(error),
    giveUp: () => givenUp(stoppedOutcome(abort.signal.reason, {})),
  };
}

/** The count of items starts again with each step of each source. */
function withChange(before: JobProgress | undefined, change: ProgressChange): JobProgress {
  const { step = "download", source = "", sources = { at: 0, of: 0 }, failed = [] } = before ?? {};
  const now = { step, source, sources, ...change };
  const isSame = now.step === step && now.source === source && now.sources.at === sources.at;
  return {
    step: now.step,
    source: now.source,
    sources: now.sources,
    failed: change.hasFailed ? [...new Set([...failed, now.step])] : failed,
    ...(isSame && before?.items && { items: before.items }),
  };
}

interface PauseGate {
  readonly closed: boolean;
  set(closed: boolean): void;
  /** Waits while closed. Any number of workers may wait; the file is renamed once. */
  pass(): Promise<void>;
}

function createPauseGate(file: JobFile, signal: AbortSignal, log: (line: string) => void): PauseGate {
  let closed = false;
  let open: () => void = () => undefined;
  let pause: Promise<void> | undefined;

  async function waitUntilOpen(): Promise<void> {
    log("Paused.");
    await file.setState("paused");
    await new Promise<void>((resolve) => {
      open = resolve;
      signal.addEventListener("abort", () => resolve(), { once: true });
      if (!closed || signal.aborted) resolve();
    });
    if (signal.aborted) return;
    await file.setState("running");
    log("Resumed.");
  }
  return {
    get closed() {
      return closed;
    },
    set(wanted) {
      closed = wanted;
      if (!closed) open();
    },
    async pass() {
      while (closed && !signal.aborted) {
        pause ??= waitUntilOpen().finally(() => {
          pause = undefined;
        });
        await pause;
      }
    },
  };
}

async function settle(work: (job: JobContext) => Promise<Result>, job: JobContext): Promise<Outcome> {
  try {
    const result = await work(job);
    // Work that succeeded despite a late cancel counts as completed: its effects are there.
    if (result.ok || !job.signal.aborted) return { state: "completed", result };
    return stoppedOutcome(job.signal.reason, result.data);
  } catch (error) {
    // Once aborted, any error is a consequence of it.
    return stoppedOutcome(job.signal.aborted ? job.signal.reason : error, {});
  }
}

function stoppedOutcome(reason: unknown, data: unknown): Outcome {
  const state = reason instanceof CancelledError ? "cancelled" : "completed";
  return { state, result: { ok: false, error: explain(reason) || "The job failed.", data } };
}
