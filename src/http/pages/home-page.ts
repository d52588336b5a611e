import { html } from "hono/html";
import type { FoundModel } from "../../app/answer-model.ts";
import type { App } from "../../app/app.ts";
import { mayAct, type Principal } from "../../contracts/access.ts";
import type { Domain } from "../../contracts/domain.ts";
import type { JobRecord } from "../../contracts/job.ts";
import type { DomainStatus } from "../../engine/domain-status.ts";
import { firstSentence } from "../routing/describe-endpoint.ts";
import type { Endpoint } from "../routing/endpoint.ts";
import { foundModels } from "./answer-model-page.ts";
import { CHARTED_CRAWLS } from "./crawl-chart.ts";
import { type DomainView, domainCard, healthOfView } from "./domain-card.ts";
import { domainEditor, EXAMPLE_SOURCES } from "./domain-editor.ts";
import { gatherRunning, isEndedCrawl, isWorkOn, type RunningJobs, recentJobs, runningJobs } from "./job-fragments.ts";
import { type Frame, type Html, layout, mayChange } from "./layout.ts";

/** Renders the dashboard at `/`. Every form works without scripts; the scripts keep it up to date. */
export function homePage(model: HomeModel, frame: Frame, endpoints: readonly Endpoint[]): Html {
  const isNew = model.domains.length === 0 && model.broken.length === 0;
  return layout({
    title: "Overview · lockstep",
    frame,
    modules: isNew ? ["domains.js", "live-jobs.js"] : ["live-jobs.js"],
    body: html`${isNew ? firstSteps(model, frame) : overview(model, frame)}
${httpInterface(endpoints)}
<footer class="foot"><p>Everyone who may query sees everything that was crawled. Permissions of the sources are not carried along.</p></footer>`,
  });
}

function overview(model: HomeModel, frame: Frame): Html {
  const { domains, allDomains, broken, running, jobs } = model;
  const moreDomains = allDomains.length - domains.length;
  return html`<div class="page-head"><h1>Overview</h1><p class="lede" id="overall" data-refresh>${sayOverall(model)}</p></div>
${searchBox(allDomains)}
${model.writers.length > 0 ? html`<section class="panel stack" aria-labelledby="writer-title"><h2 id="writer-title">A language model runs on this machine</h2><p>It can write the answers that <a href="/v2/answers?format=html">chat clients</a> get; now they are quotes.</p>${foundModels(model.writers)}</section>` : ""}
<section aria-labelledby="domains-title">
<div class="section-head"><h2 id="domains-title">Domains</h2>${mayChange(frame, "admin") ? html`<a class="button small" href="/v2/domains?format=ui#new-domain">New domain</a>` : ""}</div>
<div class="stack">
${broken.map(({ domainId, reason }) => html`<p class="notice bad" role="alert"><span><strong>${domainId}</strong> cannot be read: ${reason}</span></p>`)}
<div class="cards">${domains.map((view) => domainCard(view, frame))}</div>
${moreDomains > 0 ? html`<p><a href="/v2/domains?format=ui">${moreDomains} more domains</a></p>` : ""}
</div>
</section>
${runningJobs(running, frame)}
${recentJobs(jobs, frame.product.kinds)}`;
}

/** Returns the summary at the top. */
function sayOverall({ domains, allDomains, broken }: HomeModel): string {
  const inNeed = domains.filter((view) => ["warn", "bad"].includes(healthOfView(view).tone)).length + broken.length;
  const count = allDomains.length + broken.length;
  const all = count === 1 ? "1 domain" : `${count} domains`;
  const documents = domains.reduce((sum, { standing }) => sum + (standing?.documents ?? 0), 0);
  const look = inNeed === 0 ? "Nothing needs a look." : inNeed === 1 ? "1 needs a look." : `${inNeed} need a look.`;
  return `${all}, ${documents.toLocaleString("en")} documents. ${look}`;
}

function searchBox(domains: readonly Domain[]): Html {
  return html`<form class="search panel" action="/v2/search" method="get" role="search">
<input type="hidden" name="format" value="ui">
<label class="grow"><span>Search for</span><input type="search" name="query" required maxlength="1000" autocomplete="off" placeholder="What may a hotel night cost?"></label>
<label><span>Domain</span><select name="domain_id">${domains.length > 1 ? html`<option value="">All domains</option>` : ""}${domains.map(
    ({ domainId, name }) => html`<option value="${domainId}">${name || domainId}</option>`,
  )}</select></label>
<button class="primary">Search</button>
</form>`;
}

function httpInterface(endpoints: readonly Endpoint[]): Html {
  return html`<details class="panel http-interface"><summary>HTTP interface</summary>
<div class="stack">
<p class="quiet">Everything on these pages is an address that scripts can call, too. <a href="/v2">As text</a> · <a href="/openapi.json">OpenAPI document</a> · <a href="/v2/answers?format=html">Chat clients, and who writes their answers</a></p>
${endpointTable(endpoints)}
</div></details>`;
}

