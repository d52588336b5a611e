import { html } from "hono/html";
import type { ShownChange } from "../endpoints/audit-endpoints.ts";
import type { Answer } from "../routing/endpoint.ts";
import { shownTime } from "./display.ts";
import { type Frame, type Html, layout } from "./layout.ts";
import { pagedTable } from "./paged-table.ts";

interface AuditArguments {
  readonly limit: number;
  readonly offset: number;
  readonly filter: string;
}

export function auditPage(
  { data, page }: Answer<readonly ShownChange[]>,
  { limit, offset, filter }: AuditArguments,
  frame: Frame,
): Html {
  return layout({
    frame,
    title: "Audit · lockstep",
    body: html`<header class="page-head"><h1>Audit</h1>
<p class="lede">Who changed what, newest first: also what was refused, and who signed in. 13 months are kept.</p></header>
${pagedTable<ShownChange>({
  id: "audit",
  caption: "Changes",
  columns: [
    { title: "When", cell: ({ utc }) => html`<span class="nowrap">${shownTime(utc)}</span>` },
    { title: "Who", cell: ({ who }) => html`<bdi>${who}</bdi>` },
    { title: "From", cell: ({ from }) => html`<span class="nowrap">${from}</span>` },
    { title: "Action", cell: ({ action }) => html`<code>${action}</code>` },
    { title: "With", cell: ({ what }) => withWhat(what) },
    { title: "Outcome", cell: shownOutcome },
  ],
  rows: data,
  listing: { limit, offset, sort: undefined, filter },
  page,
  empty: filter === "" ? "Nothing was changed yet." : "Nothing matches the filter.",
  frame,
})}`,
  });
}

const TONES: Readonly<Record<ShownChange["outcome"], string>> = { done: "good", failed: "bad", unfinished: "warn" };

function shownOutcome({ outcome, error }: ShownChange): Html {
  return html`<span class="pill ${TONES[outcome]}">${outcome}</span>${error === "" ? "" : html` ${error}`}`;
}

function withWhat(what: ShownChange["what"]): Html {
  const parts = Object.entries(what).map(([name, value]) => {
    const shown = typeof value === "string" ? value : JSON.stringify(value);
    return `${name}: ${shown.length > 80 ? `${shown.slice(0, 80)}…` : shown}`;
  });
  return html`<bdi>${parts.join(", ")}</bdi>`;
}
