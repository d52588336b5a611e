import { html } from "hono/html";
import type { App } from "../../app/app.ts";
import { WATCH_ACTION } from "../../app/watch.ts";
import { NotFoundError } from "../../contracts/errors.ts";
import type { JobId } from "../../contracts/ids.ts";
import type { JobRecord } from "../../contracts/job.ts";
import type { SourceKinds } from "../../contracts/source-kind.ts";
import { type CrawlResult, STEPS } from "../../engine/crawl-request.ts";
import { countIn } from "../../jobs/job-file.ts";
import { capital } from "../../lib/text.ts";
import { crawlSteps, hasSteps } from "./crawl-steps.ts";
import { sayCounts, summarizeCrawl } from "./crawl-summary.ts";
import { shownId, shownTime } from "./display.ts";
import { type Frame, type Html, mayChange } from "./layout.ts";

const ACTIONS = [
  ["pause", "Pause"],
  ["resume", "Resume"],
  ["cancel", "Cancel"],
] as const;

/** Rendered with the job's last log line; the page's script follows the event stream. */
export function jobConsole(watched: WatchedJob | undefined, frame: Frame): Html {
  const job = watched?.job;
  return html`<section id="console" class="console" aria-labelledby="console-title" data-job="${job?.jobId ?? ""}" data-state="${job?.state ?? ""}" ${job ? "" : "hidden"}>
<header>
<h2 id="console-title"><bdi data-part="object">${job ? jobName(job) : ""}</bdi> <a class="console-job" data-part="job" href="${job ? jobAddress(job.jobId) : "/v2/jobs?format=ui"}">${job?.jobId ?? ""}</a></h2>
<span class="pill ${job ? tone(job) : ""}" data-part="state">${job ? stateWords(job) : ""}</span>
<div class="controls">${mayChange(frame, "operate") ? ACTIONS.map(([action, label]) => controlForm(action, label, job)) : ""}</div>
</header>
${crawlSteps(job)}
<p class="left" data-part="left"></p>
${oneBar("Progress", job, watched?.log ?? "")}
<details class="log-fold" data-part="fold" ${hasSteps(job) && !hasFailed(job) ? "" : "open"}><summary>Log</summary>
<div class="log-tools" data-scripted hidden>
<label><span class="visually-hidden">Find in the log</span><input type="search" data-part="find" placeholder="Find in the log" autocomplete="off"></label>
<label class="check"><input type="checkbox" data-part="alarms"> <span>Errors and warnings only</span></label>
<span class="found" data-part="found" role="status"></span>
</div>
<p class="older-lines" data-part="older" hidden>Older lines are not shown, errors and warnings excepted; the <a data-part="monitor" href="${job ? monitorUrl(job.jobId) : "/v2/jobs"}">event stream</a> has them all.</p>
<div class="log" data-part="log" role="log" aria-live="off" aria-label="Job log" tabindex="0">${watched?.log ? html`<p>${watched.log}</p>` : ""}</div>
</details>
<footer><a data-part="monitor" href="${job ? monitorUrl(job.jobId) : "/v2/jobs"}">Event stream</a><span data-part="connection" role="status"></span></footer>
<p class="visually-hidden" role="status" data-part="announcement"></p>
</section>`;
}

function hasFailed(job: JobRecord | undefined): boolean {
  return job?.result?.ok === false;
}

/** The bar of a job without steps, by its last line. */
function oneBar(name: string, job: JobRecord | undefined, log: string): Html {
  const count = countIn(log);
  return html`<div class="progress-row" data-part="bar" ${hasSteps(job) ? "hidden" : ""}><progress data-part="progress" aria-label="${name}" ${count ? html`max="${Math.max(1, count.of)}" value="${count.at}"` : ""}></progress><span data-part="count">${count ? `${count.at} / ${count.of}` : ""}</span></div>`;
}

/** The process of a stalled job is gone and would never read a request, so it is cancelled by force. */
export function controlForm(action: string, label: string, job: JobRecord | undefined): Html {
  const possible = job !== undefined && isPossible(action, job);
  const stalled = job?.stalled === true;
  const cancels = action === "cancel";
  return html`<form action="/v2/jobs/control" method="get" data-control="${action}" ${possible ? "" : "hidden"}>
<input type="hidden" name="job_id" value="${job?.jobId ?? ""}"><input type="hidden" name="action" value="${action}">
${cancels ? html`<input type="hidden" name="force" value="${String(stalled)}">` : ""}<button class="small ${cancels ? "danger" : ""}" id="${action}-${job?.jobId ?? ""}">${cancels && stalled ? "Force cancel" : label}</button></form>`;
}

