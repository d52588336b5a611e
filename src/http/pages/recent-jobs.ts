import { html } from "hono/html";
import type { JobRecord } from "../../contracts/job.ts";
import type { SourceKinds } from "../../contracts/source-kind.ts";
import { sayCounts, summarizeCrawl } from "./crawl-summary.ts";
import { jobAddress, jobName, stateWords, tone } from "./job-words.ts";
import type { Html } from "./layout.ts";
import { shownTime } from "./shown-time.ts";

export function recentJobs(jobs: readonly JobRecord[], kinds: SourceKinds): Html {
  return html`<section id="jobs" data-refresh aria-labelledby="jobs-title">
<div class="section-head"><h2 id="jobs-title">Last jobs</h2><a href="/v2/jobs?format=ui">All jobs</a></div>
${
  jobs.length === 0
    ? html`<p class="empty">No job has run yet. A crawl is a job; it appears here with its log.</p>`
    : html`<div class="panel flush scroll-x as-cards" tabindex="0" role="region" aria-label="Last jobs"><table class="rows">
<thead><tr><th scope="col">Job</th><th scope="col">What</th><th scope="col">State</th><th scope="col">Started</th><th scope="col">Outcome</th></tr></thead>
<tbody>${jobs.map((job) => row(job, kinds))}</tbody></table></div>`
}
</section>`;
}

function row(job: JobRecord, kinds: SourceKinds): Html {
  return html`<tr>
<th scope="row"><a href="${jobAddress(job.jobId)}">${job.jobId}</a></th>
<td data-label="What"><div><bdi>${jobName(job)}</bdi></div></td>
<td data-label="State"><div><span class="pill ${tone(job)}">${stateWords(job)}</span></div></td>
<td data-label="Started"><div>${shownTime(job.startedAt)}</div></td>
<td data-label="Outcome"><div class="outcome">${jobOutcome(job, kinds)}</div></td>
</tr>`;
}

/** What came of it, in a line or two. */
export function jobOutcome(job: JobRecord, kinds: SourceKinds): Html | string {
  const summary = summarizeCrawl(job, kinds);
  const said = summary ? html`${sayCounts(summary)}${reportLink(summary.reportId, job)}` : "";
  if (!job.result || job.result.ok) return said;
  return html`${said ? html`${said}<br>` : ""}<span class="error">${job.result.error}</span>`;
}

function reportLink(reportId: string, { jobId }: JobRecord): Html | string {
  if (reportId === "") return "";
  const address = `/v2/reports/get?report_id=${encodeURIComponent(reportId)}&format=html`;
  return html` · <a href="${address}">Report<span class="visually-hidden"> of ${jobId}</span></a>`;
}
