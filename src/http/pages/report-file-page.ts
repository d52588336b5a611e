import { html } from "hono/html";
import type { JsonObject } from "../../lib/json-object.ts";
import { isErrorColumn } from "../../reports/table-window.ts";
import type { ShownFile, ShownTable } from "../endpoints/report-endpoints.ts";
import type { Listing, PageFacts } from "../routing/listing.ts";
import { jsonTable } from "./json-table.ts";
import { type Frame, type Html, layout } from "./layout.ts";
import { addressWith, type Column, pagedTable } from "./paged-table.ts";
import { reportTree } from "./report-tree.ts";
import { fileAddress, reportAddress } from "./report-words.ts";
import { shownName } from "./shown-name.ts";
import { shownTime } from "./shown-time.ts";
import { textOf } from "./text-of.ts";
import { webAddress } from "./web-address.ts";

interface FileView {
  readonly listing: Listing;
  /** Only rows that tell of an error. */
  readonly failed: boolean;
  readonly page: PageFacts | undefined;
  readonly report: Readonly<JsonObject>;
}

/** The files of a report as a tree, and one of them beside it: a table for CSV, nested tables for JSON, else its text. */
export function reportFilePage(file: ShownFile, view: FileView, frame: Frame): Html {
  const { report_id: id, file_path: path } = file;
  const address = fileAddress(id, path);
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
  return html`<div class="actions">${file.columns.some(isErrorColumn) ? failedLink(failed, frame) : ""}<span class="quiet">${shown.length} columns: what does not fit is reached by scrolling the table sideways.</span></div>
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

function failedLink(failed: boolean, frame: Frame): Html {
  const address = addressWith(frame, { failed: failed ? "" : "true", offset: "" });
  return html`<a class="button small" href="${address}">${failed ? "All rows" : "Failed only"}</a>`;
}

function isRepetition(name: string, columns: readonly string[]): boolean {
  return name.endsWith("_timestamp") && columns.includes(name.replace(/_timestamp$/, "_utc"));
}

const PLACES: Readonly<Record<string, number>> = {
  filename: 0,
  file_size: 2,
  last_modified_utc: 2,
  file_relative_path: 3,
};

/** What a person looks for comes first: which file, and what went wrong with it, if anything did. */
function columnsOf({ columns, rows }: ShownTable): string[] {
  const isTelling = (name: string): boolean => isErrorColumn(name) && rows.some((row) => row[name] !== "");
  const weight = (name: string): number => (isTelling(name) ? 1 : (PLACES[name] ?? 4));
  return columns.filter((name) => !isRepetition(name, columns)).sort((a, b) => weight(a) - weight(b));
}

/** Cells are text and nothing else: what a spreadsheet would take for a formula stands there as it was written. */
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
<div class="panel scroll-x" tabindex="0" role="region" aria-label="${file_path}">${json === undefined ? html`<pre>${content}</pre>` : jsonTable(json)}</div>`;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
