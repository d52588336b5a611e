import { html } from "hono/html";
import type { App } from "../../app/app.ts";
import type { Domain } from "../../contracts/domain.ts";
import type { DomainId } from "../../contracts/ids.ts";
import { INGEST_STATUSES, type RegistrySummary } from "../../contracts/registry.ts";
import { plural } from "../../lib/plural.ts";
import type { ItemWishes } from "../endpoints/ingest-items.ts";
import type { ItemJson } from "../endpoints/item-codec.ts";
import type { Answer } from "../routing/endpoint.ts";
import { forceForm } from "./force-form.ts";
import { itemAddress, STATUS_WORDS } from "./ingest-words.ts";
import { type Frame, type Html, layout } from "./layout.ts";
import { mayChange } from "./may-change.ts";
import { addressWith, type Column, pagedTable } from "./paged-table.ts";
import { shownName } from "./shown-name.ts";
import { shownTime } from "./shown-time.ts";

/** `/v2/ingest/items?format=ui`: every address that is known, and how it stands. */
export async function ingestPage(
  app: App,
  { data, page }: Answer<readonly ItemJson[]>,
  args: ItemWishes,
  frame: Frame,
): Promise<Awaited<Html>> {
  const [summary, { domains }] = await Promise.all([app.ingest.summary(args.domain_id), app.domains.list()]);
  const isEmpty = summary.total === 0 && args.domain_id === undefined;
  return await layout({
    frame,
    title: "Web · lockstep",
    modules: ["ingest.js"],
    body: html`<header class="page-head"><h1>Web</h1><p class="lede">Every address that was added here or met by the crawl of a web site, under one identity. Each is asked again when it is due, and indexed again only when it changed.</p></header>
${mayChange(frame, "operate") ? addUrlForm(domains, app.config.web.defaultDomain, { open: isEmpty }) : ""}
${isEmpty ? emptyRegistry(frame) : registry({ data, page, args, summary, domains }, frame)}`,
  });
}

function emptyRegistry(frame: Frame): Html {
  return html`<div class="empty"><strong>No address is known yet.</strong><p>${
    mayChange(frame, "operate")
      ? "Add a single address above, or give a domain a web site as a source and crawl it."
      : "Addresses appear here once somebody adds one, or crawls a web site."
  }</p><a class="button" href="/v2/domains?format=ui">Domains</a></div>`;
}

interface Shown {
  readonly data: readonly ItemJson[];
  readonly page: Answer<unknown>["page"];
  readonly args: ItemWishes;
  readonly summary: RegistrySummary;
  readonly domains: readonly Domain[];
}

function registry({ data, page, args, summary, domains }: Shown, frame: Frame): Html {
  const unsettled = summary.byStatus.Pending + summary.byStatus.Crawled + summary.due > 0;
  return html`<section id="registry" class="stack" data-refresh ${unsettled ? "data-unsettled" : ""} aria-label="Registry">
${standing(summary)}
${statusChips(summary, args, frame)}
${pagedTable({
  id: "items",
  caption: "Addresses",
  columns: mayChange(frame, "operate") ? [...COLUMNS, FORCE] : COLUMNS,
  rows: data,
  listing: args,
  page,
  empty: "Nothing of that kind.",
  frame,
  wishes: domainChoice(domains, args),
  wished: ["domain_id"],
})}
</section>`;
}

function standing({ due, oldestDue, checkedLastDay, changedLastDay, failedLastDay }: RegistrySummary): Html {
  const lastDay =
    checkedLastDay === 0
      ? "Nothing was looked at in the last 24 hours."
      : `In the last 24 hours ${plural(checkedLastDay, "address was", "addresses were")} looked at: ${changedLastDay} changed, ${failedLastDay} failed.`;
  const waiting = due === 0 ? "Nothing is due." : html`${plural(due, "is", "are")} due, since ${shownTime(oldestDue)}.`;
  return html`<p class="quiet">${lastDay} ${waiting}</p>`;
}

/** Each narrows the table to itself, and once more shows all. */
function statusChips({ byStatus, total }: RegistrySummary, { status }: ItemWishes, frame: Frame): Html {
  const shown = INGEST_STATUSES.filter((one) => byStatus[one] > 0 || one === status);
  return html`<nav aria-label="States"><ul class="plan-counts">
<li><a href="${addressWith(frame, { status: "", offset: "" })}" ${status === undefined ? html`aria-current="true"` : ""}><strong>${total}</strong> all</a></li>
${shown.map((one) => {
  const { tone, word, meaning } = STATUS_WORDS[one];
  const address = addressWith(frame, { status: one === status ? "" : one, offset: "" });
  return html`<li><a class="${tone}" href="${address}" title="${meaning}" ${one === status ? html`aria-current="true"` : ""}><strong>${byStatus[one]}</strong> ${word.toLowerCase()}</a></li>`;
})}</ul></nav>`;
}

