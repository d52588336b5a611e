import { html } from "hono/html";
import type { App } from "../../app/app.ts";
import type { Domain, SourceConfig } from "../../contracts/domain.ts";
import type { DomainId } from "../../contracts/ids.ts";
import type { JobRecord } from "../../contracts/job.ts";
import type { SourceKinds } from "../../contracts/source-kind.ts";
import { encodeRun } from "../../domains/question-store.ts";
import type { CertificateStatus } from "../../engine/verify/stored-certificates.ts";
import type { JsonObject } from "../../lib/json-object.ts";
import { plural } from "../../lib/text.ts";
import type { Answer } from "../routing/endpoint.ts";
import type { Listing } from "../routing/listing.ts";
import { certificatesAddress, verifiedFigures } from "./certificate-pages.ts";
import { sayCounts, summarizeCrawl } from "./crawl-summary.ts";
import { shownId, shownName, shownTime, webAddress } from "./display.ts";
import { domainEditor } from "./domain-editor.ts";
import { crawlerAddress, failuresAddress, type Health, healthOf, sayNoCrawl } from "./domain-health.ts";
import { feedbackAddress } from "./feedback-pages.ts";
import { isEndedCrawl, isWorkOn, jobAddress } from "./job-fragments.ts";
import { jsonTable } from "./json-table.ts";
import { type Frame, type Html, layout, mayChange } from "./layout.ts";
import { type Column, pagedTable } from "./paged-table.ts";
import { questionChart, questionsAddress } from "./question-pages.ts";
import { uploadsAddress } from "./upload-pages.ts";

/** Renders all domains with their states and actions. */
export async function domainsUi(
  app: App,
  { data, page, error }: Answer<readonly Readonly<JsonObject>[]>,
  listing: Listing,
  frame: Frame,
): Promise<Awaited<Html>> {
  const all = (await app.domains.list()).domains;
  const shown = data.flatMap(({ domain_id }) => all.find(({ domainId }) => domainId === domain_id) ?? []);
  return await layout({
    frame,
    title: "Domains · lockstep",
    modules: ["domains.js"],
    body: html`<header class="page-head"><h1>Domains</h1>
${mayChange(frame, "admin") ? html`<div class="actions"><a class="button primary" href="#new-domain">New domain</a></div>` : ""}
<p class="quiet">A domain is one knowledge base: a vector store, and the libraries, lists, pages, web sites and folders it is filled from.</p></header>
${error ? html`<p class="notice bad" role="alert"><bdi>${error}</bdi></p>` : ""}
${pagedTable({
  id: "domains",
  caption: "Domains",
  columns: columnsFor(frame),
  rows: await viewDomains(app, shown),
  listing,
  page,
  empty: mayChange(frame, "admin")
    ? "No domains yet. Create the first one below."
    : "No domains yet. Only administrators can create one.",
  frame,
})}
${mayChange(frame, "admin") ? newDomain(frame.product.kinds, all.length === 0) : ""}`,
  });
}

function newDomain(kinds: SourceKinds, isFirst: boolean): Html {
  return html`<details class="panel" ${isFirst ? "open" : ""}><summary><h2>New domain</h2></summary><div id="new-domain">${domainEditor(kinds)}</div></details>`;
}

const FACTS: readonly Column<DomainOverview>[] = [
  {
    sort: "name",
    title: "Domain",
    cell: ({ domain }) =>
      html`<a href="${domainAddress(domain.domainId)}"><strong><bdi>${domain.name}</bdi></strong></a><br><code>${shownId(domain.domainId)}</code>${domain.description ? html`<br><span class="quiet"><bdi>${domain.description}</bdi></span>` : ""}`,
  },
  {
    title: "Health",
    cell: ({ health, documents }) =>
      html`<span class="pill ${health.tone}">${health.word}</span>${health.wayOut ? html`<br><a href="${health.wayOut.href}">${health.wayOut.words}</a>` : ""}<br><span class="quiet">${documents === null ? "" : plural(documents, "document")}</span>`,
  },
  { title: "Sources", cell: ({ domain }) => kindCounts(domain.sources) || html`<span class="none">none</span>` },
  {
    sort: "schedule",
    title: "Crawled",
    cell: ({ last, documents, nextRunAt }) =>
      html`${last ? shownTime(last.endedAt || last.lastModifiedAt) : sayNoCrawl(documents)}${nextRunAt ? html`<br><span class="quiet">next ${shownTime(nextRunAt)}</span>` : ""}`,
  },
  { sort: "vector_store_name", title: "Vector store", cell: ({ domain }) => storeLink(domain) },
];

