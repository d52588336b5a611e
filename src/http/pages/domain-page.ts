import { html } from "hono/html";
import type { App } from "../../app/app.ts";
import type { Domain, SourceConfig } from "../../contracts/domain.ts";
import type { DomainId } from "../../contracts/ids.ts";
import type { SourceKinds } from "../../contracts/source-kind.ts";
import type { JsonObject } from "../../lib/json-object.ts";
import type { Answer } from "../routing/endpoint.ts";
import { sayCounts, summarizeCrawl } from "./crawl-summary.ts";
import { domainEditor } from "./domain-editor.ts";
import { type DomainOverview, viewDomains } from "./domain-view.ts";
import { storeLink } from "./domains-page.ts";
import { crawlerAddress, sayNoCrawl } from "./health-of.ts";
import { jobAddress } from "./job-words.ts";
import { jsonTable } from "./json-table.ts";
import { type Frame, type Html, layout } from "./layout.ts";
import { mayChange } from "./may-change.ts";
import { shownTime } from "./shown-time.ts";
import { kindOf } from "./source-words.ts";
import { webAddress } from "./web-address.ts";

/** One domain: how it stands, its sources, and everything that can be done with it. */
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
<div class="actions">${mayChange(frame, "operate") ? html`<a class="button primary" href="${crawlerAddress(domainId)}">Crawl</a>` : ""}<a class="button" href="/v2/search?format=ui&amp;domain_id=${domainId}">Search</a><a class="button" href="/v2/domains/generations?domain_id=${domainId}&amp;format=html">Generations</a><a class="button" href="/v2/reports?format=ui&amp;domain_id=${domainId}">Reports</a>${domain.sources.some(({ kind }) => kind.abilities.registersAddresses) ? html`<a class="button" href="/v2/ingest/items?format=ui&amp;domain_id=${domainId}">Addresses</a>` : ""}</div>
<p class="quiet"><code>${domainId}</code>${domain.description ? html` · <bdi>${domain.description}</bdi>` : ""}</p></header>
${view ? standing(view, frame.product.kinds) : ""}
<section aria-labelledby="listed-sources"><h2 id="listed-sources">Sources</h2>${sourceTable(domain)}</section>
${Array.isArray(others) && others.length > 0 ? html`<section aria-labelledby="other-stores"><h2 id="other-stores">Other vector stores</h2><div class="panel scroll-x" tabindex="0" role="region" aria-label="Other vector stores">${jsonTable(others)}</div></section>` : ""}
<section class="panel" aria-labelledby="connection-title"><h2 id="connection-title">Connection</h2>${checkForm(domain.name, domainId)}</section>
${mayChange(frame, "admin") ? html`<details class="panel"><summary><h2>Edit</h2></summary><div id="edit">${domainEditor(frame.product.kinds, { domain, nextRunAt: view?.nextRunAt ?? "" })}</div></details>${domainDelete(domain)}` : ""}`,
  });
}

function standing({ domain, health, documents, last, nextRunAt }: DomainOverview, kinds: SourceKinds): Html {
  const summary = last ? summarizeCrawl(last, kinds) : undefined;
  return html`<section class="panel stack" aria-label="How it stands">
<p><span class="pill ${health.tone}">${health.word}</span></p>
${health.reason ? html`<div class="notice ${health.tone}"><p>${health.reason}</p>${health.wayOut ? html`<p><a href="${health.wayOut.href}">${health.wayOut.words}</a></p>` : ""}</div>` : ""}
<dl class="figures">
<div><dt>Documents</dt><dd>${documents ?? "unknown"}</dd></div>
<div><dt>Last crawl</dt><dd>${last ? html`<a href="${jobAddress(last.jobId)}">${shownTime(last.endedAt || last.lastModifiedAt)}</a>` : sayNoCrawl(documents)}</dd></div>
${summary ? html`<div><dt>It brought</dt><dd>${sayCounts(summary)}</dd></div>` : ""}
<div><dt>Crawls by itself</dt><dd>${domain.schedule ? html`<code>${domain.schedule}</code>${nextRunAt ? html`, next ${shownTime(nextRunAt)}` : ""}` : domain.scheduleProblem ? html`<span class="pill bad">no</span> ${domain.scheduleProblem}` : "no"}</dd></div>
<div><dt>Vector store</dt><dd>${storeLink(domain)}</dd></div>
</dl></section>`;
}

/** Its answer is a page of its own; the module of all pages puts the findings of it below the button instead. */
function checkForm(name: string, domainId: DomainId): Html {
  return html`<form class="check-connection" action="/v2/domains/check" method="get" data-check>
<input type="hidden" name="domain_id" value="${domainId}"><input type="hidden" name="format" value="html">
<button aria-label="Test connection of ${name}">Test connection</button>
<p class="form-error" role="alert" hidden></p>
<div data-part="findings" aria-live="polite"></div>
</form>`;
}

/** Two steps, with and without scripts; the second says what goes and what stays. */
function domainDelete({ domainId, name, vectorStoreId }: Domain): Html {
  return html`<details class="panel"><summary>Delete this domain</summary>
<form class="stack" id="delete" action="/v2/domains/delete" method="get" data-delete="/v2/domains?format=ui">
<input type="hidden" name="domain_id" value="${domainId}"><input type="hidden" name="format" value="html">
<div class="notice warn"><p>Deletes <strong><bdi>${name}</bdi></strong> (<code>${domainId}</code>) with its mirrored files, map files and metadata. SharePoint, older jobs and reports stay as they are.</p></div>
${
  vectorStoreId
    ? html`<label class="check"><input type="checkbox" name="mode" value="with_vector_store"><span>Delete its vector store <code>${vectorStoreId}</code>, too: nobody can search it any more. Unticked, the store stays: it can still be searched, but nothing keeps it in step with its sources any more</span></label>`
    : ""
}
<div class="form-end"><button class="danger">Delete ${name}</button><p class="form-error" role="alert" hidden></p></div>
</form></details>`;
}

/** The sources of a domain: what they are, where, and what is taken of them. */
function sourceTable({ domainId, sources }: Domain): Html {
  if (sources.length === 0) return html`<p class="notice warn">No sources yet: a crawl would find nothing.</p>`;
  return html`<div class="panel flush scroll-x as-cards" tabindex="0" role="region" aria-label="Sources"><table class="rows">
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
  return html`${all.map((one, at) => html`${at > 0 ? html`<br>` : ""}${one}`)}`;
}
