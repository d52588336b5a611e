import { html } from "hono/html";
import type { Domain, SourceConfig } from "../../contracts/domain.ts";
import type { Html } from "./layout.ts";
import { kindOf } from "./source-words.ts";
import { webAddress } from "./web-address.ts";

/** The sources of a domain: what they are, where, and what is taken of them. */
export function sourceTable({ domainId, sources }: Domain): Html {
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