/** Lists all endpoints, each path linked to its documentation. */
function endpointTable(endpoints: readonly Endpoint[]): Html {
  return html`<div class="scroll-x" tabindex="0" role="group" aria-label="Endpoints"><table class="endpoints">
<caption class="visually-hidden">Endpoints</caption>
<thead><tr><th scope="col">Method</th><th scope="col">Path</th><th scope="col">Formats</th><th scope="col">What it does</th><th scope="col">What it changes</th><th scope="col">Role</th></tr></thead>
<tbody>${endpoints.map(row)}</tbody>
</table></div>`;
}

function row({ methods, path, formats, description, changes, role }: Endpoint): Html {
  return html`<tr>
<td>${methods.join(", ")}</td>
<th scope="row"><a href="${path}"><code>${path}</code></a></th>
<td>${formats.join(", ")}</td>
<td>${firstSentence(description)}</td>
<td>${changes === null ? html`<span class="none">–</span>` : changes}</td>
<td>${role}</td>
</tr>`;
}

/** Shown while there are no domains. */
function firstSteps(model: HomeModel, frame: Frame): Html {
  return html`<section class="panel welcome">
<h1>What should people be able to ask about?</h1>
<p class="lede">Choose where it is. A crawl reads it and makes it searchable; every further one brings in what changed and takes out what is gone.</p>
${mayChange(frame, "admin") ? html`${domainEditor(frame.product.kinds)}${fromTerminal(frame)}` : html`<p class="notice">Only administrators can create domains.</p>`}
</section>
${model.running.shown.length > 0 ? runningJobs(model.running, frame) : ""}
${model.jobs.length > 0 ? recentJobs(model.jobs, frame.product.kinds) : ""}`;
}

function fromTerminal({ url: { origin } }: Frame): Html {
  const domain = { domain_id: "HANDBOOK", name: "Employee handbook", description: "Travel, expenses, leave" };
  const body = JSON.stringify({ ...domain, ...EXAMPLE_SOURCES }, null, 2);
  const create = `curl '${origin}/v2/domains/create' -H 'content-type: application/json' -d '${body}'`;
  const crawl = `curl -N '${origin}/v2/crawler/crawl?domain_id=HANDBOOK&mode=incremental&format=stream'`;
  return html`<details class="curl"><summary>The same from a terminal</summary>
<pre tabindex="0"><code>${create}\n\n${crawl}</code></pre></details>`;
}

const CRAWLER = "crawler";
const RECENT_JOBS = 8;
/** With more domains than this, the list of domains is the better page. */
const SHOWN_DOMAINS = 24;

/** The state of the installation, collected before anything is rendered. */
export interface HomeModel {
  readonly domains: readonly DomainView[];
  /** Includes domains without a card. */
  readonly allDomains: readonly Domain[];
  readonly broken: readonly { readonly domainId: string; readonly reason: string }[];
  readonly running: RunningJobs;
  readonly jobs: readonly JobRecord[];
  /** Models of this machine that could write answers; none if one does, and for all but administrators. */
  readonly writers: readonly FoundModel[];
}

export async function gatherHome(app: App, principal?: Principal): Promise<HomeModel> {
  const [{ domains, broken }, jobs, active, crawls] = await Promise.all([
    app.domains.list(),
    app.jobs.list({ limit: RECENT_JOBS }),
    app.jobs.list({ state: "active" }),
    app.jobs.list({ router: CRAWLER, matching: isEndedCrawl, limit: CHARTED_CRAWLS, per: "object" }),
  ]);
  const shown = domains.slice(0, SHOWN_DOMAINS);
  const view = async (domain: Domain): Promise<DomainView> => ({
    kinds: app.domains.kinds,
    domain,
    active: active.find((job) => job.router === CRAWLER && isWorkOn(domain.domainId, job)),
    crawls: crawls.filter((job) => job.object === domain.domainId),
    standing: await standingOf(app, domain),
    nextRunAt: app.schedule.nextRunAt(domain),
    certificates: await app.certificates.status(domain).catch(() => undefined),
  });
  return {
    domains: await Promise.all(shown.map(view)),
    allDomains: domains,
    broken,
    running: await gatherRunning(app, active),
    writers: domains.length > 0 && principal && mayAct(principal, "admin") ? await findWriters(app) : [],
    jobs,
  };
}

async function findWriters({ answerModels }: App): Promise<readonly FoundModel[]> {
  const { current, found } = await answerModels.view();
  return current ? [] : found;
}

/** A domain whose state cannot be read must not hide the others. */
async function standingOf(app: App, domain: Domain): Promise<DomainStatus | undefined> {
  return app.standing(domain).catch(() => undefined);
}
