import type { JobId } from "../contracts/ids.ts";
import { type ControlAction, JOB_STATES, type JobState } from "../contracts/job.ts";

/** The parts of `2025-11-26_14-20-30_[crawl]_[jb_42]_[DEMO].running`. */
export interface JobFileName {
  /** `2025-11-26_14-20-30`, UTC. */
  readonly stamp: string;
  readonly action: string;
  readonly jobId: JobId;
  /** "" for none; the name then ends with the job id. */
  readonly object: string;
  readonly extension: JobState | ControlRequest;
}

export type ControlRequest = `${ControlAction}_requested`;

const REQUESTS: readonly string[] = [
  "cancel_requested",
  "pause_requested",
  "resume_requested",
] satisfies ControlRequest[];

/** Two parts of this length, stamp, id and state stay below the 255 bytes that file systems give a name. */
const MAX_PART_BYTES = 80;

const NAME =
  /^(\d{4}-\d{2}-\d{2}_\d{2}-\d{2}-\d{2})_\[([^[\]]+)\]_\[(jb_[1-9]\d{0,14})\](?:_\[([^[\]]+)\])?\.([a-z_]+)$/u;

export function formatJobFileName(name: JobFileName): string {
  const object = name.object === "" ? "" : `_[${toNamePart(name.object)}]`;
  return `${name.stamp}_[${toNamePart(name.action)}]_[${name.jobId}]${object}.${name.extension}`;
}

/** undefined for every name that is not a job's. */
export function parseJobFileName(text: string): JobFileName | undefined {
  const match = NAME.exec(text);
  if (!match) return undefined;
  const [, stamp = "", action = "", jobId = "", object = "", extension = ""] = match;
  if (!isJobState(extension) && !isControlRequest(extension)) return undefined;
  return { stamp, action, jobId: jobId as JobId, object, extension };
}

export function isJobState(text: string): text is JobState {
  return (JOB_STATES as readonly string[]).includes(text);
}

export function isControlRequest(text: string): text is ControlRequest {
  return REQUESTS.includes(text);
}

export function jobNumber(id: JobId): number {
  return Number(id.slice("jb_".length));
}

/** undefined when the text cannot be a job's id. */
export function parseJobId(text: string): JobId | undefined {
  return /^jb_[1-9]\d{0,14}$/.test(text) ? (text as JobId) : undefined;
}

/** Whatever a file name cannot hold on some system, and the brackets that hold the parts together, become underscores. */
export function toNamePart(text: string): string {
  const safe = text
    .toWellFormed()
    .replaceAll(/[^\p{L}\p{M}\p{N} ._~@,;=+()-]/gu, "_")
    .trim();
  let part = "";
  for (const character of safe) {
    if (Buffer.byteLength(part + character) > MAX_PART_BYTES) break;
    part += character;
  }
  return part.trim() || "_";
}