function isPossible(action: string, job: JobRecord): boolean {
  if (action === "pause") return job.state === "running" && !job.stalled;
  if (action === "resume") return job.state === "paused" && !job.stalled;
  return isActive(job);
}

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

/** Returns running and paused jobs with their last log line. */
export async function gatherRunning({ jobs }: App, active: readonly JobRecord[]): Promise<RunningJobs> {
  const shown = await Promise.all(active.slice(0, SHOWN).map(async (job) => ({ job, log: await lastLog(jobs, job) })));
  return { shown, more: Math.max(0, active.length - SHOWN) };
}

/** Returns "" if the job was removed meanwhile. */
async function lastLog(jobs: App["jobs"], { jobId }: JobRecord): Promise<string> {
  return jobs.lastLog(jobId).catch((error: unknown) => {
    if (error instanceof NotFoundError) return "";
    throw error;
  });
}

/**
 * Kept up to date by live-jobs.js. Rendered without jobs as well, because one may start. The job in the page's console has its controls
 * there.
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
  return html`<li class="panel running-job ${job.stalled ? "stalled" : ""}" data-live-job="${job.jobId}" data-live-state="${job.state}">
<p class="running-head"><a href="${jobAddress(job.jobId)}"><bdi>${jobName(job)}</bdi></a> <span class="pill ${tone(job)}" data-part="state">${stateWords(job)}</span></p>
${hasSteps(job) ? crawlSteps(job) : oneBar(`Progress of ${job.jobId}`, job, log)}
<p class="running-log" data-part="log"><bdi>${log.split("\n").at(-1) ?? ""}</bdi></p>
<p class="quiet">${job.jobId}, since ${shownTime(job.startedAt)}</p>
${isControlled ? html`<div class="row-actions">${controlForm("pause", "Pause", job)}${controlForm("resume", "Resume", job)}${controlForm("cancel", "Cancel", job)}</div>` : ""}
</li>`;
}

export function recentJobs(jobs: readonly JobRecord[], kinds: SourceKinds): Html {
  return html`<section id="jobs" data-refresh aria-labelledby="jobs-title">
<div class="section-head"><h2 id="jobs-title">Last jobs</h2><a href="/v2/jobs?format=ui">All jobs</a></div>
${
  jobs.length === 0
    ? html`<p class="empty">No job has run yet. A crawl is a job; it appears here with its log.</p>`
    : html`<div class="panel flush scroll-x as-cards" tabindex="0" role="group" aria-label="Last jobs"><table class="rows">
<thead><tr><th scope="col">Job</th><th scope="col">What</th><th scope="col">State</th><th scope="col">Started</th><th scope="col">Outcome</th></tr></thead>
<tbody>${jobs.map((job) => row(job, kinds))}</tbody></table></div>`
}
</section>`;
}

function row(job: JobRecord, kinds: SourceKinds): Html {
  return html`<tr>
<th scope="row"><a href="${jobAddress(job.jobId)}">${job.jobId}</a></th>
<td data-label="What"><div>${jobNoun(job)}${job.object === "" ? "" : html` of ${shownId(job.object)}`}</div></td>
<td data-label="State"><div><span class="pill ${tone(job)}">${stateWords(job)}</span></div></td>
<td data-label="Started"><div>${shownTime(job.startedAt)}</div></td>
<td data-label="Outcome"><div class="outcome">${jobOutcome(job, kinds)}</div></td>
</tr>`;
}

/** Returns the outcome in a line or two. */
export function jobOutcome(job: JobRecord, kinds: SourceKinds): Html | string {
  const summary = summarizeCrawl(job, kinds);
  const counts = summary ? html`${sayCounts(summary)}${reportLink(summary.reportId, job)}` : "";
  if (!job.result || job.result.ok) return counts;
  return html`${counts ? html`${counts}<br>` : ""}<span class="error">${job.result.error}</span>`;
}

