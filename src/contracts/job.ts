import type { JobId } from "./ids.ts";

export const JOB_STATES = ["running", "paused", "completed", "cancelled"] as const;
export type JobState = (typeof JOB_STATES)[number];
export type ControlAction = "pause" | "resume" | "cancel";

/** What every endpoint answers and every job ends with. */
export interface Result {
  readonly ok: boolean;
  /** "" when ok. */
  readonly error: string;
  readonly data: unknown;
}

/** What a verb sees of the job it runs in. */
export interface JobContext {
  readonly jobId: JobId;
  readonly dryRun: boolean;
  /** Aborts when the job is cancelled. */
  readonly signal: AbortSignal;
  /** One log event of one line, which may begin with progress, `[ i / n ]`. Line ends that a name holds are spelled out. */
  log(line: string): void;
  /** Between two items: waits while paused, throws CancelledError when cancelled. */
  checkpoint(): Promise<void>;
}

/** A job as its file tells it. */
export interface JobRecord {
  readonly jobId: JobId;
  readonly endpoint: string;
  readonly dryRun: boolean;
  readonly state: JobState;
  readonly startedAt: string;
  readonly endedAt: string;
  readonly result: Result | null;
  /** Running or paused, but its file was not touched for too long: its process is probably gone. */
  readonly stalled: boolean;
  /** The router folder (`crawler`), the action (`crawl`) and the object (`DEMO`) of its file name. */
  readonly router: string;
  readonly action: string;
  readonly object: string;
  readonly lastModifiedAt: string;
}
