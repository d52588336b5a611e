import { html } from "hono/html";
import type { App } from "../../app/app.ts";
import type { Domain } from "../../contracts/domain.ts";
import type { DomainId } from "../../contracts/ids.ts";
import { INGEST_STATUSES, type IngestStatus, type RegistrySummary } from "../../contracts/registry.ts";
import { REGISTERED_SOURCE } from "../../engine/ingest/ingest.ts";
import type { HeldBack, ShownSummary } from "../../engine/ingest/shown-items.ts";
import { plural, sayBytes } from "../../lib/text.ts";
import type { ItemsQuery } from "../endpoints/ingest-endpoints.ts";
import type { ItemJson, ItemViewJson, SummaryJson } from "../endpoints/item-codec.ts";
import type { Answer } from "../routing/endpoint.ts";
import { shownName, shownTime, webAddress } from "./display.ts";
import { type Frame, type Html, layout, mayChange } from "./layout.ts";
import { addressWith, type Column, pagedTable } from "./paged-table.ts";
import { imageGallery } from "./search-pages.ts";

/** Renders `/v2/ingest/items?format=ui`: every known address and its state. */
export async function ingestPage(
  app: App,
  { data, page }: Answer<readonly ItemJson[]>,
  args: ItemsQuery,
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

/** Renders `/v2/ingest/status?format=html`. */
export function ingestStatusPage(data: SummaryJson, domainId: string | undefined, frame: Frame): Html {
  const { itemCount, byStatus, heldBack } = data;
  const list = `/v2/ingest/items?${new URLSearchParams({ format: "ui", ...(domainId && { domain_id: domainId }) })}`;
  const states = INGEST_STATUSES.filter((value) => byStatus[value] > 0);
  return layout({
    frame,
    title: "State of the registry · lockstep",
    body: html`<header class="page-head"><h1>State of the registry</h1>${domainId ? html`<p class="quiet">of <bdi>${domainId}</bdi></p>` : ""}</header>
<section class="panel stack" aria-label="State">
<p><strong>${plural(itemCount, "address is", "addresses are")} known.</strong> <a href="${list}">All addresses</a></p>
${states.length > 0 ? html`<dl class="figures">${states.map((value) => html`<div><dt>${STATUS_WORDS[value].word}</dt><dd>${byStatus[value]}</dd></div>`)}</dl>` : ""}
${standing(data)}
${heldBack.map(({ domain_id, shownGeneration: shown, newestGeneration: newest }) => html`<p class="notice warn"><span>${sayHeldBack({ domainId: domain_id, shown, newest })}</span></p>`)}
</section>`,
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
  readonly args: ItemsQuery;
  readonly summary: ShownSummary;
  readonly domains: readonly Domain[];
}

function registry({ data, page, args, summary, domains }: Shown, frame: Frame): Html {
  const isHeldBack = summary.heldBack.length > 0;
  const unsettled = summary.byStatus.Pending + (isHeldBack ? 0 : summary.byStatus.Crawled) + summary.due > 0;
  return html`<section id="registry" class="stack" data-refresh ${unsettled ? "data-unsettled" : ""} aria-label="Registry">
${standing(summary)}
${summary.heldBack.map((one) => html`<p class="notice warn"><span>${sayHeldBack(one)}</span></p>`)}
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
  filters: domainChoice(domains, args),
  filterParameters: ["domain_id"],
})}
</section>`;
}

type LastDay = Pick<RegistrySummary, "due" | "oldestDue" | "checkedLastDay" | "changedLastDay" | "failedLastDay">;

function standing({ due, oldestDue, checkedLastDay, changedLastDay, failedLastDay }: LastDay): Html {
  const lastDay =
    checkedLastDay === 0
      ? "Nothing was looked at in the last 24 hours."
      : `In the last 24 hours ${plural(checkedLastDay, "address was", "addresses were")} looked at: ${changedLastDay} changed, ${failedLastDay} failed.`;
  const waiting = due === 0 ? "Nothing is due." : html`${plural(due, "is", "are")} due, since ${shownTime(oldestDue)}.`;
  return html`<p class="quiet">${lastDay} ${waiting}</p>`;
}

function sayHeldBack({ domainId, shown, newest }: HeldBack): Html {
  if (newest === 0) return html`The vector store of <code>${domainId}</code> is gone: nothing of it is indexed.`;
  const address = `/v2/domains/generations?${new URLSearchParams({ domain_id: domainId, format: "html" })}`;
  return html`<code>${domainId}</code> is rolled back to <a href="${address}">generation ${shown} of ${newest}</a>: what came later counts as crawled until it is released.`;
}

/** A click filters the table by the state; a second click shows all. */
function statusChips({ byStatus, total }: RegistrySummary, { status }: ItemsQuery, frame: Frame): Html {
  const shown = INGEST_STATUSES.filter((value) => byStatus[value] > 0 || value === status);
  return html`<nav aria-label="States"><ul class="plan-counts">
<li><a href="${addressWith(frame, { status: "", offset: "" })}" ${status === undefined ? html`aria-current="true"` : ""}><strong>${total}</strong> all</a></li>
${shown.map((value) => {
  const { tone, word, meaning } = STATUS_WORDS[value];
  const address = addressWith(frame, { status: value === status ? "" : value, offset: "" });
  return html`<li><a class="${tone}" href="${address}" title="${meaning}" ${value === status ? html`aria-current="true"` : ""}><strong>${byStatus[value]}</strong> ${word.toLowerCase()}</a></li>`;
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

/** Pages of a web site are visited when the site is crawled. */
function nextCheck({ watched, nextCrawlAt, status }: ItemJson): Html {
  if (!watched) return html`<span class="none">with its site</span>`;
  return status === "Gone" ? html`<span class="none">–</span>` : timeOrNever(nextCrawlAt);
}

function timeOrNever(instant: string): Html {
  return instant === "" ? html`<span class="none">never</span>` : shownTime(instant);
}

function domainChoice(domains: readonly Domain[], { domain_id }: ItemsQuery): Html {
  return html`<label><span class="visually-hidden">Domain</span><select id="items-domain" name="domain_id"><option value="">All domains</option>${domains.map(({ domainId, name }) => html`<option value="${domainId}" ${domainId === domain_id ? "selected" : ""}>${name || domainId}</option>`)}</select></label>`;
}

/** While the user types, the script shows the normalized address; nothing is fetched for that. */
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

/** Renders one item of the registry: its state, where it is indexed, and its history. */
export function ingestItemPage(item: ItemViewJson, frame: Frame): Html {
  const { tone, word, meaning } = STATUS_WORDS[item.status];
  const href = webAddress(item.normalizedSource);
  const name = shownName(item.displaySource);
  return layout({
    frame,
    title: `${shownName(item.title) || name} · lockstep`,
    modules: ["ingest.js"],
    body: html`<header class="page-head"><h1><bdi>${shownName(item.title) || name}</bdi></h1>
<div class="actions">${mayChange(frame, "operate") ? forceForm(item.id, item.displaySource) : ""}${href ? html`<a class="button small" href="${href}" target="_blank" rel="noopener noreferrer">Open the page</a>` : ""}</div>
<p class="quiet">${item.title ? html`<bdi>${name}</bdi> · ` : ""}<code>${item.id}</code></p></header>
<div id="item" class="stack" data-refresh ${isUnsettled(item) ? "data-unsettled" : ""}>
<section class="panel stack" aria-label="How it stands">
<p><span class="pill ${tone}">${word}</span> ${item.aliasOf ? html`This address leads to <a href="${itemAddress(item.aliasOf)}">${item.aliasOf}</a>, which is looked at in its place.` : meaning}</p>
${item.errorMessage ? html`<p class="notice bad"><bdi>${shownName(item.errorMessage)}</bdi></p>` : ""}
${isForced(item) ? html`<p class="notice busy">Somebody asked for it to be indexed again; it is queued.</p>` : ""}
<dl class="figures">${figures(item)}</dl></section>
${members(item, frame)}
${item.images.length > 0 ? html`<section class="panel stack" aria-labelledby="pictures-title"><h2 id="pictures-title">Pictures</h2>${imageGallery(item.images)}</section>` : ""}
<section class="panel stack" aria-labelledby="history-title"><h2 id="history-title">History</h2>${timeline(item)}</section>
<details class="panel"><summary><h2>What the server said</h2></summary><dl class="figures">${details(item)}</dl></details>
</div>
<p><a href="/v2/ingest/items?format=ui">All addresses</a></p>`,
  });
}

function isForced({ reindexGeneration, processedGeneration }: ItemViewJson): boolean {
  return reindexGeneration > processedGeneration;
}

/** The item is about to change: the page reloads by itself. */
function isUnsettled(item: ItemViewJson): boolean {
  return item.status === "Pending" || item.status === "Crawled" || isForced(item);
}

function figures(item: ItemViewJson): Html[] {
  const next = item.watched
    ? html`${timeOr(item.nextCrawlAt, "never")}${item.crawlIntervalSeconds > 0 ? html`<br><span class="quiet">${sayInterval(item.crawlIntervalSeconds)}</span>` : ""}`
    : html`when its site is crawled`;
  return [
    figure("Next check", next),
    figure("Last checked", timeOr(item.lastChecked, "never")),
    figure("Last change", timeOr(item.lastChanged, "never")),
    figure("Last indexed", timeOr(item.lastIndexed, "never")),
    figure("Known since", timeOr(item.firstSeen, "–")),
    figure("Looked at", html`${plural(item.crawlAttempts, "time")}`),
  ];
}

function details(item: ItemViewJson): Html[] {
  const shown: readonly (readonly [string, string | number])[] = [
    ["Answer", item.httpStatusCode || ""],
    ["Media type", item.mimeType],
    ["Size", item.httpContentLength > 0 ? sayBytes(item.httpContentLength) : ""],
    ["Language", item.language],
    ["ETag", item.httpEtag],
    ["Last-Modified", item.httpLastModified],
    ["Canonical address", item.httpCanonicalUrl],
    ["Came by", item.httpRedirectChain.join(" → ")],
    ["robots.txt", item.httpRobotsAllowed ? "allows it" : "forbids it"],
    ["Known as", item.normalizedSource],
    ["Group", item.contentGroupId],
    ["Content hash", item.contentHash],
  ];
  return shown.flatMap(([name, value]) =>
    value === "" ? [] : [figure(name, html`<bdi>${shownName(String(value))}</bdi>`)],
  );
}

function figure(name: string, value: Html): Html {
  return html`<div><dt>${name}</dt><dd>${value}</dd></div>`;
}

function timeOr(instant: string, words: string): Html {
  return instant === "" ? html`${words}` : shownTime(instant);
}

function members({ id, members: all, status }: ItemViewJson, frame: Frame): Html {
  if (all.length === 0)
    return html`<p class="notice">It belongs to no domain${status === "Gone" ? " any more" : ""}.</p>`;
  return html`<section class="stack" aria-labelledby="members-title"><h2 id="members-title">Where it is</h2>
<div class="panel flush scroll-x as-cards" tabindex="0" role="group" aria-label="Where it is"><table class="rows">
<thead><tr><th scope="col">Domain</th><th scope="col">Source</th><th scope="col">Indexed</th><th scope="col">Document</th><th scope="col">Actions</th></tr></thead>
<tbody>${all.map(
    ({ domain_id, source_id, lastIndexed, lastIndexedDocId }) =>
      html`<tr><th scope="row"><a href="/v2/search?format=ui&amp;domain_id=${domain_id}&amp;source_id=${source_id}">${domain_id}</a></th><td data-label="Source"><div><code>${source_id}</code></div></td><td data-label="Indexed"><div>${timeOr(lastIndexed, "not yet")}</div></td><td data-label="Document"><div>${lastIndexedDocId ? html`<code>${lastIndexedDocId}</code>` : html`<span class="none">–</span>`}</div></td><td data-label="Actions"><div>${source_id === REGISTERED_SOURCE && mayChange(frame, "operate") ? takeOutForm(id, domain_id) : html`<span class="none">–</span>`}</div></td></tr>`,
  )}</tbody></table></div></section>`;
}

/** Only for registered addresses: pages of a web site are excluded by the rules of the site. */
function takeOutForm(id: string, domainId: string): Html {
  return html`<form action="/v2/ingest/items/delete" method="get" data-delete="/v2/ingest/items?format=ui"><input type="hidden" name="item_id" value="${id}"><input type="hidden" name="domain_id" value="${domainId}"><input type="hidden" name="format" value="html"><button class="small danger">Take out<span class="visually-hidden"> of ${domainId}</span></button><p class="form-error" role="alert" hidden></p></form>`;
}

/** Newest first. */
function timeline({ history }: ItemViewJson): Html {
  if (history.length === 0) return html`<p class="quiet">Nothing has happened to it yet.</p>`;
  return html`<ol class="timeline">${history
    .toReversed()
    .map(
      ({ at, event, detail }) =>
        html`<li class="${eventTone(event)}"><p><strong>${event}</strong> <span class="quiet">${shownTime(at)}</span></p>${detail ? html`<p><bdi>${shownName(detail)}</bdi></p>` : ""}</li>`,
    )}</ol>`;
}

/** Without its script the form calls the function of the same name and shows the response as it is. */
function forceForm(id: string, name: string): Html {
  return html`<form action="/api/ReindexItem" method="post" data-force><input type="hidden" name="id" value="${id}"><button class="small" id="force-${id}">Force<span class="visually-hidden"> ${name} to be indexed again</span></button><p class="form-error" role="alert" hidden></p></form>`;
}

/** How pages show each status, and what it means. */
const STATUS_WORDS: Readonly<
  Record<IngestStatus, { readonly tone: string; readonly word: string; readonly meaning: string }>
> = {
  Pending: { tone: "busy", word: "Pending", meaning: "It was not fetched yet." },
  Crawled: { tone: "busy", word: "Crawled", meaning: "Its document is here; readers are not shown it yet." },
  Indexed: { tone: "good", word: "Indexed", meaning: "Search finds it as it was last seen." },
  Error: {
    tone: "bad",
    word: "Error",
    meaning: "The last check failed; its indexed content stays, and it is tried again.",
  },
  OutOfScope: {
    tone: "idle",
    word: "Out of scope",
    meaning: "It must not or cannot be indexed, as its last event says; or the address is another item's.",
  },
  Gone: { tone: "warn", word: "Gone", meaning: "The server said several times that it does not exist any more." },
};

const EVENT_TONES: Readonly<Record<string, string>> = {
  changed: "good",
  new: "good",
  restored: "good",
  indexed: "good",
  failed: "bad",
  gone: "warn",
  missing: "warn",
  refused: "warn",
};

function eventTone(event: string): string {
  return EVENT_TONES[event] ?? "idle";
}

function itemAddress(id: string): string {
  return `/v2/ingest/items/get?item_id=${encodeURIComponent(id)}&format=html`;
}

/** Returns "every 3 days". */
function sayInterval(seconds: number): string {
  const units = [
    [86_400, "day"],
    [3600, "hour"],
    [60, "minute"],
  ] as const;
  const [size, name] = units.find(([unit]) => seconds >= unit && seconds % unit === 0) ?? [1, "second"];
  const count = seconds / size;
  return count === 1 ? `every ${name}` : `every ${count.toLocaleString("en")} ${name}s`;
}
