import { html } from "hono/html";
import type { App } from "../../app/app.ts";
import type { Domain } from "../../contracts/domain.ts";
import { NotFoundError } from "../../contracts/errors.ts";
import type { JobId } from "../../contracts/ids.ts";
import type { JobRecord } from "../../contracts/job.ts";
import {
  CRAWL_MODES,
  type CrawlMode,
  type CrawlResult,
  type SourceResult,
  STEPS,
  type Visibility,
} from "../../engine/crawl-request.ts";
import { encodeEstimate, type PlanView, parsePlanId } from "../../engine/stored-plans.ts";
import { sayCounts, summarizeCrawl } from "./crawl-summary.ts";
import { shownTime } from "./display.ts";
import { type DomainView, healthOfView } from "./domain-card.ts";
import { crawlerAddress, sayNoCrawl } from "./domain-health.ts";
import { gatherHome } from "./home-page.ts";
import { jobAddress, jobConsole, runningJobs, type WatchedJob, watchedJob } from "./job-fragments.ts";
import { type Frame, type Html, layout, mayChange } from "./layout.ts";
import {
  applyForm,
  type ChangeCount,
  countChanges,
  PLANNED_KINDS,
  planAddress,
  planCounts,
  planFigures,
} from "./plan-pages.ts";

export interface CrawlerQuery {
  readonly form: CrawlFormValues;
  /** The job shown in the console. */
  readonly jobId: JobId | undefined;
}

/** Renders `/v2/crawler`: starts a crawl, shows the plan of a dry run, the console, and the state of all domains. */
export async function crawlerPage(app: App, { form, jobId }: CrawlerQuery, frame: Frame): Promise<Awaited<Html>> {
  const [model, watched] = await Promise.all([gatherHome(app), watchedJob(app, jobId)]);
  const stored = watched && (await storedPlan(app, watched.job));
  const domains = model.allDomains;
  const values = { ...form, domainId: form.domainId || watched?.job.object || (domains[0]?.domainId ?? "") };
  return layout({
    title: "Crawler · lockstep",
    frame,
    modules: ["crawler.js", "live-jobs.js"],
    body: html`<div class="page-head"><h1>Crawler</h1><p class="lede">A crawl brings a domain in step with its sources: it downloads what changed, turns it into documents, and embeds them. A dry run makes a plan and changes nothing else; the plan can be looked at and applied later. <a href="/v2/crawler/plans?format=ui">All plans</a></p></div>
${domains.length === 0 ? noDomains(frame) : mayChange(frame, "operate") ? crawlForm(domains, values, frame) : readOnlyNotice()}
${plan(watched, stored, frame)}
${jobConsole(watched, frame)}
${runningJobs(model.running, frame, watched?.job.jobId)}
${domains.length === 0 ? "" : domainStates(model.domains)}`,
  });
}

/** undefined: it stored none, or it was deleted since. */
async function storedPlan({ plans }: App, job: JobRecord): Promise<PlanView | undefined> {
  const { plan_id: planId, dry_run: isDry } = (job.result?.data ?? {}) as Partial<CrawlResult>;
  if (!isDry || planId === undefined || parsePlanId(planId) === undefined) return undefined;
  try {
    return await plans.view(planId);
  } catch (error) {
    if (error instanceof NotFoundError) return undefined;
    throw error;
  }
}

/** Without a plan, renders an empty section, which the script fills later. */
function plan(watched: WatchedJob | undefined, stored: PlanView | undefined, frame: Frame): Html {
  const shown = watched ? plannedChanges(watched.job, stored, frame) : "";
  return shown === "" ? html`<section id="plan" data-refresh hidden></section>` : shown;
}

function noDomains(frame: Frame): Html {
  return html`<p class="empty"><strong>There is nothing to crawl yet.</strong>${
    mayChange(frame, "admin")
      ? html`Create a domain first: it names the libraries, lists, pages, web sites and folders to crawl.<a class="button primary" href="/v2/domains?format=ui">Create a domain</a>`
      : "A domain names the libraries, lists, pages, web sites and folders to crawl. Only administrators can create one."
  }</p>`;
}

function readOnlyNotice(): Html {
  return html`<p class="notice">You may watch crawls here; starting one needs the role <code>operate</code>.</p>`;
}

function domainStates(views: readonly DomainView[]): Html {
  return html`<section id="standings" data-refresh aria-labelledby="standings-title">
<h2 id="standings-title">How the domains stand</h2>
<div class="panel flush scroll-x as-cards" tabindex="0" role="group" aria-label="How the domains stand"><table class="rows">
<thead><tr><th scope="col">Domain</th><th scope="col">State</th><th scope="col" class="end">Documents</th><th scope="col">Last crawl</th><th scope="col">Next crawl</th></tr></thead>
<tbody>${views.map(stateRow)}</tbody></table></div>
</section>`;
}

