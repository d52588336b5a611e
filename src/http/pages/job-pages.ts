import { html } from "hono/html";
import type { App } from "../../app/app.ts";
import type { Domain } from "../../contracts/domain.ts";
import type { JobId } from "../../contracts/ids.ts";
import { JOB_STATES, type JobProgress, type JobRecord, type JobState, type Result } from "../../contracts/job.ts";
import type { SourceKinds } from "../../contracts/source-kind.ts";
import type { CrawlResult, SourceResult } from "../../engine/crawl-request.ts";
import { plural } from "../../lib/text.ts";
import type { Answer } from "../routing/endpoint.ts";
import type { Listing } from "../routing/listing.ts";
import { summarizeCrawl } from "./crawl-summary.ts";
import { shownId, shownTime } from "./display.ts";
import { failuresAddress } from "./domain-health.ts";
import {
  controlForm,
  duration,
  isActive,
  isEndedCrawl,
  jobAddress,
  jobConsole,
  jobName,
  jobNoun,
  jobOutcome,
  stateWords,
  tone,
  watchedJob,
} from "./job-fragments.ts";
import { jsonTable } from "./json-table.ts";
import { type Frame, type Html, layout, mayChange } from "./layout.ts";
import { type Column, pagedTable } from "./paged-table.ts";

const ROUTERS = ["crawler", "domains", "ingest", "inventory", "maintenance"] as const;

export interface JobsQuery extends Listing {
  readonly state: string | undefined;
  readonly router: string | undefined;
  readonly object: string | undefined;
}

/** Renders `/v2/jobs?format=ui`: the running job in the console, and below it all jobs. */
export async function jobsUi(
  app: App,
  answer: Answer<readonly Record<string, unknown>[]>,
  args: JobsQuery,
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
      filters: filters(args, domains),
      filterParameters: ["state", "router", "object"],
    })}</section>`,
  });
}

/** Links to a dry run, which changes nothing and shows what maintenance would remove. */
function maintenanceLink(frame: Frame): Html | "" {
  if (!mayChange(frame, "admin")) return "";
  return html`<p><a href="/v2/maintenance?dry_run=true&format=html">What could be cleaned up?</a> <span class="quiet">A dry run of maintenance: it looks, and changes nothing.</span></p>`;
}

function stalledNotice(stalled: readonly JobRecord[], frame: Frame): Html {
  return html`<section id="stalled" data-refresh ${stalled.length > 0 ? "" : "hidden"} aria-label="Stalled jobs"><div class="stack">${stalled.map(
    (job) =>
      html`<div class="notice warn stalled-job" role="alert"><p><strong>${job.jobId} has stalled.</strong> ${jobName(job)} has sent no heartbeat since ${shownTime(job.lastModifiedAt)}; its process is probably gone.</p><div class="actions">${mayChange(frame, "operate") ? controlForm("cancel", "Cancel", job) : ""}<a href="${jobAddress(job.jobId)}">Read its log</a></div></div>`,
  )}</div></section>`;
}

const COLUMNS: readonly Column<JobRecord>[] = [
  { sort: "job_id", title: "Job", cell: ({ jobId }) => html`<a href="${jobAddress(jobId)}">${jobId}</a>` },
  {
    sort: "action",
    title: "What",
    cell: (job) => html`${jobNoun(job)}${job.dryRun ? html` <span class="quiet">dry run</span>` : ""}`,
  },
  { sort: "object", title: "About", cell: ({ object }) => shownId(object) },
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
      const outcome = jobOutcome(job, kinds);
      return outcome === "" ? "" : html`<div class="outcome">${outcome}</div>`;
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

/** Asks for confirmation with a dialog where scripts run. */
function deleteJobForm(job: JobRecord): Html {
  return html`<form action="/v2/jobs/delete" method="get" data-delete-job>
