import { html } from "hono/html";
import type { JobRecord } from "../../contracts/job.ts";
import { monitorUrl } from "../endpoints/job-codec.ts";
import { isActive, jobAddress, jobName, stateWords, tone } from "./job-words.ts";
import type { Frame, Html } from "./layout.ts";
import { mayChange } from "./may-change.ts";
import type { WatchedJob } from "./watched-job.ts";

const ACTIONS = [
  ["pause", "Pause"],
  ["resume", "Resume"],
  ["cancel", "Cancel"],
] as const;

/** Rendered with the job's last word; the page's module attaches to its events and tells the rest. */
export function jobConsole(watched: WatchedJob | undefined, frame: Frame): Html {
  const job = watched?.job;
  return html`<section id="console" class="console" aria-labelledby="console-title" data-job="${job?.jobId ?? ""}" data-state="${job?.state ?? ""}" ${job ? "" : "hidden"}>
<header>
<h2 id="console-title"><a data-part="job" href="${job ? jobAddress(job.jobId) : "/v2/jobs?format=ui"}">${job?.jobId ?? ""}</a> <span class="console-object" data-part="object"><bdi>${job ? jobName(job) : ""}</bdi></span></h2>
<span class="pill ${job ? tone(job) : ""}" data-part="state">${job ? stateWords(job) : ""}</span>
<div class="controls">${mayChange(frame, "operate") ? ACTIONS.map(([action, label]) => controlForm(action, label, job)) : ""}</div>
</header>
<div class="progress-row"><progress data-part="progress" aria-label="Progress" max="1" value="0"></progress><span data-part="count"></span></div>
<div class="log-tools" data-scripted hidden>
<label><span class="visually-hidden">Find in the log</span><input type="search" data-part="find" placeholder="Find in the log" autocomplete="off"></label>
<label class="check"><input type="checkbox" data-part="alarms"> <span>Errors and warnings only</span></label>
<span class="found" data-part="found" role="status"></span>
</div>
<p class="older-lines" data-part="older" hidden>Older lines are not shown, errors and warnings excepted; the <a data-part="monitor" href="${job ? monitorUrl(job.jobId) : "/v2/jobs"}">event stream</a> has them all.</p>
<div class="log" data-part="log" role="log" aria-live="off" aria-label="Job log" tabindex="0">${watched?.log ? html`<p>${watched.log}</p>` : ""}</div>
<footer><a data-part="monitor" href="${job ? monitorUrl(job.jobId) : "/v2/jobs"}">Event stream</a><span data-part="connection" role="status"></span></footer>
<p class="visually-hidden" role="status" data-part="announcement"></p>
</section>`;
}

/** The process of a stalled job is gone and would never read a request, so cancelling it is done by force. */
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
