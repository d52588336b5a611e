import { html } from "hono/html";
import type { ReportRow } from "../endpoints/report-endpoints.ts";
import type { Answer } from "../routing/endpoint.ts";
import type { Listing } from "../routing/listing.ts";
import { type Frame, type Html, layout } from "./layout.ts";
import { type Column, pagedTable } from "./paged-table.ts";
import { countOf, reportAddress, sayItems } from "./report-words.ts";
import { shownTime } from "./shown-time.ts";
import { textOf } from "./text-of.ts";

interface ReportWish extends Listing {
  readonly type: string | undefined;
  readonly domain_id: string | undefined;
}

export function reportListPage(
  { data, page }: Answer<readonly ReportRow[]>,
  wish: ReportWish,
  domainIds: readonly string[],
  frame: Frame,
): Html {
  const of = wish.domain_id ? ` of ${wish.domain_id}` : "";
  return layout({
    frame,
    title: `Reports${of} · lockstep`,
    body: html`<header class="page-head"><h1>Reports${of}</h1>
<p class="quiet">What finished crawls left for looking back: the outcome of every source, and the map files as they were.</p></header>
${pagedTable({
  id: "reports",
  caption: `Reports${of}`,
  columns: COLUMNS,
  rows: data,
  listing: wish,
  page,
  empty: wish.filter ? "No report matches." : "No reports yet: every finished crawl leaves one.",
  frame,
  wishes: domainWish(domainIds, wish.domain_id),
  wished: ["domain_id"],
})}`,
  });
}

/** A domain that is gone may have left reports. */
function domainWish(domainIds: readonly string[], chosen: string | undefined): Html {
  const ids = chosen === undefined || domainIds.includes(chosen) ? domainIds : [chosen, ...domainIds];
  return html`<label><span>Domain</span><select name="domain_id"><option value="">All</option>${ids.map(
    (id) => html`<option value="${id}" ${id === chosen ? "selected" : ""}>${id}</option>`,
  )}</select></label>`;
}

const COLUMNS: readonly Column<ReportRow>[] = [
  {
    sort: "created_utc",
    title: "Created",
    cell: (report) =>
      html`<a href="${reportAddress("get", report["report_id"])}&amp;format=html">${shownTime(textOf(report["created_utc"]))}</a>`,
  },
  { sort: "domain_id", title: "Domain", cell: (report) => domainLink(textOf(report["domain_id"])) },
  {
    title: "Crawl",
    cell: ({ scope, mode }) => (mode ? html`${textOf(mode)}, ${textOf(scope)}` : html`<span class="none">–</span>`),
  },
  { sort: "ok", title: "Outcome", cell: outcome },
  { sort: "items_total", title: "Items", align: "end", cell: (report) => countOf(report, "items_total") },
  { sort: "items_failed", title: "Failed", align: "end", cell: (report) => countOf(report, "items_failed") },
  { title: "Actions", cell: actions },
];

function actions(report: ReportRow): Html {
  const of = html`<span class="visually-hidden"> the report of ${textOf(report["created_utc"])}</span>`;
  const view = `${reportAddress("get", report["report_id"])}&format=html`;
  return html`<div class="row-actions"><a class="button small" href="${view}">View${of}</a><a class="button small" href="${reportAddress("download", report["report_id"])}">Download${of}</a><a class="button small danger" href="${view}#delete">Delete${of}</a></div>`;
}

function domainLink(domainId: string): Html {
  if (domainId === "") return html`<span class="none">–</span>`;
  return html`<a href="/v2/reports?domain_id=${encodeURIComponent(domainId)}&amp;format=ui"><bdi>${domainId}</bdi></a>`;
}

function outcome(report: ReportRow): Html {
  const good = report["ok"] === true;
  const error = textOf(report["error"]);
  return html`<span class="pill ${good ? "good" : "bad"}">${good ? "ok" : "problems"}</span> ${sayItems(report)}${error ? html`<br><bdi class="error">${error}</bdi>` : ""}`;
}
