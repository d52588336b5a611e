import { html } from "hono/html";
import { type Frame, type Html, layout } from "./layout.ts";
import { mayChange } from "./may-change.ts";
import { shownName } from "./shown-name.ts";
import { shownTime } from "./shown-time.ts";

/** As the endpoint tells them. */
export interface ShownGenerations {
  readonly active: number;
  readonly pinned: boolean;
  /** Newest first. */
  readonly generations: readonly ShownGeneration[];
}

interface ShownGeneration {
  readonly generation: number;
  readonly active: boolean;
  readonly committed_utc: string;
  readonly domain_id: string;
  readonly source_id: string;
  /** The job, a blank, and when it began; "" when it is not known. */
  readonly crawl: string;
  /** A state between two sources of one crawl. */
  readonly intermediate: boolean;
  readonly added: number;
  readonly removed: number;
  readonly visible: boolean;
}

export interface ShownDifference {
  readonly from: number;
  readonly to: number;
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

/** What readers of a domain see, what they saw before, and the way back. */
export function generationsPage(data: ShownGenerations, domainId: string, frame: Frame): Html {
  const { generations, pinned, active } = data;
  return page(
    "Generations",
    domainId,
    html`${
      pinned
        ? html`<div class="notice warn"><p>Rolled back: readers see generation ${active}. Crawls download and process, but change nothing for readers until it is released; then the next crawl brings the domain in step again.</p>${mayChange(frame, "operate") ? release(domainId) : ""}</div>`
        : ""
    }
${generations.length === 0 ? html`<div class="empty"><strong>Nothing is kept yet.</strong><p>Each crawl that changes something leaves a generation.</p></div>` : generationTable(data, domainId, frame)}`,
    frame,
  );
}

function generationTable({ generations, active }: ShownGenerations, domainId: string, frame: Frame): Html {
  return html`<div class="panel flush scroll-x as-cards" tabindex="0" role="region" aria-label="Generations"><table class="rows generations">
<thead><tr><th scope="col">Generation</th><th scope="col">Committed</th><th scope="col">Crawl</th><th scope="col">Source</th><th scope="col" class="end">Added</th><th scope="col" class="end">Removed</th><th scope="col">Readers</th><th scope="col">Actions</th></tr></thead>
<tbody>${generations.map((one, at) => {
    const before = generations[at + 1];
    return html`<tr><th scope="row"><span class="on-phones">Generation </span>${one.generation}</th><td data-label="Committed"><div>${shownTime(one.committed_utc)}</div></td><td data-label="Crawl"><div>${crawlOf(one)}</div></td><td data-label="Source"><div><code>${one.source_id}</code></div></td><td class="end" data-label="Added"><div>${one.added}</div></td><td class="end" data-label="Removed"><div>${one.removed}</div></td>
<td data-label="Readers"><div>${seenBy(one)}</div></td>
<td data-label="Actions"><div class="row-actions">${before ? html`<a class="button small" href="${PATH}/difference?domain_id=${domainId}&amp;from=${before.generation}&amp;to=${one.generation}&amp;format=html">What changed<span class="visually-hidden"> in generation ${one.generation}</span></a>` : ""}<a class="button small" href="/v2/search?format=ui&amp;domain_id=${domainId}&amp;generation=${one.generation}">Search it<span class="visually-hidden"> as of generation ${one.generation}</span></a>${one.generation !== active && mayChange(frame, "operate") ? rollback(one, domainId) : ""}</div></td></tr>`;
  })}</tbody></table></div>`;
}

function seenBy({ active, visible }: ShownGeneration): Html {
  if (active) return html`<span class="pill good">see this</span>`;
  return visible ? html`<span class="quiet">saw this</span>` : html`<span class="pill warn">rolled back</span>`;
}

function crawlOf({ crawl, intermediate }: ShownGeneration): Html {
  const [job = ""] = crawl.split(" ");
  return html`${job ? html`<code>${job}</code>` : ""}${intermediate ? html` <span class="pill">between two sources</span>` : ""}`;
}

/** Two steps: it is seen by everybody at once. */
function rollback({ generation, intermediate }: ShownGeneration, domainId: string): Html {
  return html`<details class="inline"><summary class="button small">Roll back to ${generation}</summary>
<form class="notice warn" action="${PATH}/rollback?domain_id=${domainId}&amp;generation=${generation}&amp;format=html" method="post"><p>Everybody sees generation ${generation} at once.${intermediate ? " It is a state between two sources of one crawl, which had not committed everything yet." : ""} Crawls change nothing for readers until you release it.</p><div><button class="danger small">Show readers generation ${generation}</button></div></form></details>`;
}

function release(domainId: string): Html {
  return html`<form action="${PATH}/release?domain_id=${domainId}&amp;format=html" method="post"><button>Release</button></form>`;
}

const TONES: Readonly<Record<string, string>> = { added: "good", changed: "busy", removed: "bad" };

/** What somebody who saw the one sees differently in the other. */
export function differencePage({ from, to, changes, more }: ShownDifference, domainId: string, frame: Frame): Html {
  return page(
    `From generation ${from} to ${to}`,
    domainId,
    html`<p><a href="${PATH}?domain_id=${domainId}&amp;format=html">All generations</a></p>
${changes.length === 0 ? html`<p class="quiet">Readers see the same documents in both.</p>` : ""}
${more ? html`<p class="notice warn">Only the first ${changes.length} are shown.</p>` : ""}
${
  changes.length > 0
    ? html`<div class="panel flush scroll-x as-cards" tabindex="0" role="region" aria-label="Changes"><table class="rows">
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