function columnsFor(frame: Frame): readonly Column<DomainOverview>[] {
  return [...FACTS, { title: "Actions", cell: (view) => actions(view, frame) }];
}

function actions({ domain }: DomainOverview, frame: Frame): Html {
  const { domainId, name } = domain;
  const of = html`<span class="visually-hidden"> ${name}</span>`;
  const link = (words: string, href: string): Html => html`<a class="button small" href="${href}">${words}${of}</a>`;
  const mayEdit = mayChange(frame, "admin");
  return html`<div class="row-actions">
${mayChange(frame, "operate") ? link("Crawl", crawlerAddress(domainId)) : ""}
${link("Search", `/v2/search?format=ui&domain_id=${domainId}`)}
${mayEdit ? link("Edit", `${domainAddress(domainId)}#edit`) : ""}
${link("Test connection", `/v2/domains/check?domain_id=${domainId}&format=html`)}
${mayEdit ? html`<a class="button small danger" href="${domainAddress(domainId)}#delete">Delete${of}</a>` : ""}
</div>`;
}

function storeLink({ vectorStoreId, vectorStoreName }: DomainOverview["domain"]): Html {
  if (!vectorStoreId) return html`<span class="quiet">the next crawl creates it</span>`;
  const href = `/v2/inventory/vector_stores/get?vector_store_id=${encodeURIComponent(vectorStoreId)}&format=html`;
  return html`<a href="${href}">${shownId(vectorStoreName || vectorStoreId)}</a>`;
}

export function domainAddress(domainId: DomainId): string {
  return `/v2/domains/get?domain_id=${domainId}&format=html`;
}

/** Renders one domain: its state, its sources and all actions. */
export async function domainPage(
  app: App,
  { data }: Answer<Readonly<JsonObject>>,
  domainId: DomainId,
  frame: Frame,
): Promise<Awaited<Html>> {
  const domain = await app.domains.get(domainId);
  const [view] = await viewDomains(app, [domain]);
  const others = data["other_vector_stores"];
  return await layout({
    frame,
    title: `${domain.name} · lockstep`,
    modules: ["domains.js"],
    body: html`<header class="page-head"><h1><bdi>${domain.name}</bdi></h1>
<div class="actions">${mayChange(frame, "operate") ? html`<a class="button primary" href="${crawlerAddress(domainId)}">Crawl</a>` : ""}<a class="button" href="/v2/search?format=ui&amp;domain_id=${domainId}">Search</a><a class="button" href="/v2/domains/generations?domain_id=${domainId}&amp;format=html">Generations</a><a class="button" href="${certificatesAddress(domainId)}">Verification</a><a class="button" href="${uploadsAddress(domainId)}">Uploads</a><a class="button" href="${questionsAddress(domainId)}">Questions</a><a class="button" href="${failuresAddress(domainId)}">What failed</a>${mayChange(frame, "operate") ? html`<a class="button" href="${feedbackAddress(domainId)}">Asked in vain</a>` : ""}<a class="button" href="/v2/reports?format=ui&amp;domain_id=${domainId}">Reports</a>${domain.sources.some(({ kind }) => kind.abilities.registersAddresses) ? html`<a class="button" href="/v2/ingest/items?format=ui&amp;domain_id=${domainId}">Addresses</a>` : ""}</div>
<p class="quiet"><code>${domainId}</code>${domain.description ? html` · <bdi>${domain.description}</bdi>` : ""}</p></header>
${view ? standing(view, frame.product.kinds) : ""}
${await askedChart(app, domainId)}
<section aria-labelledby="listed-sources"><h2 id="listed-sources">Sources</h2>${sourceTable(domain)}</section>
${Array.isArray(others) && others.length > 0 ? html`<section aria-labelledby="other-stores"><h2 id="other-stores">Other vector stores</h2><div class="panel scroll-x" tabindex="0" role="group" aria-label="Other vector stores">${jsonTable(others)}</div></section>` : ""}
<section class="panel" aria-labelledby="connection-title"><h2 id="connection-title">Connection</h2>${checkForm(domain.name, domainId)}</section>
${mayChange(frame, "admin") ? html`<details class="panel"><summary><h2>Edit</h2></summary><div id="edit">${domainEditor(frame.product.kinds, { domain, nextRunAt: view?.nextRunAt ?? "" })}</div></details>${domainDelete(domain)}` : ""}`,
  });
}

/** How the questions of the domain were answered; "" for a few times, or if it cannot be read. */
async function askedChart(app: App, domainId: DomainId): Promise<Html | ""> {
  const { runs } = await app.questions.view(domainId).catch(() => ({ runs: [] }));
  const chart = questionChart("Questions", runs.map(encodeRun));
  return (
    chart && html`<section aria-labelledby="asked-title"><h2 id="asked-title">Questions answered</h2>${chart}</section>`
  );
}

function standing(
  { domain, health, documents, last, nextRunAt, certificates }: DomainOverview,
  kinds: SourceKinds,
): Html {
  const summary = last ? summarizeCrawl(last, kinds) : undefined;
  return html`<section class="panel stack" aria-label="How it stands">
<p><span class="pill ${health.tone}">${health.word}</span></p>
${health.reason ? html`<div class="notice ${health.tone}"><p>${health.reason}</p>${health.wayOut ? html`<p><a href="${health.wayOut.href}">${health.wayOut.words}</a></p>` : ""}</div>` : ""}
<dl class="figures">
<div><dt>Documents</dt><dd>${documents ?? "unknown"}</dd></div>
<div><dt>Last crawl</dt><dd>${last ? html`<a href="${jobAddress(last.jobId)}">${shownTime(last.endedAt || last.lastModifiedAt)}</a>` : sayNoCrawl(documents)}</dd></div>
${summary ? html`<div><dt>It brought</dt><dd>${sayCounts(summary)}</dd></div>` : ""}
<div><dt>Crawls by itself</dt><dd>${domain.schedule ? html`<code>${domain.schedule}</code>${nextRunAt ? html`, next ${shownTime(nextRunAt)}` : ""}` : domain.scheduleProblem ? html`<span class="pill bad">no</span> ${domain.scheduleProblem}` : "no"}</dd></div>
${verifiedFigures(domain.domainId, certificates)}
<div><dt>Vector store</dt><dd>${storeLink(domain)}</dd></div>
</dl></section>`;
}

/** Without scripts the result is a page of its own; the script of all pages shows the findings below the button instead. */
function checkForm(name: string, domainId: DomainId): Html {
  return html`<form class="check-connection" action="/v2/domains/check" method="get" data-check>
<input type="hidden" name="domain_id" value="${domainId}"><input type="hidden" name="format" value="html">
<button aria-label="Test connection of ${name}">Test connection</button>
<p class="form-error" role="alert" hidden></p>
<div data-part="findings" aria-live="polite"></div>
</form>`;
}

/** Needs two steps, with and without scripts; the second says what is deleted and what stays. */
function domainDelete({ domainId, name, vectorStoreId }: Domain): Html {
  return html`<details class="panel"><summary>Delete this domain</summary>
<form class="stack" id="delete" action="/v2/domains/delete" method="get" data-delete="/v2/domains?format=ui">
<input type="hidden" name="domain_id" value="${domainId}"><input type="hidden" name="format" value="html">
<div class="notice warn"><p>Deletes <strong><bdi>${name}</bdi></strong> (<code>${domainId}</code>) with its mirrored files, map files and metadata. Its sources, older jobs and reports stay as they are.</p></div>
${
  vectorStoreId
    ? html`<label class="check"><input type="checkbox" name="mode" value="with_vector_store"><span>Delete its vector store <code>${vectorStoreId}</code>, too: nobody can search it any more. Unticked, the store stays: it can still be searched, but nothing keeps it in step with its sources any more</span></label>`
    : ""
}
<div class="form-end"><button class="danger">Delete ${name}</button><p class="form-error" role="alert" hidden></p></div>
</form></details>`;
}

/** Renders the sources of a domain: kind, location and filter. */
function sourceTable({ domainId, sources }: Domain): Html {
  if (sources.length === 0) return html`<p class="notice warn">No sources yet: a crawl would find nothing.</p>`;
  return html`<div class="panel flush scroll-x as-cards" tabindex="0" role="group" aria-label="Sources"><table class="rows">
<thead><tr><th scope="col">Source</th><th scope="col">Kind</th><th scope="col">Where</th><th scope="col">Filter</th></tr></thead>
<tbody>${sources.map((source) => {
    const rules = rulesOf(source);
    return html`<tr><th scope="row"><code>${source.sourceId}</code></th><td data-label="Kind"><div>${kindOf(source)}</div></td><td data-label="Where"><div><bdi>${showPlace(source)}</bdi>${source.kind.abilities.hasIds ? "" : documentsLink(domainId, source)}</div></td><td data-label="Filter"><div>${rules.length > 0 ? lines(rules) : html`<span class="none">–</span>`}</div></td></tr>`;
  })}</tbody></table></div>`;
}

function showPlace(source: SourceConfig): Html {
  const links = source.kind.links?.(source) ?? [];
  if (links.length === 0) return html`${source.kind.describePlace(source)}`;
  return lines(links.map(({ url, words }) => outside(url, words)));
}

function outside(url: string, words: string): Html {
  const href = webAddress(url);
  return href ? html`<a href="${href}" target="_blank" rel="noopener noreferrer">${words}</a>` : html`${words}`;
}

function documentsLink(domainId: string, { sourceId }: SourceConfig): Html {
  const address = `/v2/documents?${new URLSearchParams({ domain_id: domainId, source_id: sourceId, format: "html" })}`;
  return html`<br><a href="${address}">Documents<span class="visually-hidden"> of ${sourceId}</span></a>`;
}

function rulesOf(source: SourceConfig): Html[] {
  const { patterns, others } = source.kind.describeRules(source);
  return [...patterns.map((pattern) => html`<code>${pattern}</code>`), ...others.map((words) => html`${words}`)];
}

function lines(all: readonly Html[]): Html {
  return html`${all.map((line, at) => html`${at > 0 ? html`<br>` : ""}${line}`)}`;
}

/** A domain and its state, for lists and its own page. */
export interface DomainOverview {
  readonly domain: Domain;
  readonly health: Health;
  /** null: the index does not respond. */
  readonly documents: number | null;
  readonly last: JobRecord | undefined;
  /** "" without a schedule. */
  readonly nextRunAt: string;
  /** undefined: they could not be read. */
  readonly certificates: CertificateStatus | undefined;
}

/** Reads the jobs once for all domains. */
async function viewDomains(app: App, domains: readonly Domain[]): Promise<readonly DomainOverview[]> {
  const [active, ended] = await Promise.all([
    app.jobs.list({ router: "crawler", state: "active" }),
    app.jobs.list({ router: "crawler", matching: isEndedCrawl, limit: 1, per: "object" }),
  ]);
  const isOf = ({ domainId }: Domain, job: JobRecord): boolean => job.object === domainId;
  return await Promise.all(
    domains.map(async (domain) => {
      const last = ended.find((job) => isOf(domain, job));
      // A domain whose state cannot be read must not hide the others.
      const standing = await app.standing(domain).catch(() => undefined);
      const certificates = await app.certificates.status(domain).catch(() => undefined);
      const vitals = {
        kinds: app.domains.kinds,
        domainId: domain.domainId,
        certificates,
        maxAge: domain.maxAge,
        active: active.find((job) => isWorkOn(domain.domainId, job)),
        last,
        standing,
      };
      return {
        domain,
        health: healthOf(vitals),
        documents: standing?.documents ?? null,
        last,
        nextRunAt: app.schedule.nextRunAt(domain),
        certificates,
      };
    }),
  );
}

/** The generations as the endpoint returns them. */
export interface ShownGenerations {
  readonly shown: number;
  readonly newest: number;
  readonly pinned: boolean;
  /** Newest first. */
  readonly generations: readonly ShownGeneration[];
}

interface ShownGeneration {
  readonly generation: number;
  readonly generation_id: string;
  readonly shown: boolean;
  readonly committed_utc: string;
  readonly domain_id: string;
  readonly source_id: string;
  /** The job, a blank, and when it began; "" if unknown. */
  readonly crawl: string;
  /** A state between two sources of one crawl. */
  readonly intermediate: boolean;
  readonly added: number;
  readonly removed: number;
  readonly erased: number;
  readonly visible: boolean;
}

export interface ShownDifference {
  readonly from: number;
  readonly to: number;
  /** How many documents were erased from each of them since. */
  readonly erased: { readonly from: number; readonly to: number };
  readonly changes: readonly {
    readonly change: string;
    readonly source_id: string;
    readonly item_id: string;
    readonly name: string;
    readonly path: string;
  }[];
  readonly more: boolean;
}

const PATH = "/v2/domains/generations";

/** Renders the current generation of a domain, the earlier ones, and the way back to them. */
export function generationsPage(data: ShownGenerations, domainId: string, frame: Frame): Html {
  const { generations, pinned, shown, newest } = data;
  return page(
    "Generations",
    domainId,
    html`${
      pinned
        ? html`<div class="notice warn"><p>Rolled back: readers see generation ${shown}, whatever is crawled. The newest is ${newest}; a release shows it to them, at once.</p>${mayChange(frame, "operate") ? release(domainId) : ""}</div>`
        : ""
    }
${generations.length === 0 ? html`<div class="empty"><strong>Nothing is kept yet.</strong><p>Each crawl that changes something leaves a generation.</p></div>` : generationTable(data, domainId, frame)}`,
    frame,
  );
}

function generationTable({ generations, shown }: ShownGenerations, domainId: string, frame: Frame): Html {
  return html`<div class="panel flush scroll-x as-cards" tabindex="0" role="group" aria-label="Generations"><table class="rows generations">
<thead><tr><th scope="col">Generation</th><th scope="col">Committed</th><th scope="col">Crawl</th><th scope="col">Source</th><th scope="col" class="end">Added</th><th scope="col" class="end">Removed</th><th scope="col">Readers</th><th scope="col">Actions</th></tr></thead>
<tbody>${generations.map((generation, at) => {
    const before = generations[at + 1];
    return html`<tr><th scope="row" title="${generation.generation_id}"><span class="on-phones">Generation </span>${generation.generation}</th><td data-label="Committed"><div>${shownTime(generation.committed_utc)}</div></td><td data-label="Crawl"><div>${crawlOf(generation)}</div></td><td data-label="Source"><div>${generation.source_id ? html`<code>${shownId(generation.source_id)}</code>` : html`<span class="quiet">several</span>`}</div></td><td class="end" data-label="Added"><div>${generation.added}</div></td><td class="end" data-label="Removed"><div>${generation.removed}</div></td>
<td data-label="Readers"><div>${seenBy(generation)}${generation.erased > 0 ? html` <span class="pill warn">${erasedFrom(generation.erased)}</span>` : ""}</div></td>
<td data-label="Actions"><div class="row-actions">${before ? html`<a class="button small" href="${PATH}/difference?domain_id=${domainId}&amp;from=${before.generation}&amp;to=${generation.generation}&amp;format=html">What changed<span class="visually-hidden"> in generation ${generation.generation}</span></a>` : ""}<a class="button small" href="/v2/search?format=ui&amp;domain_id=${domainId}&amp;generation=${generation.generation}">Search it<span class="visually-hidden"> as of generation ${generation.generation}</span></a>${generation.generation !== shown && mayChange(frame, "operate") ? rollback(generation, domainId) : ""}</div></td></tr>`;
  })}</tbody></table></div>`;
}

function seenBy({ shown, visible }: ShownGeneration): Html {
  if (shown) return html`<span class="pill good">see this</span>`;
  return visible ? html`<span class="quiet">saw this</span>` : html`<span class="pill warn">not shown</span>`;
}

function erasedFrom(documents: number): string {
  return `${plural(documents, "document")} erased`;
}

function crawlOf({ crawl, intermediate }: ShownGeneration): Html {
  const [job = ""] = crawl.split(" ");
  const from = job.startsWith("jb_")
    ? html`<a href="${jobAddress(job)}">${job}</a>`
    : job === "items"
      ? "single files"
      : job;
  return html`${from}${intermediate ? html`<br><span class="quiet">between two sources</span>` : ""}`;
}

/** Needs two steps: all readers see the change at once. */
function rollback({ generation, intermediate }: ShownGeneration, domainId: string): Html {
  return html`<details class="inline"><summary class="button small">Roll back to ${generation}</summary>
<form class="notice warn" action="${PATH}/rollback?domain_id=${domainId}&amp;generation=${generation}&amp;format=html" method="post"><p>Everybody sees generation ${generation} at once.${intermediate ? " It is a state between two sources of one crawl, which had not committed everything yet." : ""} They go on seeing it, whatever is crawled, until you release it.</p><div><button class="danger small">Show readers generation ${generation}</button></div></form></details>`;
}

function release(domainId: string): Html {
  return html`<form action="${PATH}/release?domain_id=${domainId}&amp;format=html" method="post"><button>Release</button></form>`;
}

const TONES: Readonly<Record<string, string>> = { added: "good", changed: "busy", removed: "bad" };

/** Renders what readers see differently in two generations. */
export function differencePage(
  { from, to, erased, changes, more }: ShownDifference,
  domainId: string,
  frame: Frame,
): Html {
  return page(
    `From generation ${from} to ${to}`,
    domainId,
    html`<p><a href="${PATH}?domain_id=${domainId}&amp;format=html">All generations</a></p>
${erased.from > 0 ? html`<p class="notice warn">Generation ${from}: ${erasedFrom(erased.from)}.</p>` : ""}
${erased.to > 0 ? html`<p class="notice warn">Generation ${to}: ${erasedFrom(erased.to)}.</p>` : ""}
${changes.length === 0 ? html`<p class="quiet">Readers see the same documents in both.</p>` : ""}
${more ? html`<p class="notice warn">Only the first ${changes.length} are shown.</p>` : ""}
${
  changes.length > 0
    ? html`<div class="panel flush scroll-x as-cards" tabindex="0" role="group" aria-label="Changes"><table class="rows">
<thead><tr><th scope="col">Change</th><th scope="col">Document</th><th scope="col">Path</th><th scope="col">Source</th></tr></thead>
<tbody>${changes.map(({ change, name, path, source_id }) => html`<tr><td data-label="Change"><div><span class="pill ${TONES[change] ?? ""}">${change}</span></div></td><th scope="row"><bdi>${shownName(name)}</bdi></th><td data-label="Path"><div><bdi>${shownName(path)}</bdi></div></td><td data-label="Source"><div><code>${source_id}</code></div></td></tr>`)}</tbody></table></div>`
    : ""
}`,
    frame,
  );
}

function page(title: string, domainId: string, body: Html, frame: Frame): Html {
  return layout({
    frame,
    title: `${title} of ${domainId} · lockstep`,
    body: html`<header class="page-head"><h1>${title}</h1><p class="quiet">of <a href="/v2/domains/get?domain_id=${domainId}&amp;format=html"><code>${domainId}</code></a></p></header>
${body}`,
  });
}

/** Returns "2 libraries, 1 list"; "" for none. */
function kindCounts(sources: readonly SourceConfig[]): string {
  const others = sources.filter((source) => !isOfRegistered(source));
  const counted = [...Map.groupBy(others, ({ kind }) => kind)].map(([{ words }, { length }]) =>
    plural(length, words.noun, words.nouns),
  );
  return [...counted, ...(others.length < sources.length ? ["registered addresses"] : [])].join(", ");
}

export function kindOf(source: SourceConfig): string {
  return isOfRegistered(source) ? "Registered addresses" : source.kind.words.name;
}

function isOfRegistered(source: SourceConfig): boolean {
  return source.kind.holdsRegistered?.(source) ?? false;
}