function reportLink(reportId: string, { jobId }: JobRecord): Html | string {
  if (reportId === "") return "";
  const address = `/v2/reports/get?report_id=${encodeURIComponent(reportId)}&format=html`;
  return html` · <a href="${address}">Report<span class="visually-hidden"> of ${jobId}</span></a>`;
}

/** A job and its last log lines: the initial content of a console. */
export interface WatchedJob {
  readonly job: JobRecord;
  readonly log: string;
}

/** Returns undefined without an id, or if the job was removed meanwhile. */
export async function watchedJob({ jobs }: App, id: JobId | undefined): Promise<WatchedJob | undefined> {
  if (id === undefined) return undefined;
  try {
    const job = await jobs.get(id);
    return { job, log: await jobs.lastLog(id) };
  } catch (error) {
    if (error instanceof NotFoundError) return undefined;
    throw error;
  }
}

export function isActive(job: JobRecord): boolean {
  return job.state === "running" || job.state === "paused";
}

/** Tells whether a job works on the domain now. Watching never ends and says nothing about the domain's state. */
export function isWorkOn(domainId: string, { action, object }: JobRecord): boolean {
  return object === domainId && action !== WATCH_ACTION;
}

/** The crawls that charts and health use: dry runs change nothing. A plan of all steps that was applied is one. */
export function isEndedCrawl(job: JobRecord): boolean {
  if (isActive(job) || job.dryRun) return false;
  if (job.action !== "apply") return job.action === "crawl";
  const { steps } = (job.result?.data ?? {}) as Partial<CrawlResult>;
  return Array.isArray(steps) && steps.length === STEPS.length;
}

/** Returns the state in words that do not need the colour: a completed job may still have failed. */
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

/** Returns the address of a job's own page: log, controls, result. */
export function jobAddress(jobId: string): string {
  return `/v2/jobs/get?job_id=${encodeURIComponent(jobId)}&format=html`;
}

const ACTION_NOUNS: Readonly<Record<string, string>> = {
  download_data: "Download",
  process_data: "Processing",
  embed_data: "Embedding",
  cleanup_metadata: "Clean-up",
  apply: "Approved plan",
  verify: "Verification",
  erase: "Erasure",
  migrate: "Migration",
  create: "Creation",
  update: "Change",
  rename: "Renaming",
  delete: "Deletion",
  delete_file: "Removal of a file",
  replicate: "Copy",
};

/** Returns "Crawl" or "Clean-up": what the job is, without its object. */
export function jobNoun({ action }: JobRecord): string {
  return ACTION_NOUNS[action] ?? capital(action.replaceAll("_", " "));
}

/** Returns "Crawl of DEMO, incremental, dry run". A job of the command line does not say its mode. */
export function jobName(job: JobRecord): string {
  const asked = job.endpoint.startsWith("/v2/crawler/")
    ? new URL(job.endpoint, "http://localhost").searchParams
    : new URLSearchParams();
  const source = asked.get("source_id") ?? "";
  return [
    job.object === "" ? jobNoun(job) : `${jobNoun(job)} of ${job.object}`,
    source && `source ${source}`,
    asked.get("mode") ?? "",
    job.dryRun ? "dry run" : "",
  ]
    .filter(Boolean)
    .join(", ");
}

/** Returns "2 min 5 s"; "" if either instant is missing. */
export function duration(startedAt: string, endedAt: string): string {
  const seconds = Math.round((Date.parse(endedAt) - Date.parse(startedAt)) / 1000);
  if (!Number.isFinite(seconds) || seconds < 0) return "";
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 60 ? `${minutes} min ${seconds % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** Formats a job with the names of its `start_json`, and the values that only its file has. */
export function toJobJson(job: JobRecord): Record<string, unknown> {
  return {
    job_id: job.jobId,
    endpoint: job.endpoint,
    dry_run: job.dryRun,
    state: job.state,
    start_utc: job.startedAt,
    end_utc: job.endedAt,
    result: job.result,
    ...(job.progress && { progress: job.progress }),
    router: job.router,
    action: job.action,
    object: job.object,
    stalled: job.stalled,
    last_modified_utc: job.lastModifiedAt,
    monitor_url: monitorUrl(job.jobId),
  };
}

function monitorUrl(jobId: string): string {
  return `/v2/jobs/monitor?job_id=${encodeURIComponent(jobId)}&format=stream`;
}
