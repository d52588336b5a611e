import { html } from "hono/html";
import type { App } from "../../app/app.ts";
import type { Domain } from "../../contracts/domain.ts";
import type { JobId } from "../../contracts/ids.ts";
import type { JobRecord } from "../../contracts/job.ts";
import {
  CRAWL_MODES,
  type CrawlMode,
  type CrawlResult,
  type PlannedChange,
  type SourceResult,
  STEPS,
  type Step,
} from "../../engine/crawl-request.ts";
import { type Listing, takePart } from "../routing/listing.ts";
import { sayCounts, summarizeCrawl } from "./crawl-summary.ts";
import { shownName, shownTime } from "./display.ts";
import { type DomainView, healthOfView } from "./domain-card.ts";
import { crawlerAddress, sayNoCrawl } from "./domain-health.ts";
import { gatherHome } from "./home-page.ts";
import { jobAddress, jobConsole, runningJobs, type WatchedJob, watchedJob } from "./job-fragments.ts";
import { type Frame, type Html, layout, mayChange } from "./layout.ts";
import { addressWith, type Column, PAGE_ROWS, pagedTable } from "./paged-table.ts";

export interface CrawlerQuery {
  readonly form: CrawlFormValues;
  /** The job shown in the console. */
  readonly jobId: JobId | undefined;
  readonly plan: PlanQuery;
}

/** Renders `/v2/crawler`: starts a crawl, shows the plan of a dry run, the console, and the state of all domains. */
export async function crawlerPage(
  app: App,
  { form, jobId, plan: planQuery }: CrawlerQuery,
  frame: Frame,
): Promise<Awaited<Html>> {
  const [model, watched] = await Promise.all([gatherHome(app), watchedJob(app, jobId)]);
  const domains = model.allDomains;
  const values = { ...form, domainId: form.domainId || watched?.job.object || (domains[0]?.domainId ?? "") };
  return layout({
    title: "Crawler · lockstep",
    frame,
    modules: ["crawler.js", "live-jobs.js"],
    body: html`<div class="page-head"><h1>Crawler</h1><p class="lede">A crawl brings a domain in step with its sources: it downloads what changed, turns it into documents, and embeds them. A dry run shows the plan and changes nothing.</p></div>
${domains.length === 0 ? noDomains(frame) : mayChange(frame, "operate") ? crawlForm(domains, values, frame) : readOnlyNotice()}
${plan(watched, planQuery, frame)}
${jobConsole(watched, frame)}
${runningJobs(model.running, frame, watched?.job.jobId)}
${domains.length === 0 ? "" : domainStates(model.domains)}`,
  });
}