function stateRow(view: DomainView): Html {
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

/** What the page can start; each is the last part of an endpoint's address. */
export const CRAWL_ACTIONS = ["crawl", "download_data", "process_data", "embed_data"] as const;
export type CrawlAction = (typeof CRAWL_ACTIONS)[number];

/** Initial values of the form, which the page's address may set. */
export interface CrawlFormValues {
  readonly domainId: string;
  readonly action: CrawlAction;
  readonly mode: CrawlMode;
  readonly scope: string;
  readonly sourceId: string;
  readonly dryRun: boolean;
  readonly confirmDeletes: boolean;
  readonly confirmWorse: boolean;
  readonly retryFailed: boolean;
  readonly force: boolean;
  readonly visibility: Visibility;
  readonly checksum: boolean;
}

const ACTION_NAMES: Record<CrawlAction, string> = {
  crawl: "Crawl: all three steps",
  download_data: "Download only",
  process_data: "Process only",
  embed_data: "Embed only",
};
const MODE_NAMES: Record<CrawlMode, string> = {
  incremental: "Incremental: what changed",
  full: "Full: everything again",
};
/**
 * Starts a crawl or one of its steps. With crawler.js, users select the step, see only the domain's sources, and see the resulting address;
 * without it each step is a button.
 */
export function crawlForm(domains: readonly Domain[], values: CrawlFormValues, frame: Frame): Html {
  return html`<form class="panel crawl-form stack" action="${actionAddress(values.action)}" method="get" data-crawl data-crawler>
<input type="hidden" name="format" value="html">
<div class="fields">
<label class="field"><span>Domain</span><select name="domain_id" required>${domains.map((domain) => option(domain.domainId, domain.name || domain.domainId, values.domainId))}</select></label>
<label class="field" data-scripted hidden><span>What to do</span><select data-part="step">${CRAWL_ACTIONS.map((action) => option(actionAddress(action), ACTION_NAMES[action], actionAddress(values.action)))}</select></label>
<label class="field"><span>Mode</span><select name="mode">${[...CRAWL_MODES].reverse().map((mode) => option(mode, MODE_NAMES[mode], values.mode))}</select></label>
<label class="field"><span>Scope</span><select name="scope" data-part="scope">${option("all", "Everything", values.scope)}${scopeChoices(domains, values, frame)}</select></label>
<label class="field"><span>Source</span><select name="source_id" data-part="source"><option value="">All sources</option>${sourceChoices(domains, values)}</select></label>
</div>
<div class="checks">
${check("plan", "store", "Dry run: only make the plan", values.dryRun)}
${check("retry_failed", "true", "Try failed files again", values.retryFailed)}
${check("confirm_deletes", "true", "Confirm removals that are held", values.confirmDeletes)}
${check("confirm_worse", "true", "Confirm worse answers to questions", values.confirmWorse)}
${check("checksum", "true", "Read every file, changed or not", values.checksum)}
${check("force", "true", "Make everything anew, known or not (full mode)", values.force)}
${check("visibility", "source", "Show readers parts as they come in, not all in one moment", values.visibility === "source")}
</div>
<div class="form-end"><button class="primary" data-part="go">${values.dryRun ? "Make the plan" : "Start"}</button>
<noscript>${CRAWL_ACTIONS.slice(1).map((action) => html`<button formaction="${actionAddress(action)}">${ACTION_NAMES[action]}</button> `)}</noscript>
<p class="form-error" role="alert" hidden></p></div>
${preview(values, frame)}
</form>`;
}

/** Only kinds that some domain has; the script shows those of the chosen domain. */
function scopeChoices(domains: readonly Domain[], { scope: chosen }: CrawlFormValues, frame: Frame): Html[] {
  const had = new Set(domains.flatMap(({ sources }) => sources.map(({ kind }) => kind)));
  return frame.product.kinds.all
    .filter((kind) => had.has(kind) || kind.scope === chosen)
    .map(({ scope, words }) => option(scope, words.scope, chosen));
}

function scopesOf({ sources }: Domain): string {
  return [...new Set(sources.map(({ kind }) => kind.scope))].join(" ");
}

function sourceChoices(domains: readonly Domain[], { domainId, sourceId }: CrawlFormValues): Html[] {
  return domains.map(
    (domain) =>
      html`<optgroup label="${domain.name || domain.domainId}" data-domain="${domain.domainId}" data-scopes="${scopesOf(domain)}">${domain.sources.map((source) => option(source.sourceId, source.sourceId, domain.domainId === domainId ? sourceId : ""))}</optgroup>`,
  );
}

function option(value: string, words: string, chosen: string): Html {
  return html`<option value="${value}" ${value === chosen ? "selected" : ""}>${words}</option>`;
}

function check(name: string, value: string, words: string, checked: boolean): Html {
  return html`<label class="check"><input type="checkbox" name="${name}" value="${value}" ${checked ? "checked" : ""}> <span>${words}</span></label>`;
}

/** Shows the address that the button calls, for scripts and schedulers. */
function preview(values: CrawlFormValues, { url }: Frame): Html {
  const address = `${url.origin}${requestOf(values)}`;
  return html`<div class="preview" aria-labelledby="preview-title" role="group">
<p class="preview-title" id="preview-title">The same as an address</p>
<div class="preview-line"><code data-part="address">${address}</code><button type="button" class="small" data-copy="address" data-scripted hidden>Copy<span class="visually-hidden"> the address</span></button></div>
<div class="preview-line"><code data-part="curl">curl -N '${address}&format=stream'</code><button type="button" class="small" data-copy="curl" data-scripted hidden>Copy<span class="visually-hidden"> the command</span></button></div>
</div>`;
}

function requestOf(values: CrawlFormValues): string {
  const params = new URLSearchParams({ domain_id: values.domainId, mode: values.mode, scope: values.scope });
  if (values.sourceId) params.set("source_id", values.sourceId);
  if (values.dryRun) params.set("plan", "store");
  if (values.retryFailed) params.set("retry_failed", "true");
  if (values.confirmDeletes) params.set("confirm_deletes", "true");
  if (values.confirmWorse) params.set("confirm_worse", "true");
  if (values.checksum) params.set("checksum", "true");
  if (values.force) params.set("force", "true");
  if (values.visibility !== "crawl") params.set("visibility", values.visibility);
  return `${actionAddress(values.action)}?${params}`;
}

function actionAddress(action: CrawlAction): string {
  return `/v2/crawler/${action}`;
}

/**
 * Shows what a dry run would do, unless the job is none or has not ended with a plan. A stored plan can be looked at item by item, and applied;
 * of others the job has only counts.
 */
function plannedChanges(job: JobRecord, stored: PlanView | undefined, frame: Frame): Html | "" {
  const result = job.result?.data as Partial<CrawlResult> | null | undefined;
  if (result?.dry_run !== true || !Array.isArray(result.sources)) return "";
  const sources: readonly SourceResult[] = result.sources;
  const counts = stored ? countChanges(stored) : countResults(sources);
  const [first] = counts;
  const whole = stored && planAddress(stored.plan.planId);
  return html`<section id="plan" class="stack" data-refresh aria-labelledby="plan-title">
<div class="section-head"><h2 id="plan-title">What ${job.jobId} would do</h2>${whole ? html`<a class="button small" href="${whole}">Look at the whole plan</a>` : ""}</div>
${job.result?.ok ? "" : html`<p class="notice warn">${job.result?.error ?? ""}</p>`}
${sources.filter(({ error }) => error !== "").map(({ source_id, error }) => html`<p class="notice bad"><span><strong><bdi>${source_id}</bdi></strong>: ${error}</span></p>`)}
${first ? planCounts({ counts }, first.step, (change) => (whole ? `${whole}&change=${change}` : jobAddress(job.jobId))) : html`<p class="empty"><strong>Nothing would change.</strong>The domain is in step with its sources.</p>`}
${stored ? planFigures({ estimate: encodeEstimate(stored) }) : ""}
${stored ? applyForm({ plan_id: stored.plan.planId, completed_utc: stored.plan.completedAt, counts }, frame) : first ? notStored(job, frame) : ""}
</section>`;
}

function countResults(sources: readonly SourceResult[]): readonly ChangeCount[] {
  return STEPS.flatMap((step) =>
    PLANNED_KINDS.flatMap((change) => {
      const items = sources.reduce((sum, source) => sum + (source[step]?.[change] ?? 0), 0);
      return items > 0 ? [{ step, change, items }] : [];
    }),
  );
}

/** A dry run that did not store its plan, or whose plan was deleted. From a terminal, it has no address to repeat. */
function notStored(job: JobRecord, frame: Frame): Html {
  const words = html`<p class="quiet">Its plan was not stored, so only <a href="${jobAddress(job.jobId)}">its log</a> names every item.</p>`;
  if (!job.endpoint.startsWith("/v2/crawler/") || !mayChange(frame, "operate")) return words;
  const url = new URL(job.endpoint, "http://localhost");
  for (const name of ["dry_run", "format", "plan"]) url.searchParams.delete(name);
  const fields = [...url.searchParams, ["plan", "store"], ["format", "html"]] as const;
  return html`${words}<form action="${url.pathname}" method="get" data-crawl>
${fields.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
<button>Plan again, and store it</button><p class="form-error" role="alert" hidden></p></form>`;
}
