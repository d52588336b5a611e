import type { JobId } from "./ids.ts";
import type { PlanStep } from "./plan.ts";

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

/** How far a crawl is. */
export interface JobProgress {
  readonly step: PlanStep;
  /** The id of the source that is in this step. */
  readonly source: string;
  readonly sources: JobCount;
  /** What the step has to do with this source, as counted by the last `[ i / n ]` line; undefined: not counted yet. */
  readonly items?: JobCount;
  /** Steps that an error ended, of any source so far. Items that failed are in the result. */
  readonly failed: readonly PlanStep[];
}

export interface ProgressChange extends Partial<Pick<JobProgress, "step" | "source" | "sources">> {
  /** The step that runs. */
  readonly hasFailed?: true;
}

/** `at` of `of`; `at` counts from 1. */
export interface JobCount {
  readonly at: number;
  readonly of: number;
}

/** The job, as seen by the code that runs in it. */
export interface JobContext {
  readonly jobId: JobId;
  readonly dryRun: boolean;
  /** Aborts when the job is cancelled. */
  readonly signal: AbortSignal;
  /** Writes one line, which may begin with progress, `[ i / n ]`. Line breaks in names are escaped. */
  log(line: string): void;
  /** Says what changed. The events of the job carry the whole from then on. */
  progress?(change: ProgressChange): void;
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
  /** Left out if the job never said. */
  readonly progress?: JobProgress;
}