/** Without a plan, renders an empty section, which the script fills later. */
function plan(watched: WatchedJob | undefined, values: PlanQuery, frame: Frame): Html {
  const shown = watched ? crawlPlan(watched.job, values, frame) : "";
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
<div class="panel flush scroll-x as-cards" tabindex="0" role="region" aria-label="How the domains stand"><table class="rows">
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
  readonly retryFailed: boolean;
  readonly force: boolean;
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
<label class="field"><span>Scope</span><select name="scope">${option("all", "Everything", values.scope)}${frame.product.kinds.all.map(({ scope, words }) => option(scope, words.scope, values.scope))}</select></label>
<label class="field"><span>Source</span><select name="source_id" data-part="source"><option value="">All sources</option>${sourceChoices(domains, values)}</select></label>
</div>
<div class="checks">
${check("dry_run", "Dry run: only show the plan", values.dryRun)}
${check("retry_failed", "Try failed files again", values.retryFailed)}
${check("confirm_deletes", "Confirm removals that are held", values.confirmDeletes)}
${check("checksum", "Read every file, changed or not", values.checksum)}
${check("force", "Make everything anew, known or not (full mode)", values.force)}
</div>
<div class="form-end"><button class="primary" data-part="go">${values.dryRun ? "Show the plan" : "Start"}</button>
<noscript>${CRAWL_ACTIONS.slice(1).map((action) => html`<button formaction="${actionAddress(action)}">${ACTION_NAMES[action]}</button> `)}</noscript>
<p class="form-error" role="alert" hidden></p></div>
${preview(values, frame)}
</form>`;
}

function sourceChoices(domains: readonly Domain[], { domainId, sourceId }: CrawlFormValues): Html[] {
  return domains.map(
    (domain) =>
      html`<optgroup label="${domain.name || domain.domainId}" data-domain="${domain.domainId}">${domain.sources.map((source) => option(source.sourceId, source.sourceId, domain.domainId === domainId ? sourceId : ""))}</optgroup>`,
  );
}

function option(value: string, words: string, chosen: string): Html {
  return html`<option value="${value}" ${value === chosen ? "selected" : ""}>${words}</option>`;
}

function check(name: string, words: string, checked: boolean): Html {
  return html`<label class="check"><input type="checkbox" name="${name}" value="true" ${checked ? "checked" : ""}> <span>${words}</span></label>`;
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
  if (values.dryRun) params.set("dry_run", "true");
  if (values.retryFailed) params.set("retry_failed", "true");
  if (values.confirmDeletes) params.set("confirm_deletes", "true");
  if (values.checksum) params.set("checksum", "true");
  return `${actionAddress(values.action)}?${params}`;
}

function actionAddress(action: CrawlAction): string {
  return `/v2/crawler/${action}`;
}

export const PLANNED_KINDS = ["added", "changed", "moved", "removed", "held", "skipped", "failed"] as const;
export type PlannedKind = (typeof PLANNED_KINDS)[number];
export const PLAN_COLUMNS = ["change", "source", "path", "reason"] as const;

const TONES: Record<PlannedKind, string> = {
  added: "good",
  changed: "busy",
  moved: "busy",
  removed: "bad",
  held: "warn",
  skipped: "idle",
  failed: "bad",
};

interface PlanRow extends PlannedChange {
  readonly source: string;
}

/** The part of a plan to show. */
export interface PlanQuery {
  readonly change: PlannedKind | undefined;
  /** undefined: the first step that would change something. */
  readonly step: Step | undefined;
  readonly listing: Listing;
}

/**
 * Returns "" unless the job is a dry run that ended with a plan. Shows one step at a time: all steps process the same documents, and users
 * count documents.
 */
export function crawlPlan(job: JobRecord, { change, listing, ...values }: PlanQuery, frame: Frame): Html | "" {
  const result = job.result?.data as Partial<CrawlResult> | null | undefined;
  if (result?.dry_run !== true || !Array.isArray(result.sources)) return "";
  const sources: readonly SourceResult[] = result.sources;
  const rows = sources.flatMap((source) =>
    (source.planned ?? []).map((row): PlanRow => ({ ...row, source: source.source_id })),
  );
  const steps = STEPS.filter((step) => rows.some((row) => row.step === step));
  const step = values.step ?? steps[0];
  const wanted = rows.filter((row) => row.step === step && (change === undefined || row.change === change));
  const { rows: shown, page } = takePart(wanted, { ...listing, limit: listing.limit ?? PAGE_ROWS });
  const more = sources.reduce((sum, source) => sum + (source.planned_more ?? 0), 0);
  return html`<section id="plan" data-refresh aria-labelledby="plan-title">
<div class="section-head"><h2 id="plan-title">What ${job.jobId} would do</h2>${rows.length > 0 && isRepeatable(job) && mayChange(frame, "operate") ? doIt(job) : ""}</div>
<div class="stack">
${job.result?.ok ? "" : html`<p class="notice warn">${job.result?.error ?? ""}</p>`}
${sources.filter(({ error }) => error !== "").map(({ source_id, error }) => html`<p class="notice bad"><span><strong><bdi>${source_id}</bdi></strong>: ${error}</span></p>`)}
${steps.length > 1 ? stepLinks(steps, step, frame) : ""}
${step ? counts(sources, step, change, frame) : ""}
${more > 0 ? html`<p class="quiet">${more} more changes are only in the log of the job: the plan lists the first of each source.</p>` : ""}
${
  rows.length === 0
    ? html`<p class="empty"><strong>Nothing would change.</strong>The domain is in step with its sources.</p>`
    : pagedTable({
        id: "plan-table",
        caption: "Planned changes",
        columns: COLUMNS,
        rows: shown,
        listing,
        page,
        empty: "Nothing of that kind.",
        frame,
      })
}
</div></section>`;
}

const COLUMNS: readonly Column<PlanRow>[] = [
  {
    sort: "change",
    title: "Change",
    cell: ({ change }) => html`<span class="pill ${TONES[change] ?? ""}">${change}</span>`,
  },
  { sort: "source", title: "Source", cell: ({ source }) => html`<bdi>${source}</bdi>` },
  { sort: "path", title: "Item", cell: ({ path, name }) => html`<bdi>${shownName(path || name)}</bdi>` },
  { sort: "reason", title: "Why", cell: ({ reason }) => html`<bdi>${reason}</bdi>` },
];

const STEP_NAMES: Record<Step, string> = { download: "Download", process: "Process", embed: "Embed" };

function stepLinks(steps: readonly Step[], chosen: Step | undefined, frame: Frame): Html {
  return html`<nav class="plan-steps" aria-label="Steps of the plan">${steps.map((step) => {
    const address = addressWith(frame, { plan_step: step, change: "", offset: "" });
    return html`<a class="button small" href="${address}" ${step === chosen ? html`aria-current="true"` : ""}>${STEP_NAMES[step]}</a>`;
  })}</nav>`;
}

/** Shows how many changes of each kind the step counted, listed or not. A click filters the table by the kind; a second click shows all. */
function counts(sources: readonly SourceResult[], step: Step, chosen: PlannedKind | undefined, frame: Frame): Html {
  const kinds = PLANNED_KINDS.map((kind) => ({
    kind,
    count: sources.reduce((sum, source) => sum + (source[step]?.[kind] ?? 0), 0),
  }));
  return html`<ul class="plan-counts">${kinds
    .filter(({ count }) => count > 0)
    .map(({ kind, count }) => {
      const address = addressWith(frame, { change: kind === chosen ? "" : kind, offset: "" });
      return html`<li><a class="${TONES[kind]}" href="${address}" ${kind === chosen ? html`aria-current="true"` : ""}><strong>${count}</strong> ${kind}</a></li>`;
    })}</ul>`;
}

/** A dry run from a terminal has no address that could be called again. */
function isRepeatable({ endpoint }: JobRecord): boolean {
  return endpoint.startsWith("/v2/crawler/");
}

/** Repeats the same request without `dry_run`. */
function doIt(job: JobRecord): Html {
  const url = new URL(job.endpoint, "http://localhost");
  url.searchParams.delete("dry_run");
  url.searchParams.delete("format");
  return html`<form action="${url.pathname}" method="get" data-crawl>
${[...url.searchParams].map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}<input type="hidden" name="format" value="html">
<button class="primary">Do it</button><p class="form-error" role="alert" hidden></p></form>`;
}
