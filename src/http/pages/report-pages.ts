import { html } from "hono/html";
import type { SourceKinds } from "../../contracts/source-kind.ts";
import { sayLeftOut } from "../../engine/crawl-request.ts";
import { isJsonObject, type JsonObject, parseJson } from "../../lib/json-object.ts";
import { capital, plural, sayBytes } from "../../lib/text.ts";
import { isErrorColumn } from "../../reports/table-window.ts";
import type { ReportRow, ShownFile, ShownTable } from "../endpoints/report-endpoints.ts";
import type { Answer } from "../routing/endpoint.ts";
import type { Listing, PageFacts } from "../routing/listing.ts";
import { shownId, shownName, shownTime, textOf, webAddress } from "./display.ts";
import { jobAddress } from "./job-fragments.ts";
import { jsonTable } from "./json-table.ts";
import { type Frame, type Html, layout, mayChange } from "./layout.ts";
import { addressWith, type Column, pagedTable } from "./paged-table.ts";

interface ReportQuery extends Listing {
  readonly type: string | undefined;
  readonly domain_id: string | undefined;
}

export function reportListPage(
  { data, page }: Answer<readonly ReportRow[]>,
  query: ReportQuery,
  domainIds: readonly string[],
  frame: Frame,
): Html {
  const of = query.domain_id ? ` of ${query.domain_id}` : "";
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
  listing: query,
  page,
  empty: query.filter ? "No report matches." : "No reports yet: every finished crawl leaves one.",
  frame,
  filters: domainFilter(domainIds, query.domain_id),
  filterParameters: ["domain_id"],
})}`,
  });
}

/** A deleted domain may have left reports. */
function domainFilter(domainIds: readonly string[], chosen: string | undefined): Html {
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
  return html`<a href="/v2/reports?domain_id=${encodeURIComponent(domainId)}&amp;format=ui">${shownId(domainId)}</a>`;
}

function outcome(report: ReportRow): Html {
  const good = report["ok"] === true;
  const error = textOf(report["error"]);
  return html`<span class="pill ${good ? "good" : "bad"}">${good ? "ok" : "problems"}</span> ${sayItems(report)}${error ? html`<br><bdi class="error">${error}</bdi>` : ""}`;
}

/** Renders one report: the outcome by source, and its files. */
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
    [
      "Domain",
      domain &&
        html`<a href="/v2/domains/get?domain_id=${encodeURIComponent(domain)}&amp;format=html"><bdi>${domain}</bdi></a>`,
    ],
    ["Crawl", [report["mode"], report["scope"], report["source_id"]].map(textOf).filter(Boolean).join(", ")],
    ["Job", job && html`<a href="${jobAddress(job)}">${job}</a>`],
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
  if (sources.length === 0) return html`<p class="quiet">It contains no sources.</p>`;
  return html`<div class="panel flush scroll-x as-cards" tabindex="0" role="group" aria-label="Outcome by source"><table class="rows">
<thead><tr><th scope="col">Source</th><th scope="col">Outcome</th>${COUNTS.map((name) => html`<th scope="col" class="end">${countTitle(name)}</th>`)}<th scope="col">Maps</th></tr></thead>
<tbody>${sources.map((source) => sourceRow(source, report["report_id"], kinds))}</tbody></table></div>`;
}

/** The report may come from another release, so the type may be unknown. */
function kindWords(type: string, kinds: SourceKinds): string {
  return kinds.find(type)?.words.name ?? type;
}

function sourceRow(source: Readonly<JsonObject>, reportId: unknown, kinds: SourceKinds): Html {
  const failed = Number(source["items_failed"]) > 0;
  const maps = Array.isArray(source["map_files"]) ? source["map_files"].map(textOf) : [];
  return html`<tr><th scope="row"><code>${textOf(source["source_id"])}</code><br><span class="quiet">${kindWords(textOf(source["source_type"]), kinds)}</span></th>
