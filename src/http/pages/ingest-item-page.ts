import { html } from "hono/html";
import { REGISTERED_SOURCE } from "../../engine/ingest/ingest.ts";
import { plural } from "../../lib/plural.ts";
import { sayBytes } from "../../lib/say-bytes.ts";
import type { ItemViewJson } from "../endpoints/item-codec.ts";
import { forceForm } from "./force-form.ts";
import { imageGallery } from "./image-gallery.ts";
import { eventTone, itemAddress, STATUS_WORDS, sayInterval } from "./ingest-words.ts";
import { type Frame, type Html, layout } from "./layout.ts";
import { mayChange } from "./may-change.ts";
import { shownName } from "./shown-name.ts";
import { shownTime } from "./shown-time.ts";
import { webAddress } from "./web-address.ts";

/** One item of the registry: how it stands, where it is indexed, and what happened to it. */
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

/** Something is about to happen to it: the page looks again by itself. */
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
<div class="panel flush scroll-x as-cards" tabindex="0" role="region" aria-label="Where it is"><table class="rows">
<thead><tr><th scope="col">Domain</th><th scope="col">Source</th><th scope="col">Indexed</th><th scope="col">Document</th><th scope="col">Actions</th></tr></thead>
<tbody>${all.map(
    ({ domain_id, source_id, lastIndexed, lastIndexedDocId }) =>
      html`<tr><th scope="row"><a href="/v2/search?format=ui&amp;domain_id=${domain_id}&amp;source_id=${source_id}">${domain_id}</a></th><td data-label="Source"><div><code>${source_id}</code></div></td><td data-label="Indexed"><div>${timeOr(lastIndexed, "not yet")}</div></td><td data-label="Document"><div>${lastIndexedDocId ? html`<code>${lastIndexedDocId}</code>` : html`<span class="none">–</span>`}</div></td><td data-label="Actions"><div>${source_id === REGISTERED_SOURCE && mayChange(frame, "operate") ? takeOutForm(id, domain_id) : html`<span class="none">–</span>`}</div></td></tr>`,
  )}</tbody></table></div></section>`;
}

/** Pages of a web site are left out by the rules of that site instead. */
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
