import { html } from "hono/html";
import { asSentence, plural } from "../../lib/text.ts";
import type { FailuresJson } from "../endpoints/document-codec.ts";
import { shownName, shownTime, webAddress } from "./display.ts";
import { crawlerAddress } from "./domain-health.ts";
import { type Frame, type Html, layout, mayChange } from "./layout.ts";

type Group = FailuresJson["failed"][number];
type Item = Group["items"][number];

const PATH = "/v2/documents";
/** Of a group, more are folded; the list as JSON has all. */
const SHOWN = 50;
const LISTED = 1000;

/** Renders what failed in a domain: by reason, with what to do, and what was acknowledged. */
export function failuresPage(data: FailuresJson, frame: Frame): Html {
  const { domain_id, sources, failed, acknowledged, note } = data;
  const count = failed.reduce((sum, group) => sum + group.count, 0);
  const known = acknowledged.reduce((sum, group) => sum + group.count, 0);
  const mayEdit = mayChange(frame, "operate");
  return layout({
    frame,
    title: `What failed in ${domain_id} · lockstep`,
    body: html`<header class="page-head"><h1>What failed</h1>
<div class="actions">${mayEdit && count > 0 ? html`<a class="button" href="${crawlerAddress(domain_id)}&amp;retry_failed=true">Try failed files again …</a>` : ""}<a class="button" href="${PATH}/failed?domain_id=${domain_id}&amp;format=json">As JSON</a></div>
<p class="quiet">in <a href="/v2/domains/get?domain_id=${domain_id}&amp;format=html"><code>${domain_id}</code></a></p>
<p class="lede">It stays here until it is solved. What you acknowledge makes neither the domain nor its crawls red any more, unless its reason or its content changes.</p></header>
${note ? html`<p class="notice good" role="status">${note}</p>` : ""}
${count + known + sources.length === 0 ? html`<div class="empty"><strong>Nothing has failed.</strong><p>Files without any text, and those that rules leave out, are no failures.</p></div>` : ""}
${sources.map(({ source_id, reason, remedy }) => html`<section class="panel stack" aria-label="Source ${source_id}"><h2>Source <code>${source_id}</code> could not be read whole</h2><p class="notice bad"><bdi>${shownName(asSentence(reason))}</bdi></p><p><strong>What to do:</strong> ${remedy}</p></section>`)}
${failed.map((group) => groupSection(group, domain_id, { mayEdit, isKnown: false }))}
${acknowledged.length > 0 ? html`<details class="panel" ${note ? "open" : ""}><summary><h2>Acknowledged (${known})</h2></summary><div class="stack">${acknowledged.map((group) => groupSection(group, domain_id, { mayEdit, isKnown: true }))}</div></details>` : ""}`,
  });
}

interface GroupShown {
  readonly mayEdit: boolean;
  readonly isKnown: boolean;
}

const STEP_WORDS = {
  download: "could not be fetched",
  process: "could not be read",
  embed: "could not be indexed",
} as const;

function groupSection({ group, step, reason, remedy, count, items }: Group, domainId: string, shown: GroupShown): Html {
  const title = `${plural(count, "item")} ${STEP_WORDS[step]}`;
  const [first, rest] = [items.slice(0, SHOWN), items.slice(SHOWN, LISTED)];
  return html`<section class="${shown.isKnown ? "stack" : "panel stack"}" aria-label="${title}: ${reason}">
${shown.isKnown ? html`<h3>${title}</h3>` : html`<h2>${title}</h2>`}
<p class="notice ${shown.isKnown ? "idle" : "bad"}"><bdi>${shownName(asSentence(reason))}</bdi></p>
<p><strong>What to do:</strong> ${remedy}</p>
${itemTable(first, title, reason, domainId, shown)}
${rest.length > 0 ? html`<details><summary>${rest.length} more</summary>${itemTable(rest, `${title}, more`, reason, domainId, shown)}</details>` : ""}
${count > LISTED ? html`<p class="quiet">The first ${LISTED} are shown; the list as JSON has all.</p>` : ""}
${shown.mayEdit && count > 1 ? html`<div class="actions">${verb(domainId, { group }, shown, `all ${count}`)}</div>` : ""}</section>`;
}

function itemTable(items: readonly Item[], title: string, reason: string, domainId: string, shown: GroupShown): Html {
  const rows = items.map((item) => {
    const href = webAddress(item.url);
    const name = shownName(item.path || item.name);
    const own = item.reason === reason ? "" : html`<br><span class="quiet"><bdi>${shownName(item.reason)}</bdi></span>`;
    return html`<tr><th scope="row">${href ? html`<a href="${href}" rel="noopener noreferrer"><bdi>${name}</bdi></a>` : html`<bdi>${name}</bdi>`}${own}</th>
<td data-label="Source"><div><code>${item.source_id}</code></div></td>
<td data-label="Search"><div>${item.searchable ? "shows it as it was before" : "does not find it"}</div></td>
${shown.isKnown ? html`<td data-label="Acknowledged"><div>${shownTime(item.acknowledged_utc)}</div></td>` : ""}
<td data-label="Actions"><div class="row-actions"><a class="button small" href="/v2/search/explain?${new URLSearchParams({ domain_id: domainId, document: item.item_id, query: item.name, format: "html" })}">Explain<span class="visually-hidden"> ${name}</span></a>${shown.mayEdit ? verb(domainId, { item: item.item_id, source_id: item.source_id }, shown, name) : ""}</div></td></tr>`;
  });
  return html`<div class="panel flush scroll-x as-cards" tabindex="0" role="group" aria-label="${title}"><table class="rows">
<thead><tr><th scope="col">Item</th><th scope="col">Source</th><th scope="col">Search</th>${shown.isKnown ? html`<th scope="col">Acknowledged</th>` : ""}<th scope="col">Actions</th></tr></thead><tbody>${rows}</tbody></table></div>`;
}

function verb(domainId: string, which: Readonly<Record<string, string>>, { isKnown }: GroupShown, name: string): Html {
  const query = new URLSearchParams({
    domain_id: domainId,
    ...which,
    ...(isKnown && { withdraw: "true" }),
    format: "html",
  });
  const words = isKnown ? "Make new again" : "Acknowledge";
  const isAll = "group" in which;
  return html`<form action="${PATH}/acknowledge?${query}" method="post"><button class="small">${words}${isAll ? ` ${name}` : html`<span class="visually-hidden"> ${name}</span>`}</button></form>`;
}