<input type="hidden" name="job_id" value="${job.jobId}"><input type="hidden" name="format" value="html"><button class="small danger" aria-label="Delete ${job.jobId}">Delete</button></form>`;
}

function filters({ state, router, object }: JobsQuery, domains: readonly Domain[]): Html {
  const objects = new Set([...domains.map(({ domainId }): string => domainId), ...(object ? [object] : [])]);
  const choice = (value: string, chosen: string | undefined): Html =>
    html`<option ${value === chosen ? "selected" : ""}>${value}</option>`;
  return html`<label><span class="visually-hidden">State</span><select id="jobs-state" name="state"><option value="">Any state</option>${JOB_STATES.map((value) => choice(value, state))}</select></label>
<label><span class="visually-hidden">Router</span><select id="jobs-router" name="router"><option value="">All kinds</option>${ROUTERS.map((value) => choice(value, router))}</select></label>
<label><span class="visually-hidden">Domain</span><select id="jobs-object" name="object"><option value="">All domains</option>${[...objects].map((value) => choice(value, object))}</select></label>`;
}

/** Renders `/v2/jobs/get?format=html`: one job with its log, controls and result. */
export async function jobPage(app: App, json: Readonly<Record<string, unknown>>, frame: Frame): Promise<Awaited<Html>> {
  const job = readJobJson(json);
  return layout({
    title: `${jobName(job)} · lockstep`,
    frame,
    body: html`<div class="page-head"><h1><bdi>${jobName(job)}</bdi> <span class="quiet">${job.jobId}</span></h1><div class="actions" id="job-actions" data-refresh>${jobActions(job, frame)}</div></div>
<div id="job-stalled" data-refresh ${job.stalled ? "" : "hidden"}><p class="notice warn" role="alert"><span><strong>This job has stalled.</strong> It has sent no heartbeat since ${shownTime(job.lastModifiedAt)}; its process is probably gone. Force cancel ends it here and now.</span></p></div>
${await searchableNow(app, job)}
${jobConsole(await watchedJob(app, job.jobId), frame)}
${facts(job, frame.product.kinds)}`,
  });
}

/** Renders how many documents are searchable after a crawl, with a link to search; empty until the crawl has ended. */
async function searchableNow(app: App, job: JobRecord): Promise<Awaited<Html>> {
  const empty = html`<section id="searchable" data-refresh hidden></section>`;
  if (!isEndedCrawl(job)) return empty;
  const { domains } = await app.domains.list();
  const domain = domains.find(({ domainId }) => domainId === job.object);
  const standing = domain && (await app.standing(domain).catch(() => undefined));
  const documents = standing?.documents;
  if (!domain || !standing || documents === undefined || documents === null) return empty;
  const name = html`<bdi>${domain.name || domain.domainId}</bdi>`;
  const sources = `/v2/domains/get?domain_id=${encodeURIComponent(domain.domainId)}&format=html`;
  return html`<section id="searchable" class="panel stack" data-refresh aria-label="What is searchable now">
${
  documents === 0
    ? html`<p><strong>Nothing is searchable in ${name} yet.</strong> The log says what was left out or failed.</p><p><a class="button" href="${sources}">Look at its sources</a></p>`
    : html`<p><strong>${plural(documents, "document")} of ${name} ${documents === 1 ? "is" : "are"} searchable now.</strong></p><p><a class="button primary" href="/v2/search?format=ui&amp;domain_id=${encodeURIComponent(domain.domainId)}">Ask something</a></p>`
}
${standing.failed > 0 ? html`<p><a href="${failuresAddress(domain.domainId)}">See what failed</a> (${plural(standing.failed, "item")})</p>` : ""}
</section>`;
}

function jobActions(job: JobRecord, frame: Frame): Html {
  const report = summarizeCrawl(job, frame.product.kinds)?.reportId ?? "";
  return html`${report ? html`<a class="button small" href="/v2/reports/get?report_id=${encodeURIComponent(report)}&format=html">Report</a>` : ""}
