import type { JobId } from "./ids.ts";

export const JOB_STATES = ["running", "paused", "completed", "cancelled"] as const;
export type JobState = (typeof JOB_STATES)[number];
export type ControlAction = "pause" | "resume" | "cancel";

/** The response of every endpoint, and the result of every job. */
export interface Result {
  readonly ok: boolean;
  /** "" when ok. */
  readonly error: string;
  readonly data: unknown;
}

/** The job, as seen by the code that runs in it. */
export interface JobContext {
  readonly jobId: JobId;
  readonly dryRun: boolean;
  /** Aborts when the job is cancelled. */
  readonly signal: AbortSignal;
  /** Writes one line, which may begin with progress, `[ i / n ]`. Line breaks in names are escaped. */
  log(line: string): void;
  /** Called between two items: waits while paused, throws CancelledError when cancelled. */
  checkpoint(): Promise<void>;
}

/** A job as read from its file. */
export interface JobRecord {
  readonly jobId: JobId;
  readonly endpoint: string;
  readonly dryRun: boolean;
  readonly state: JobState;
  readonly startedAt: string;
  readonly endedAt: string;
  readonly result: Result | null;
  /** Running or paused, but its file was not written for too long: its process is probably dead. */
  readonly stalled: boolean;
  /** The router folder (`crawler`), the action (`crawl`) and the object (`DEMO`) of its file name. */
  readonly router: string;
  readonly action: string;
  readonly object: string;
  readonly lastModifiedAt: string;
}
