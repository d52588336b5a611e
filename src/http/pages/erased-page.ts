import { html } from "hono/html";
import type { ErasedJson, ErasedList, HoldJson } from "../endpoints/erase-endpoints.ts";
import { shownName, shownTime } from "./display.ts";
import { type Frame, type Html, layout, mayChange } from "./layout.ts";

const PATH = "/v2/documents";

/** Renders `/v2/documents/erased?format=html`: what is blocked and what is held, without names. */
export function erasedPage({ erased, holds }: ErasedList, domainId: string, frame: Frame): Html {
  const isAdmin = mayChange(frame, "admin");
  return layout({
    frame,
    title: `Erased and held in ${domainId} · lockstep`,
    body: html`<header class="page-head"><h1>Erased and held</h1><p class="quiet">in <a href="/v2/domains/get?domain_id=${domainId}&amp;format=html"><code>${domainId}</code></a></p>
<p class="lede">What was erased is blocked from being crawled again, and what is held can be neither erased nor purged. Items are known here by ids alone.</p></header>
<section class="stack" aria-labelledby="holds-title"><h2 id="holds-title">Held</h2>${holds.length === 0 ? html`<p class="quiet">Nothing is held.</p>` : holdTable(holds, domainId, isAdmin)}</section>
<section class="stack" aria-labelledby="erased-title"><h2 id="erased-title">Erased</h2>${erased.length === 0 ? html`<p class="quiet">Nothing was erased.</p>` : erasedTable(erased, domainId, isAdmin)}</section>`,
  });
}

function holdTable(holds: readonly HoldJson[], domainId: string, isAdmin: boolean): Html {
  const rows = holds.map(
    ({ source_id, item, reason, by, set_utc }) =>
      html`<tr><th scope="row">${item === "" ? "The whole domain" : html`<code>${item}</code>`}</th><td data-label="Source"><div>${source_id ? html`<code>${source_id}</code>` : html`<span class="none">all</span>`}</div></td><td data-label="Since"><div>${shownTime(set_utc)}<br><span class="quiet">${whoseName(by)}</span></div></td><td data-label="Why"><div>${reasonOf(reason)}</div></td>
<td data-label="Actions"><div class="row-actions">${isAdmin ? liftButton({ source_id, item }, domainId) : html`<span class="none">–</span>`}</div></td></tr>`,
  );
  return html`<div class="panel flush scroll-x as-cards" tabindex="0" role="group" aria-label="What is held"><table class="rows">
<thead><tr><th scope="col">Item</th><th scope="col">Source</th><th scope="col">Since</th><th scope="col">Why</th><th scope="col">Actions</th></tr></thead><tbody>${rows}</tbody></table></div>`;
}

function erasedTable(erased: readonly ErasedJson[], domainId: string, isAdmin: boolean): Html {
  const rows = erased.map(
    ({ item, source_id, started_utc, finished_utc, by, reason }) =>
      html`<tr><th scope="row"><code>${item}</code></th><td data-label="Source"><div><code>${source_id}</code></div></td><td data-label="Erased"><div>${finished_utc ? shownTime(finished_utc) : html`<span class="pill warn">interrupted</span> begun ${shownTime(started_utc)}`}<br><span class="quiet">${whoseName(by)}</span></div></td><td data-label="Why"><div>${reasonOf(reason)}</div></td>
<td data-label="Actions"><div class="row-actions">${isAdmin && finished_utc ? allowButton(item, domainId) : html`<span class="none">–</span>`}</div></td></tr>`,
  );
  const open = erased.filter(({ finished_utc }) => finished_utc === "").length;
  return html`${open > 0 ? html`<p class="notice warn">Erasing was interrupted: something of ${open === 1 ? "an item" : `${open} items`} may still be found. The next crawl or maintenance of the domain finishes it.</p>` : ""}
<div class="panel flush scroll-x as-cards" tabindex="0" role="group" aria-label="What was erased"><table class="rows">
<thead><tr><th scope="col">Item</th><th scope="col">Source</th><th scope="col">Erased</th><th scope="col">Why</th><th scope="col">Actions</th></tr></thead><tbody>${rows}</tbody></table></div>`;
}

function reasonOf(reason: string): Html {
  return reason ? html`<bdi>${shownName(reason)}</bdi>` : html`<span class="none">–</span>`;
}

function liftButton({ source_id, item }: Pick<HoldJson, "source_id" | "item">, domainId: string): Html {
  const which = item === "" ? "" : `&source_id=${encodeURIComponent(source_id)}&item=${encodeURIComponent(item)}`;
  return asked(
    "Lift the hold",
    "It can be erased and purged from then on.",
    `${PATH}/lift_hold?domain_id=${domainId}${which}`,
  );
}

function allowButton(item: string, domainId: string): Html {
  return asked(
    "Allow again",
    "The next crawl takes it if the source still has it.",
    `${PATH}/allow?domain_id=${domainId}&item=${encodeURIComponent(item)}`,
  );
}

/** Two steps. */
function asked(word: string, consequence: string, action: string): Html {
  return html`<details class="inline"><summary class="button small">${word}</summary>
<form class="notice warn" action="${action}&amp;format=html" method="post"><p>${consequence}</p><div><button class="danger small">${word}</button></div></form></details>`;
}

/** Without keys, everybody is `local:local`. */
function whoseName(by: string): string {
  return by === "local:local" ? "somebody on this machine" : shownName(by);
}
