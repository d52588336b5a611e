import { html } from "hono/html";
import type { JobRecord } from "../../contracts/job.ts";
import { sayCounts, summarizeCrawl } from "./crawl-summary.ts";
import { stateWords, tone } from "./job-console.ts";
import type { Html } from "./layout.ts";
import { shownTime } from "./shown-time.ts";

export function recentJobs(jobs: readonly JobRecord[]): Html {
  return html`<section id="jobs" data-refresh aria-labelledby="jobs-title">
<h2 id="jobs-title">Recent jobs</h2>
${
  jobs.length === 0
    ? html`<p class="quiet">No job has run yet. A crawl is a job; it appears here with its log.</p>`
    : html`<div class="panel scroll-x" tabindex="0" role="region" aria-label="Recent jobs"><table class="jobs">
<thead><tr><th scope="col">Job</th><th scope="col">What</th><th scope="col">State</th><th scope="col">Started</th><th scope="col">Outcome</th><th scope="col"><span class="visually-hidden">Log</span></th></tr></thead>
<tbody>${jobs.map(row)}</tbody></table></div>`
}
</section>`;
}

function row(job: JobRecord): Html {
  return html`<tr>
<th scope="row"><code>${job.jobId}</code></th>
<td>${job.action} <bdi>${job.object}</bdi></td>
<td><span class="pill ${tone(job)}">${stateWords(job)}</span></td>
<td>${shownTime(job.startedAt)}</td>
<td class="outcome">${outcome(job)}</td>
<td><a href="/?job_id=${job.jobId}#console">Log<span class="visually-hidden"> of ${job.jobId}</span></a></td>
</tr>`;
}

function reportLink(reportId: string, { jobId }: JobRecord): Html | string {
  if (reportId === "") return "";
  const address = `/v2/reports/get?report_id=${encodeURIComponent(reportId)}&format=html`;
  return html` · <a href="${address}">Report<span class="visually-hidden"> of ${jobId}</span></a>`;
}

function outcome(job: JobRecord): Html | string {
  const summary = summarizeCrawl(job);
  const said = summary ? html`${sayCounts(summary)}${reportLink(summary.reportId, job)}` : "";
  if (!job.result || job.result.ok) return said;
  return html`${said ? html`${said}<br>` : ""}<span class="error">${job.result.error}</span>`;
}
