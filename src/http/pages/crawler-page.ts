import { html } from "hono/html";
import type { App } from "../../app/app.ts";
import type { JobId } from "../../contracts/ids.ts";
import { type CrawlWishes, crawlForm } from "./crawl-form.ts";
import { crawlPlan, type PlanWishes } from "./crawl-plan.ts";
import { sayCounts, summarizeCrawl } from "./crawl-summary.ts";
import { type DomainView, healthOfView } from "./domain-card.ts";
import { crawlerAddress, sayNoCrawl } from "./health-of.ts";
import { gatherHome } from "./home-model.ts";
import { jobConsole } from "./job-console.ts";
import { jobAddress } from "./job-words.ts";
import { type Frame, type Html, layout } from "./layout.ts";
import { mayChange } from "./may-change.ts";
import { runningJobs } from "./running-jobs.ts";
import { shownTime } from "./shown-time.ts";
import { type WatchedJob, watchedJob } from "./watched-job.ts";

export interface CrawlerWishes {
  readonly form: CrawlWishes;
  /** The job in the console. */
  readonly jobId: JobId | undefined;
  readonly plan: PlanWishes;
}

/** `/v2/crawler`: start a crawl, see the plan of a dry run, watch it, and how all domains stand. */
export async function crawlerPage(
  app: App,
  { form, jobId, plan: planWishes }: CrawlerWishes,
  frame: Frame,
): Promise<Awaited<Html>> {
  const [model, watched] = await Promise.all([gatherHome(app), watchedJob(app, jobId)]);
  const domains = model.allDomains;
  const wishes = { ...form, domainId: form.domainId || watched?.job.object || (domains[0]?.domainId ?? "") };
  return layout({
    title: "Crawler · lockstep",
    frame,
    modules: ["crawler.js", "live-jobs.js"],
    body: html`<div class="page-head"><h1>Crawler</h1><p class="lede">A crawl brings a domain in step with its sources: it downloads what changed, turns it into documents, and embeds them. A dry run shows the plan and changes nothing.</p></div>
${domains.length === 0 ? noDomains(frame) : mayChange(frame, "operate") ? crawlForm(domains, wishes, frame) : lookOnly()}
${plan(watched, planWishes, frame)}
${jobConsole(watched, frame)}
${runningJobs(model.running, frame, watched?.job.jobId)}
${domains.length === 0 ? "" : standings(model.domains)}`,
  });
}

/** The place is there without a plan as well, for the one to come. */
function plan(watched: WatchedJob | undefined, wishes: PlanWishes, frame: Frame): Html {
  const shown = watched ? crawlPlan(watched.job, wishes, frame) : "";
  return shown === "" ? html`<section id="plan" data-refresh hidden></section>` : shown;
}

function noDomains(frame: Frame): Html {
  return html`<p class="empty"><strong>There is nothing to crawl yet.</strong>${
    mayChange(frame, "admin")
      ? html`Create a domain first: it names the libraries, lists, pages, web sites and folders to crawl.<a class="button primary" href="/v2/domains?format=ui">Create a domain</a>`
      : "A domain names the libraries, lists, pages, web sites and folders to crawl. Only administrators can create one."
  }</p>`;
}

function lookOnly(): Html {
  return html`<p class="notice">You may watch crawls here; starting one needs the role <code>operate</code>.</p>`;
}

function standings(views: readonly DomainView[]): Html {
  return html`<section id="standings" data-refresh aria-labelledby="standings-title">
<h2 id="standings-title">How the domains stand</h2>
<div class="panel flush scroll-x as-cards" tabindex="0" role="region" aria-label="How the domains stand"><table class="rows">
<thead><tr><th scope="col">Domain</th><th scope="col">State</th><th scope="col" class="end">Documents</th><th scope="col">Last crawl</th><th scope="col">Next crawl</th></tr></thead>
<tbody>${views.map(standingRow)}</tbody></table></div>
</section>`;
}

function standingRow(view: DomainView): Html {
  const { domain, crawls, standing, nextRunAt } = view;
  const last = crawls[0];
  const { tone, word, reason, wayOut } = healthOfView(view);
  const summary = last ? summarizeCrawl(last, view.kinds) : undefined;
  return html`<tr>
<th scope="row"><a href="${crawlerAddress(domain.domainId)}"><bdi>${domain.name || domain.domainId}</bdi></a></th>
<td data-label="State"><div><span class="pill ${tone}">${word}</span>${reason ? html`<p class="outcome">${reason}${wayOut ? html` <a href="${wayOut.href}">${wayOut.words}</a>` : ""}</p>` : ""}</div></td>
<td class="end" data-label="Documents"><div>${standing?.documents ?? "unknown"}</div></td>
<td data-label="Last crawl"><div>${last ? html`<a href="${jobAddress(last.jobId)}">${shownTime(last.endedAt || last.lastModifiedAt)}</a>${summary ? html`<p class="outcome">${sayCounts(summary)}</p>` : ""}` : sayNoCrawl(standing?.documents)}</div></td>
<td data-label="Next crawl"><div>${nextRunAt ? shownTime(nextRunAt) : html`<span class="none">not scheduled</span>`}</div></td>
</tr>`;
}