const COLUMNS: readonly Column<ItemJson>[] = [
  { sort: "displaySource", title: "Address", cell: addressCell },
  {
    sort: "status",
    title: "State",
    cell: ({ status, errorMessage, aliasOf }) =>
      html`<span class="pill ${STATUS_WORDS[status].tone}">${STATUS_WORDS[status].word}</span>${aliasOf ? html`<div class="outcome"><a href="${itemAddress(aliasOf)}">leads to another address</a></div>` : ""}${errorMessage ? html`<div class="outcome error"><bdi>${shownName(errorMessage)}</bdi></div>` : ""}`,
  },
  { sort: "nextCrawlAt", title: "Next check", cell: nextCheck },
  { sort: "lastChanged", title: "Last change", cell: ({ lastChanged }) => timeOrNever(lastChanged) },
  { sort: "lastChecked", title: "Last checked", cell: ({ lastChecked }) => timeOrNever(lastChecked) },
];

const FORCE: Column<ItemJson> = {
  title: "Actions",
  cell: ({ id, displaySource }) => html`<div class="row-actions">${forceForm(id, displaySource)}</div>`,
};

function addressCell({ id, displaySource, title }: ItemJson): Html {
  return html`<a href="${itemAddress(id)}"><bdi>${shownName(displaySource)}</bdi></a>${title ? html`<br><span class="quiet"><bdi>${shownName(title)}</bdi></span>` : ""}`;
}

/** Pages of a web site are looked at when it is crawled. */
function nextCheck({ watched, nextCrawlAt, status }: ItemJson): Html {
  if (!watched) return html`<span class="none">with its site</span>`;
  return status === "Gone" ? html`<span class="none">–</span>` : timeOrNever(nextCrawlAt);
}

function timeOrNever(instant: string): Html {
  return instant === "" ? html`<span class="none">never</span>` : shownTime(instant);
}

function domainChoice(domains: readonly Domain[], { domain_id }: ItemWishes): Html {
  return html`<label><span class="visually-hidden">Domain</span><select id="items-domain" name="domain_id"><option value="">All domains</option>${domains.map(({ domainId, name }) => html`<option value="${domainId}" ${domainId === domain_id ? "selected" : ""}>${name || domainId}</option>`)}</select></label>`;
}

/** Its module shows, while somebody types, under what the address will be known; nothing is fetched for that. */
function addUrlForm(domains: readonly Domain[], defaultDomain: DomainId, { open }: { readonly open: boolean }): Html {
  const others = domains.filter(({ domainId }) => domainId !== defaultDomain);
  return html`<details class="panel" ${open ? "open" : ""}><summary><h2>Add an address</h2></summary>
<form class="stack" action="/v2/ingest/items/create?format=html" method="post" data-add-url>
<div class="field"><label><span>Address</span><input type="url" name="url" required maxlength="2000" placeholder="https://docs.example.com/guide" autocomplete="off" spellcheck="false" aria-describedby="add-preview"></label>
<small id="add-preview" data-part="preview" role="status">A page, a PDF, a Markdown file: whatever an address answers with.</small></div>
<div class="fields">
<div class="field"><label><span>Title</span><input type="text" name="title" maxlength="500" autocomplete="off" aria-describedby="add-title-hint"></label><small id="add-title-hint">Empty: what the page calls itself.</small></div>
<div class="field"><label><span>Domain</span><select name="domain_id" aria-describedby="add-domain-hint"><option value="${defaultDomain}">${nameOf(domains, defaultDomain)}</option>${others.map(({ domainId, name }) => html`<option value="${domainId}">${name || domainId}</option>`)}</select></label><small id="add-domain-hint">Where it is searched.</small></div>
</div>
<div class="checks"><label class="check"><input type="checkbox" name="include_images" value="true"><span>Keep its pictures, too</span></label></div>
<div class="form-end"><button class="primary">Add</button><p class="form-error" role="alert" hidden></p></div>
</form></details>`;
}

function nameOf(domains: readonly Domain[], id: DomainId): string {
  const known = domains.find(({ domainId }) => domainId === id);
  return known ? known.name || id : `${id} (created with the first address)`;
}
