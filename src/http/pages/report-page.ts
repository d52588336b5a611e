import { html } from "hono/html";
import type { SourceKinds } from "../../contracts/source-kind.ts";
import { isJsonObject, type JsonObject } from "../../lib/json-object.ts";
import { plural } from "../../lib/plural.ts";
import { type Frame, type Html, layout } from "./layout.ts";
import { mayChange } from "./may-change.ts";
import { reportTree } from "./report-tree.ts";
import { countOf, fileAddress, reportAddress, sayItems } from "./report-words.ts";
import { shownTime } from "./shown-time.ts";
import { textOf } from "./text-of.ts";

/** One report: how the crawl went, source by source, and the files it keeps. */
export function reportPage(report: Readonly<JsonObject>, frame: Frame): Html {
  const id = textOf(report["report_id"]);
  const title = textOf(report["title"]) || id;
  const error = textOf(report["error"]);
  const good = report["ok"] === true;
  return layout({
    frame,
    title: `${title} · lockstep`,
    body: html`<header class="page-head"><h1><bdi>${title}</bdi></h1>
<div class="actions"><a class="button small" href="${reportAddress("download", id)}">Download zip</a><a class="button small" href="/v2/reports?format=ui">All reports</a></div>
<p class="quiet"><span class="pill ${good ? "good" : "bad"}">${good ? "ok" : "problems"}</span> <code>${id}</code></p></header>
${error ? html`<p class="notice bad"><bdi>${error}</bdi></p>` : ""}
${facts(report)}
<section aria-labelledby="sources-title"><h2 id="sources-title">Sources</h2>${sourcesTable(report, frame.product.kinds)}</section>
<section aria-labelledby="files-title"><h2 id="files-title">Files</h2><div class="panel">${reportTree(report)}</div></section>
${mayChange(frame, "admin") ? deleteForm(id) : ""}`,
  });
}

function facts(report: Readonly<JsonObject>): Html {
  const domain = textOf(report["domain_id"]);
  const job = textOf(report["job_id"]);
  const shown: readonly (readonly [string, Html | string])[] = [
    ["Domain", domain && html`<a href="/v2/domains?format=ui#${domain}"><bdi>${domain}</bdi></a>`],
    ["Crawl", [report["mode"], report["scope"], report["source_id"]].map(textOf).filter(Boolean).join(", ")],
    ["Job", job && html`<a href="/v2/jobs/monitor?job_id=${encodeURIComponent(job)}&amp;format=html">${job}</a>`],
    ["Started", shownTime(textOf(report["started_utc"]))],
    ["Finished", shownTime(textOf(report["finished_utc"]) || textOf(report["created_utc"]))],
  ];
  return html`<dl class="figures panel">${shown
    .filter(([, value]) => value !== "")
    .map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}

const COUNTS = ["total", "added", "changed", "moved", "removed", "failed"];

function sourcesTable(report: Readonly<JsonObject>, kinds: SourceKinds): Html {
  const sources = Array.isArray(report["sources"]) ? report["sources"].filter(isJsonObject) : [];
  if (sources.length === 0) return html`<p class="quiet">It tells of no source.</p>`;
  return html`<div class="panel flush scroll-x as-cards" tabindex="0" role="region" aria-label="Outcome by source"><table class="rows">
<thead><tr><th scope="col">Source</th><th scope="col">Outcome</th>${COUNTS.map((name) => html`<th scope="col" class="end">${countTitle(name)}</th>`)}<th scope="col">Maps</th></tr></thead>
<tbody>${sources.map((source) => sourceRow(source, report["report_id"], kinds))}</tbody></table></div>`;
}

/** It may come from an older or newer version. */
function kindWords(type: string, kinds: SourceKinds): string {
  return kinds.find(type)?.words.name ?? type;
}

function sourceRow(source: Readonly<JsonObject>, reportId: unknown, kinds: SourceKinds): Html {
  const failed = Number(source["items_failed"]) > 0;
  const maps = Array.isArray(source["map_files"]) ? source["map_files"].map(textOf) : [];
  return html`<tr><th scope="row"><code>${textOf(source["source_id"])}</code><br><span class="quiet">${kindWords(textOf(source["source_type"]), kinds)}</span></th>
<td data-label="Outcome"><div>${outcomeOf(source)}</div></td>
${COUNTS.map((name) => html`<td class="end" data-label="${countTitle(name)}"><div>${countOf(source, `items_${name}`)}</div></td>`)}
<td data-label="Maps"><div>${maps.map((path) => html`<a href="${fileAddress(reportId, path)}&amp;format=html">${mapName(path)}</a>${failed ? failedLink(reportId, path) : ""} `)}${earlierMaps(source)}</div></td></tr>`;
}

function outcomeOf(source: Readonly<JsonObject>): Html {
  const error = textOf(source["error"]);
  const problem = problemOf(source, error);
  return html`<span class="pill ${problem ? "bad" : "good"}">${problem || "ok"}</span> ${sayItems(source)}${sayHidden(source)}${error ? html`<br><bdi class="error">${error}</bdi>` : ""}`;
}

function sayHidden(source: Readonly<JsonObject>): string {
  const rows = Number(source["items_hidden"] ?? 0);
  return rows > 0 ? `, ${plural(rows, "row")} not shown to the app` : "";
}

/** "" when all went well, as far as the report tells. */
function problemOf(source: Readonly<JsonObject>, error: string): string {
  if (source["complete"] === false) return "incomplete";
  if (Number(source["items_failed"]) > 0) return "some failed";
  return error ? "problems" : "";
}

/** They did not change since then. */
function earlierMaps(source: Readonly<JsonObject>): Html | "" {
  const id = textOf(source["map_files_in"]);
  return id ? html`unchanged since <a href="${reportAddress("get", id)}&amp;format=html">${id}</a>` : "";
}

/** What the source listed is a map without errors; each later step has its own. */
function failedLink(reportId: unknown, path: string): Html | "" {
  return path.endsWith("sharepoint_map.csv")
    ? ""
    : html` (<a href="${fileAddress(reportId, path)}&amp;format=html&amp;failed=true">failed<span class="visually-hidden"> in ${mapName(path)}</span></a>)`;
}

function mapName(path: string): string {
  return path.replace(/^.*\//, "").replace(/_map\.csv$/, "");
}

function countTitle(name: string): string {
  return name === "total" ? "Items" : name.charAt(0).toUpperCase() + name.slice(1);
}

/** Two steps, with and without scripts. */
function deleteForm(id: string): Html {
  return html`<details class="panel"><summary>Delete this report</summary>
<form class="notice warn" id="delete" action="/v2/reports/delete" method="get" data-delete="/v2/reports?format=ui">
<input type="hidden" name="report_id" value="${id}"><input type="hidden" name="format" value="html">
<p>It cannot be brought back. The domain and its documents stay as they are.</p>
<div class="form-end"><button class="danger">Delete report</button><p class="form-error" role="alert" hidden></p></div></form></details>`;
}