${job.dryRun && job.router === "crawler" && summarizeCrawl(job, frame.product.kinds) ? html`<a class="button small" href="/v2/crawler?format=ui&job_id=${job.jobId}">Plan</a>` : ""}
${isActive(job) || !mayChange(frame, "admin") ? "" : deleteJobForm(job)}
<a class="button small" href="/v2/jobs?format=ui">All jobs</a>`;
}

function facts(job: JobRecord, kinds: SourceKinds): Html {
  return html`<section id="job-facts" data-refresh class="stack" aria-label="Facts">
<div class="panel stack">
<dl class="figures">
<div><dt>Started</dt><dd>${shownTime(job.startedAt)}</dd></div>
<div><dt>Ended</dt><dd>${job.endedAt ? shownTime(job.endedAt) : "not yet"}</dd></div>
${job.endedAt ? html`<div><dt>Took</dt><dd>${duration(job.startedAt, job.endedAt)}</dd></div>` : ""}
<div><dt>Last heartbeat</dt><dd>${shownTime(job.lastModifiedAt)}</dd></div>
</dl>
<p class="quiet">Started by <code>${job.endpoint}</code></p>
${job.result ? html`<p>${jobOutcome(job, kinds)}</p>` : ""}
</div>
${job.result ? resultDetails("Result", job.result) : ""}
</section>`;
}

/** Renders `/v2/jobs/results?format=html`: a job's result, in words first. */
export function jobResultPage(job: JobRecord, result: Result, frame: Frame): Html {
  const outcome = jobOutcome(job, frame.product.kinds);
  return layout({
    title: `Result: ${jobName(job)} · lockstep`,
    frame,
    body: html`<div class="page-head"><h1><bdi>${jobName(job)}</bdi> <span class="quiet">${job.jobId}</span></h1><div class="actions"><a class="button small" href="${jobAddress(job.jobId)}">Log and facts</a>${jobActions(job, frame)}</div></div>
<section class="panel stack" aria-label="Outcome"><p><span class="pill ${tone(job)}">${stateWords(job)}</span></p>
${outcome ? html`<p>${outcome}</p>` : job.action === "verify" ? html`<p><a href="/v2/domains/certificates?domain_id=${encodeURIComponent(job.object)}&amp;format=html">What it found</a></p>` : ""}</section>
${resultDetails("Everything it returned", result, { open: outcome === "" && job.action !== "verify" })}`,
  });
}

function resultDetails(title: string, result: Result, { open } = { open: false }): Html {
  return html`<details class="panel" id="job-result" ${open ? "open" : ""}><summary>${title}</summary><div class="scroll-x" tabindex="0" role="group" aria-label="Result">${jsonTable(withoutPlan(result).data)}</div></details>`;
}

/** Replaces the plan of a dry run, which has a page of its own, by the number of changes. */
function withoutPlan(result: Result): Result {
  const data = result.data as Partial<CrawlResult> | null;
  if (!Array.isArray(data?.sources)) return result;
  const sources = data.sources.map((source: SourceResult) =>
    source.planned ? { ...source, planned: `${source.planned.length} changes` } : source,
  );
  return { ...result, data: { ...data, sources } };
}

/** Parses what toJobJson wrote: a page renders the same response that programs get. */
function readJobJson(json: Readonly<Record<string, unknown>>): JobRecord {
  const text = (name: string): string => String(json[name] ?? "");
  const result = (json["result"] ?? null) as Result | null;
  const progress = json["progress"] as JobProgress | undefined;
  return {
    jobId: text("job_id") as JobId,
    endpoint: text("endpoint"),
    dryRun: json["dry_run"] === true,
    state: text("state") as JobState,
    startedAt: text("start_utc"),
    endedAt: text("end_utc"),
    result,
    stalled: json["stalled"] === true,
    router: text("router"),
    action: text("action"),
    object: text("object"),
    lastModifiedAt: text("last_modified_utc"),
    ...(progress && { progress }),
  };
}