<td data-label="Outcome"><div>${outcomeOf(source)}</div></td>
${COUNTS.map((name) => html`<td class="end" data-label="${countTitle(name)}"><div>${countOf(source, `items_${name}`)}</div></td>`)}
<td data-label="Maps"><div>${maps.map((path) => html`<a href="${mapFileAddress(reportId, path)}&amp;format=html">${mapWords(path, textOf(source["source_type"]), kinds)}</a>${failed ? failedLink(reportId, path) : ""} `)}${earlierMaps(source)}</div></td></tr>`;
}

function outcomeOf(source: Readonly<JsonObject>): Html {
  const error = textOf(source["error"]);
  const problem = problemOf(source, error);
  return html`<span class="pill ${problem ? "bad" : "good"}">${problem || "ok"}</span> ${sayItems(source)}${sayHidden(source)}${leftOutOf(source)}${error ? html`<br><bdi class="error">${error}</bdi>` : ""}`;
}

function sayHidden(source: Readonly<JsonObject>): string {
  const rows = Number(source["items_hidden"] ?? 0);
  return rows > 0 ? `, ${plural(rows, "row")} not shown to the app` : "";
}

function leftOutOf(source: Readonly<JsonObject>): string {
  const leftOut = source["items_left_out"];
  const said = isJsonObject(leftOut) ? sayLeftOut(leftOut) : "";
  return said && `, ${said}`;
}

/** Returns "" if the report mentions no problem. */
function problemOf(source: Readonly<JsonObject>, error: string): string {
  if (source["complete"] === false) return "incomplete";
  if (Number(source["items_failed"]) > 0) return "some failed";
  return error ? "problems" : "";
}

/** Links to the report that has the map files, because they did not change since then. */
function earlierMaps(source: Readonly<JsonObject>): Html | "" {
  const id = textOf(source["map_files_in"]);
  return id ? html`unchanged since <a href="${reportAddress("get", id)}&amp;format=html">${id}</a>` : "";
}

/** The list of the source has no errors; the maps of the later steps have their own. */
function failedLink(reportId: unknown, path: string): Html | "" {
  return path.endsWith("sharepoint_map.csv")
    ? ""
    : html` (<a href="${mapFileAddress(reportId, path)}&amp;format=html&amp;failed=true">failed<span class="visually-hidden"> in ${mapName(path)}</span></a>)`;
}

/** Returns the name of a map file for users. Every kind's listing is in `sharepoint_map.csv`; for other kinds it is called "listed". */
function mapWords(path: string, type: string, kinds: SourceKinds): string {
  const name = mapName(path);
  return name === "sharepoint" && kinds.find(type)?.abilities.needsSignIn === false ? "listed" : name;
}

function mapName(path: string): string {
  return path.replace(/^.*\//, "").replace(/_map\.csv$/, "");
}

function countTitle(name: string): string {
  return name === "total" ? "Items" : capital(name);
}

/** Needs two steps, with and without scripts. */
function deleteForm(id: string): Html {
  return html`<details class="panel"><summary>Delete this report</summary>
<form class="notice warn" id="delete" action="/v2/reports/delete" method="get" data-delete="/v2/reports?format=ui">
<input type="hidden" name="report_id" value="${id}"><input type="hidden" name="format" value="html">
<p>It cannot be brought back. The domain and its documents stay as they are.</p>
<div class="form-end"><button class="danger">Delete report</button><p class="form-error" role="alert" hidden></p></div></form></details>`;
}

interface Folder {
  readonly folders: Map<string, Folder>;
  readonly files: { readonly name: string; readonly path: string; readonly bytes: number }[];
}

/** Renders the files of a report by folder: kind of source, source, maps. */
export function reportTree(report: Readonly<JsonObject>, selected?: string): Html {
  const root: Folder = { folders: new Map(), files: [] };
  const files = Array.isArray(report["files"]) ? report["files"].filter(isJsonObject) : [];
  for (const file of files) add(root, textOf(file["file_path"]), Number(file["file_size"]) || 0);
  return html`<nav class="report-tree" aria-label="Files of the report">${folderList(root, report["report_id"], selected)}</nav>`;
}

function add(root: Folder, path: string, bytes: number): void {
  const names = path.split("/");
  const name = names.pop() ?? path;
  let folder = root;
  for (const segment of names) {
    const next = folder.folders.get(segment) ?? { folders: new Map(), files: [] };
    folder.folders.set(segment, next);
    folder = next;
  }
  folder.files.push({ name, path, bytes });
}

function folderList({ folders, files }: Folder, reportId: unknown, selected: string | undefined): Html {
  return html`<ul>${files.map(
    ({ name, path, bytes }) =>
      html`<li><a href="${mapFileAddress(reportId, path)}&amp;format=html" ${path === selected ? html`aria-current="page"` : ""}><bdi>${shownName(name)}</bdi></a> <span class="quiet">${sayBytes(bytes)}</span></li>`,
  )}${[...folders].map(
    ([name, folder]) =>
      html`<li><span class="folder"><bdi>${shownName(name)}</bdi></span>${folderList(folder, reportId, selected)}</li>`,
  )}</ul>`;
}

interface FileView {
  readonly listing: Listing;
  /** Only rows with an error. */
  readonly failed: boolean;
  readonly page: PageFacts | undefined;
  readonly report: Readonly<JsonObject>;
}

/** Renders the files of a report as a tree, and one of them beside it: a table for CSV, nested tables for JSON, otherwise its text. */
export function reportFilePage(file: ShownFile, view: FileView, frame: Frame): Html {
  const { report_id: id, file_path: path } = file;
  const address = mapFileAddress(id, path);
  const filter = `${view.listing.filter ? `&filter=${encodeURIComponent(view.listing.filter)}` : ""}${view.failed ? "&failed=true" : ""}`;
  return layout({
    frame,
    title: `${path} · lockstep`,
    body: html`<header class="page-head"><h1><bdi>${shownName(path.split("/").at(-1) ?? path)}</bdi></h1>
