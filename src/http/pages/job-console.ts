import { html } from "hono/html";
import type { JobRecord } from "../../contracts/job.ts";
import { monitorUrl } from "../endpoints/job-codec.ts";
import { isActive } from "./home-model.ts";
import type { Html } from "./layout.ts";

const ACTIONS = [
  ["pause", "Pause"],
  ["resume", "Resume"],
  ["cancel", "Cancel"],
] as const;

/** Rendered with the job's last word; the page's module attaches to its events and tells the rest. */
export function jobConsole(watched: { readonly job: JobRecord; readonly log: string } | undefined): Html {
  const job = watched?.job;
  return html`<section id="console" class="console" aria-labelledby="console-title" data-job="${job?.jobId ?? ""}" data-state="${job?.state ?? ""}" ${job ? "" : "hidden"}>
<header>
<h2 id="console-title">Job <span data-part="job">${job?.jobId ?? ""}</span></h2>
<span class="pill ${job ? tone(job) : ""}" data-part="state">${job ? stateWords(job) : ""}</span>
<span class="console-object" data-part="object">${job?.object ?? ""}</span>
<div class="controls">${ACTIONS.map(([action, label]) => controlButton(action, label, job))}</div>
</header>
<div class="progress-row"><progress data-part="progress" aria-label="Progress" max="1" value="0"></progress><span data-part="count"></span></div>
<ol class="log" data-part="log" role="log" aria-live="off" aria-label="Job log" tabindex="0">${watched?.log ? html`<li>${watched.log}</li>` : ""}</ol>
<footer><a data-part="monitor" href="${job ? monitorUrl(job.jobId) : "/v2/jobs"}">Event stream</a><span data-part="connection"></span></footer>
<p class="visually-hidden" role="status" aria-live="polite" data-part="announcement"></p>
</section>`;
}

/** The process of a stalled job is gone and would never read a request, so cancelling it is done by force. */
function controlButton(action: string, label: string, job: JobRecord | undefined): Html {
  const possible = job !== undefined && isPossible(action, job);
  return html`<form action="/v2/jobs/control" method="get" data-control="${action}" ${possible ? "" : "hidden"}>
<input type="hidden" name="job_id" value="${job?.jobId ?? ""}"><input type="hidden" name="action" value="${action}"><input type="hidden" name="format" value="html">
${action === "cancel" ? html`<input type="hidden" name="force" value="${String(job?.stalled === true)}">` : ""}<button>${label}</button></form>`;
}

function isPossible(action: string, job: JobRecord): boolean {
  if (action === "pause") return job.state === "running";
  if (action === "resume") return job.state === "paused";
  return isActive(job);
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
