import { html } from "hono/html";
import type { App } from "../../app/app.ts";
import type { DomainId } from "../../contracts/ids.ts";
import type { SourceKinds } from "../../contracts/source-kind.ts";
import type { JsonObject } from "../../lib/json-object.ts";
import { plural } from "../../lib/plural.ts";
import type { Answer } from "../routing/endpoint.ts";
import type { Listing } from "../routing/listing.ts";
import { domainEditor } from "./domain-editor.ts";
import { type DomainOverview, viewDomains } from "./domain-view.ts";
import { crawlerAddress, sayNoCrawl } from "./health-of.ts";
import { type Frame, type Html, layout } from "./layout.ts";
import { mayChange } from "./may-change.ts";
import { type Column, pagedTable } from "./paged-table.ts";
import { shownTime } from "./shown-time.ts";
import { kindCounts } from "./source-words.ts";

/** All domains, how they stand, and what can be done with each. */
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
      html`<a href="${domainAddress(domain.domainId)}"><strong><bdi>${domain.name}</bdi></strong></a><br><code>${domain.domainId}</code>${domain.description ? html`<br><span class="quiet"><bdi>${domain.description}</bdi></span>` : ""}`,
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

export function storeLink({ vectorStoreId, vectorStoreName }: DomainOverview["domain"]): Html {
  if (!vectorStoreId) return html`<span class="quiet">the next crawl creates it</span>`;
  const href = `/v2/inventory/vector_stores/get?vector_store_id=${encodeURIComponent(vectorStoreId)}&format=html`;
  return html`<a href="${href}"><bdi>${vectorStoreName || vectorStoreId}</bdi></a>`;
}

export function domainAddress(domainId: DomainId): string {
  return `/v2/domains/get?domain_id=${domainId}&format=html`;
}