<div class="actions"><a class="button small" href="${address}&amp;format=raw">Download as it is</a>${"rows" in file ? html`<a class="button small" href="${`${address}&format=csv${filter}`}">CSV for a spreadsheet</a>` : ""}</div>
<p class="quiet"><bdi>${shownName(path)}</bdi> in <a href="${reportAddress("get", id)}&amp;format=html">${textOf(view.report["title"]) || id}</a></p></header>
<div class="map-viewer"><aside class="panel">${reportTree(view.report, path)}</aside>
<div class="stack">${"rows" in file ? mapTable(file, view, frame) : fileText(file)}</div></div>`,
  });
}

function mapTable(file: ShownTable, { listing, failed, page }: FileView, frame: Frame): Html {
  const shown = columnsOf(file);
  return html`<div class="actions">${file.columns.some(isErrorColumn) ? failedToggle(failed, frame) : ""}<span class="quiet">${shown.length} columns: what does not fit is reached by scrolling the table sideways.</span></div>
${pagedTable({
  id: "map",
  caption: file.file_path,
  columns: shown.map(columnOf),
  rows: file.rows,
  listing,
  page,
  empty: failed ? "No row tells of an error." : listing.filter ? "No row matches." : "The table has no rows.",
  frame,
  onPhones: "table",
})}
${shown.length < file.columns.length ? html`<p class="quiet">Unix timestamps repeat the times and are left out here; the file has them.</p>` : ""}`;
}

function failedToggle(failed: boolean, frame: Frame): Html {
  const address = addressWith(frame, { failed: failed ? "" : "true", offset: "" });
  return html`<a class="button small" href="${address}">${failed ? "All rows" : "Failed only"}</a>`;
}

function isRepetition(name: string, columns: readonly string[]): boolean {
  return name.endsWith("_timestamp") && columns.includes(name.replace(/_timestamp$/, "_utc"));
}

const COLUMN_ORDER: Readonly<Record<string, number>> = {
  filename: 0,
  file_size: 2,
  last_modified_utc: 2,
  file_relative_path: 3,
};

/** Puts the file name first, then errors if there are any. */
function columnsOf({ columns, rows }: ShownTable): string[] {
  const hasErrors = (name: string): boolean => isErrorColumn(name) && rows.some((row) => row[name] !== "");
  const weight = (name: string): number => (hasErrors(name) ? 1 : (COLUMN_ORDER[name] ?? 4));
  return columns.filter((name) => !isRepetition(name, columns)).sort((a, b) => weight(a) - weight(b));
}

/** Cells are plain text: what a spreadsheet would read as a formula is shown as written. */
function columnOf(name: string): Column<Readonly<JsonObject>> {
  return {
    sort: name,
    title: name,
    cell: (row) => cellOf(name, textOf(row[name])),
    ...(name === "file_size" && { align: "end" as const }),
  };
}

function cellOf(name: string, value: string): Html {
  if (name.endsWith("_utc")) return shownTime(value);
  if (isErrorColumn(name)) return html`<bdi class="error">${value}</bdi>`;
  const href = name === "url" ? webAddress(value) : undefined;
  if (href) return html`<a href="${href}" target="_blank" rel="noopener noreferrer"><bdi>${shownName(value)}</bdi></a>`;
  return html`<bdi>${shownName(value)}</bdi>`;
}

function fileText({ file_path, content, complete }: Exclude<ShownFile, ShownTable>): Html {
  const json = complete && file_path.endsWith(".json") ? parseJson(content) : undefined;
  return html`${complete ? "" : html`<p class="notice warn">Only the beginning is shown.</p>`}
<div class="panel scroll-x" tabindex="0" role="group" aria-label="${file_path}">${json === undefined ? html`<pre>${content}</pre>` : jsonTable(json)}</div>`;
}

/** Returns "3 added, 1 moved, 2 failed" for one source or all together; "" if it is unknown whether anything changed. */
function sayItems(counts: Readonly<JsonObject>): string {
  if (typeof counts["items_total"] !== "number") return "";
  const parts = ["added", "changed", "moved", "removed", "failed"].flatMap((word) => {
    const count = counted(counts, `items_${word}`);
    return typeof count === "number" && count > 0 ? [`${count} ${word}`] : [];
  });
  if (parts.length > 0) return parts.join(", ");
  return counts["complete"] === false || counts["ok"] === false ? "" : "nothing changed";
}

export function countOf(counts: Readonly<JsonObject>, name: string): string {
  return textOf(counted(counts, name)) || "–";
}

/** Reports count moved items among the changed ones, too; early reports do not separate them. */
function counted(counts: Readonly<JsonObject>, name: string): unknown {
  const { [name]: count, items_moved: moved } = counts;
  const isBoth = name === "items_changed" && typeof count === "number" && typeof moved === "number";
  return isBoth ? count - moved : count;
}

function reportAddress(action: "get" | "download" | "delete", reportId: unknown): string {
  return `/v2/reports/${action}?report_id=${encodeURIComponent(textOf(reportId))}`;
}

function mapFileAddress(reportId: unknown, path: string): string {
  return `/v2/reports/file?report_id=${encodeURIComponent(textOf(reportId))}&file_path=${encodeURIComponent(path)}`;
}
