import { html } from "hono/html";
import type { App } from "../../app/app.ts";
import type { Domain } from "../../contracts/domain.ts";
import { JOB_STATES, type JobRecord } from "../../contracts/job.ts";
import type { Answer } from "../routing/endpoint.ts";
import type { Listing } from "../routing/listing.ts";
import { controlForm, jobConsole } from "./job-console.ts";
import { duration, isActive, jobAddress, jobName, stateWords, tone } from "./job-words.ts";
import { type Frame, type Html, layout } from "./layout.ts";
import { mayChange } from "./may-change.ts";
import { type Column, pagedTable } from "./paged-table.ts";
import { readJobJson } from "./read-job-json.ts";
import { jobOutcome } from "./recent-jobs.ts";
import { shownTime } from "./shown-time.ts";
import { watchedJob } from "./watched-job.ts";

const ROUTERS = ["crawler", "domains", "ingest", "inventory", "maintenance"] as const;

export interface JobsWishes extends Listing {
  readonly state: string | undefined;
  readonly router: string | undefined;
  readonly object: string | undefined;
}

/** `/v2/jobs?format=ui`: what runs in the console, and below it every job there is. */
export async function jobsUi(
  app: App,
  answer: Answer<readonly Record<string, unknown>[]>,
  args: JobsWishes,
  frame: Frame,
): Promise<Awaited<Html>> {
  const [newest] = await app.jobs.list({ state: "active", matching: (job) => !job.stalled, limit: 1 });
  const { domains } = await app.domains.list();
  const stalled = await app.jobs.list({ state: "active", matching: (job) => job.stalled });
  return layout({
    title: "Jobs · lockstep",
    frame,
    modules: ["live-jobs.js"],
    body: html`<div class="page-head"><h1>Jobs</h1><p class="lede">Everything that takes a while runs as a job: it goes on when you leave, and can be paused, resumed and cancelled from here, from a script or from another machine.</p>${maintenanceLink(frame)}</div>
${stalledNotice(stalled, frame)}
${jobConsole(await watchedJob(app, newest?.jobId), frame)}
<section id="all-jobs" data-refresh aria-label="All jobs">${pagedTable({
      id: "jobs-table",
      caption: "Jobs",
      columns: [...COLUMNS, outcomeFor(frame), ...(mayChange(frame, "operate") ? [actionsFor(frame)] : [])],
      rows: answer.data.map(readJobJson),
      listing: args,
      page: answer.page,
      empty: "No job has run yet. A crawl is a job; it appears here with its log.",
      frame,
      wishes: wishes(args, domains),
      wished: ["state", "router", "object"],
    })}</section>`,
  });
}

/** To what would go, which changes nothing: whoever reads that knows what to ask for. */
function maintenanceLink(frame: Frame): Html | "" {
  if (!mayChange(frame, "admin")) return "";
  return html`<p><a href="/v2/maintenance?dry_run=true&format=html">What could be cleaned up?</a> <span class="quiet">A dry run of maintenance: it looks, and changes nothing.</span></p>`;
}

function stalledNotice(stalled: readonly JobRecord[], frame: Frame): Html {
  return html`<section id="stalled" data-refresh ${stalled.length > 0 ? "" : "hidden"} aria-label="Stalled jobs"><div class="stack">${stalled.map(
    (job) =>
      html`<div class="notice warn stalled-job" role="alert"><p><strong>${job.jobId} has stalled.</strong> ${jobName(job)} has given no sign of life since ${shownTime(job.lastModifiedAt)}; its process is probably gone.</p><div class="actions">${mayChange(frame, "operate") ? controlForm("cancel", "Cancel", job) : ""}<a href="${jobAddress(job.jobId)}">Read its log</a></div></div>`,
  )}</div></section>`;
}

const COLUMNS: readonly Column<JobRecord>[] = [
  { sort: "job_id", title: "Job", cell: ({ jobId }) => html`<a href="${jobAddress(jobId)}">${jobId}</a>` },
  {
    sort: "action",
    title: "What",
    cell: (job) =>
      html`${job.action.replaceAll("_", " ")}${job.dryRun ? html` <span class="quiet">dry run</span>` : ""}`,
  },
  { sort: "object", title: "About", cell: ({ object }) => html`<bdi>${object}</bdi>` },
  {
    sort: "state",
    title: "State",
    cell: (job) => html`<span class="pill ${tone(job)} ${job.stalled ? "stalled" : ""}">${stateWords(job)}</span>`,
  },
  { title: "Started", cell: started },
];

function actionsFor(frame: Frame): Column<JobRecord> {
  const mayDelete = mayChange(frame, "admin");
  return { title: "Actions", cell: (job) => actions(job, { mayDelete }) };
}

function outcomeFor({ product: { kinds } }: Frame): Column<JobRecord> {
  return {
    title: "Outcome",
    cell(job) {
      const said = jobOutcome(job, kinds);
      return said === "" ? "" : html`<div class="outcome">${said}</div>`;
    },
  };
}

function started({ startedAt, endedAt }: JobRecord): Html {
  const took = duration(startedAt, endedAt);
  return html`${shownTime(startedAt)}${took ? html`<span class="took">took ${took}</span>` : ""}`;
}

function actions(job: JobRecord, { mayDelete }: { readonly mayDelete: boolean }): Html {
  return html`<div class="row-actions">${
    isActive(job)
      ? [controlForm("pause", "Pause", job), controlForm("resume", "Resume", job), controlForm("cancel", "Cancel", job)]
      : html`<a class="button small" href="/v2/jobs/results?job_id=${job.jobId}&format=html" aria-label="Result of ${job.jobId}">Result</a>${mayDelete ? deleteJobForm(job) : ""}`
  }</div>`;
}

/** Asks back with a dialog where scripts run. */
export function deleteJobForm(job: JobRecord): Html {
  return html`<form action="/v2/jobs/delete" method="get" data-delete-job>
<input type="hidden" name="job_id" value="${job.jobId}"><input type="hidden" name="format" value="html"><button class="small danger" aria-label="Delete ${job.jobId}">Delete</button></form>`;
}

function wishes({ state, router, object }: JobsWishes, domains: readonly Domain[]): Html {
  const objects = new Set([...domains.map(({ domainId }): string => domainId), ...(object ? [object] : [])]);
  const choice = (value: string, chosen: string | undefined): Html =>
    html`<option ${value === chosen ? "selected" : ""}>${value}</option>`;
  return html`<label><span class="visually-hidden">State</span><select id="jobs-state" name="state"><option value="">Any state</option>${JOB_STATES.map((value) => choice(value, state))}</select></label>
<label><span class="visually-hidden">Router</span><select id="jobs-router" name="router"><option value="">All kinds</option>${ROUTERS.map((value) => choice(value, router))}</select></label>
<label><span class="visually-hidden">Domain</span><select id="jobs-object" name="object"><option value="">All domains</option>${[...objects].map((value) => choice(value, object))}</select></label>`;
}
