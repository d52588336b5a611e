import { html } from "hono/html";
import type { App } from "../../app/app.ts";
import { NotFoundError } from "../../contracts/errors.ts";
import type { JobId } from "../../contracts/ids.ts";
import type { JobRecord } from "../../contracts/job.ts";
import { controlForm } from "./job-console.ts";
import { jobAddress, jobName, progressIn, stateWords, tone } from "./job-words.ts";
import type { Frame, Html } from "./layout.ts";
import { mayChange } from "./may-change.ts";
import { shownTime } from "./shown-time.ts";

/** More would be a list to read, not something to glance at. */
const SHOWN = 6;

export interface RunningJob {
  readonly job: JobRecord;
  readonly log: string;
}

export interface RunningJobs {
  readonly shown: readonly RunningJob[];
  readonly more: number;
}

/** Those that run or are paused, with the last they said. */
export async function gatherRunning({ jobs }: App, active: readonly JobRecord[]): Promise<RunningJobs> {
  const shown = await Promise.all(active.slice(0, SHOWN).map(async (job) => ({ job, log: await lastLog(jobs, job) })));
  return { shown, more: Math.max(0, active.length - SHOWN) };
}

/** A job may be removed while it is looked at. */
async function lastLog(jobs: App["jobs"], { jobId }: JobRecord): Promise<string> {
  return jobs.lastLog(jobId).catch((error: unknown) => {
    if (error instanceof NotFoundError) return "";
    throw error;
  });
}

/**
 * The module live-jobs.js keeps it true. It is there without jobs as well: one may begin. The job that the page has in its
 * console has its controls there.
 */
export function runningJobs({ shown, more }: RunningJobs, frame: Frame, inConsole?: JobId): Html {
  const row = (running: RunningJob): Html =>
    rowOf(running, mayChange(frame, "operate") && running.job.jobId !== inConsole);
  return html`<section id="running" data-refresh aria-labelledby="running-title">
<div class="section-head"><h2 id="running-title">Running now</h2>${more > 0 ? html`<a href="/v2/jobs?format=ui">and ${more} more</a>` : ""}</div>
${shown.length === 0 ? html`<p class="quiet">No job is running.</p>` : html`<ul class="running">${shown.map(row)}</ul>`}
</section>`;
}

function rowOf({ job, log }: RunningJob, isControlled: boolean): Html {
  const progress = progressIn(log);
  return html`<li class="panel running-job ${job.stalled ? "stalled" : ""}" data-live-job="${job.jobId}" data-live-state="${job.state}">
<p class="running-head"><a href="${jobAddress(job.jobId)}"><bdi>${jobName(job)}</bdi></a> <span class="pill ${tone(job)}" data-part="state">${stateWords(job)}</span> ${job.dryRun ? html`<span class="quiet">dry run</span>` : ""}</p>
<div class="progress-row"><progress data-part="progress" aria-label="Progress of ${job.jobId}" ${progress ? html`max="${Math.max(1, progress.of)}" value="${progress.at}"` : ""}></progress><span data-part="count">${progress ? `${progress.at} / ${progress.of}` : ""}</span></div>
<p class="running-log" data-part="log"><bdi>${log.split("\n").at(-1) ?? ""}</bdi></p>
<p class="quiet">${job.jobId}, since ${shownTime(job.startedAt)}</p>
${isControlled ? html`<div class="row-actions">${controlForm("pause", "Pause", job)}${controlForm("resume", "Resume", job)}${controlForm("cancel", "Cancel", job)}</div>` : ""}
</li>`;
}
