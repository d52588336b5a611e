import { html } from "hono/html";
import type { App } from "../../app/app.ts";
import type { JobRecord, Result } from "../../contracts/job.ts";
import type { SourceKinds } from "../../contracts/source-kind.ts";
import type { CrawlResult, SourceResult } from "../../engine/crawl-request.ts";
import { summarizeCrawl } from "./crawl-summary.ts";
import { jobConsole } from "./job-console.ts";
import { duration, isActive, jobAddress, jobName, stateWords, tone } from "./job-words.ts";
import { deleteJobForm } from "./jobs-page.ts";
import { jsonTable } from "./json-table.ts";
import { type Frame, type Html, layout } from "./layout.ts";
import { mayChange } from "./may-change.ts";
import { readJobJson } from "./read-job-json.ts";
import { jobOutcome } from "./recent-jobs.ts";
import { shownTime } from "./shown-time.ts";

/** `/v2/jobs/get?format=html`: one job, with its log, its controls and what it ended with. */
export async function jobPage(app: App, json: Readonly<Record<string, unknown>>, frame: Frame): Promise<Awaited<Html>> {
  const job = readJobJson(json);
  return layout({
    title: `${job.jobId} · lockstep`,
    frame,
    body: html`<div class="page-head"><h1>${job.jobId} <span class="quiet"><bdi>${jobName(job)}</bdi></span></h1><div class="actions" id="job-actions" data-refresh>${jobActions(job, frame)}</div></div>
<div id="job-stalled" data-refresh ${job.stalled ? "" : "hidden"}><p class="notice warn" role="alert"><span><strong>This job has stalled.</strong> It has given no sign of life since ${shownTime(job.lastModifiedAt)}; its process is probably gone. Force cancel ends it here and now.</span></p></div>
${jobConsole({ job, log: await app.jobs.lastLog(job.jobId) }, frame)}
${facts(job, frame.product.kinds)}`,
  });
}

function jobActions(job: JobRecord, frame: Frame): Html {
  const report = summarizeCrawl(job, frame.product.kinds)?.reportId ?? "";
  return html`${report ? html`<a class="button small" href="/v2/reports/get?report_id=${encodeURIComponent(report)}&format=html">Report</a>` : ""}
${job.dryRun && job.router === "crawler" && job.result ? html`<a class="button small" href="/v2/crawler?format=ui&job_id=${job.jobId}">Plan</a>` : ""}
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
<div><dt>Last sign of life</dt><dd>${shownTime(job.lastModifiedAt)}</dd></div>
</dl>
<p class="quiet">Started by <code>${job.endpoint}</code></p>
${job.result ? html`<p>${jobOutcome(job, kinds)}</p>` : ""}
</div>
${job.result ? resultDetails("Result", job.result) : ""}
</section>`;
}

/** `/v2/jobs/results?format=html`: what a job ended with, in words first. */
export function jobResultPage(job: JobRecord, result: Result, frame: Frame): Html {
  return layout({
    title: `Result of ${job.jobId} · lockstep`,
    frame,
    body: html`<div class="page-head"><h1>Result of ${job.jobId} <span class="quiet"><bdi>${jobName(job)}</bdi></span></h1><div class="actions"><a class="button small" href="${jobAddress(job.jobId)}">Log and facts</a>${jobActions(job, frame)}</div></div>
<section class="panel stack" aria-label="Outcome"><p><span class="pill ${tone(job)}">${stateWords(job)}</span></p>
<p>${jobOutcome(job, frame.product.kinds) || "It left nothing to tell in words."}</p></section>
${resultDetails("Everything it told, as programs read it", result)}`,
  });
}

function resultDetails(title: string, result: Result): Html {
  return html`<details class="panel" id="job-result"><summary>${title}</summary><div class="scroll-x" tabindex="0" role="region" aria-label="Result">${jsonTable(withoutPlan(result))}</div></details>`;
}

/** The plan of a dry run has a page of its own; here it is only counted. */
function withoutPlan(result: Result): unknown {
  const data = result.data as Partial<CrawlResult> | null;
  if (!Array.isArray(data?.sources)) return result;
  const sources = data.sources.map((source: SourceResult) =>
    source.planned ? { ...source, planned: `${source.planned.length} changes` } : source,
  );
  return { ...result, data: { ...data, sources } };
}
