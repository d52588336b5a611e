import { WATCH_ACTION } from "../../app/watch.ts";
import type { JobRecord } from "../../contracts/job.ts";

export function isActive(job: JobRecord): boolean {
  return job.state === "running" || job.state === "paused";
}

/** A job that works on the domain now. Watching it goes on for ever and says nothing about how it stands. */
export function isWorkOn(domainId: string, { action, object }: JobRecord): boolean {
  return object === domainId && action !== WATCH_ACTION;
}

/** What charts and health go by: a dry run changed nothing. */
export function isEndedCrawl(job: JobRecord): boolean {
  return job.action === "crawl" && !isActive(job) && !job.dryRun;
}

/** The state in words that do not need the colour: a job that completed may still have failed. */
export function stateWords(job: JobRecord): string {
  if (job.stalled) return "stalled";
  return job.state === "completed" && !job.result?.ok ? "completed with problems" : job.state;
}

export function tone(job: JobRecord): string {
  if (job.stalled) return "warn";
  if (isActive(job)) return "busy";
  if (job.state === "cancelled") return "warn";
  return job.result?.ok ? "good" : "bad";
}

/** Where a job has its own page: its log, its controls, its result. */
export function jobAddress(jobId: string): string {
  return `/v2/jobs/get?job_id=${encodeURIComponent(jobId)}&format=html`;
}

/** "crawl DEMO", as people call it. */
export function jobName({ action, object }: JobRecord): string {
  return object === "" ? action.replaceAll("_", " ") : `${action.replaceAll("_", " ")} ${object}`;
}

/** From a log line that begins `[ 3 / 40 ]`. */
export function progressIn(log: string): { readonly at: number; readonly of: number } | undefined {
  const found = /^\[\s*(\d+)\s*\/\s*(\d+)\s*\]/.exec(log);
  return found ? { at: Number(found[1]), of: Number(found[2]) } : undefined;
}

/** "2 min 5 s" between two instants; "" where either is missing. */
export function duration(startedAt: string, endedAt: string): string {
  const seconds = Math.round((Date.parse(endedAt) - Date.parse(startedAt)) / 1000);
  if (!Number.isFinite(seconds) || seconds < 0) return "";
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 60 ? `${minutes} min ${seconds % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
