import { html } from "hono/html";
import { decodeCsvText } from "../../lib/csv.ts";
import { isJsonObject, type JsonObject } from "../../lib/json-object.ts";
import { jsonTable } from "./json-table.ts";
import { type Html, layout } from "./layout.ts";
import { shownTime } from "./shown-time.ts";

const SHOWN_ROWS = 500;

export interface ShownFile {
  readonly report_id: string;
  readonly file_path: string;
  readonly content: string;
  /** false: there is more of it than is shown. */
  readonly complete: boolean;
}

export function reportListPage(reports: readonly Readonly<JsonObject>[]): Html {
  const table = html`<table class="nested">
<thead><tr><th scope="col">Report</th><th scope="col">Created</th><th scope="col">Domain</th><th scope="col">Outcome</th><th scope="col"></th></tr></thead>
<tbody>${reports.map(reportRow)}</tbody></table>`;
  return page("Reports", reports.length > 0 ? table : html`<p>No reports yet: every finished crawl leaves one.</p>`);
}

function reportRow(report: Readonly<JsonObject>): Html {
  const id = textOf(report["report_id"]);
  const query = `report_id=${encodeURIComponent(id)}`;
  const good = report["ok"] === true;
  return html`<tr>
<td><a href="/v2/reports/get?${query}&format=html">${textOf(report["title"]) || id}</a></td>
<td>${shownTime(textOf(report["created_utc"]))}</td>
<td><bdi>${textOf(report["domain_id"])}</bdi></td>
<td><span class="pill ${good ? "good" : "bad"}">${good ? "ok" : "not ok"}</span> <bdi>${textOf(report["error"])}</bdi></td>
<td><a href="/v2/reports/download?${query}">Download</a></td>
</tr>`;
}

export function reportPage(report: Readonly<JsonObject>): Html {
  const { files, ...facts } = report;
  const id = textOf(report["report_id"]);
  const error = textOf(report["error"]);
  return page(
    textOf(report["title"]) || id,
    html`${error ? html`<p class="notice bad"><bdi>${error}</bdi></p>` : ""}
<h2>Files</h2>
<ul>${(Array.isArray(files) ? files : []).filter(isJsonObject).map((file) => fileItem(id, file))}</ul>
<h2>Crawl</h2>
${jsonTable(facts)}`,
  );
}

function fileItem(reportId: string, file: Readonly<JsonObject>): Html {
  const path = textOf(file["file_path"]);
  const address = fileAddress(reportId, path);
  return html`<li><a href="${address}&format=html"><bdi>${path}</bdi></a> (${textOf(file["file_size"])} bytes, <a href="${address}&format=raw">download</a>)</li>`;
}

/** A table for CSV, nested tables for JSON, and any other text as it is. */
export function reportFilePage(file: ShownFile): Html {
  const note = file.complete ? "" : html`<p class="notice warn">Only the beginning is shown.</p>`;
  const address = fileAddress(file.report_id, file.file_path);
  return page(
    file.file_path,
    html`<p><a href="/v2/reports/get?report_id=${encodeURIComponent(file.report_id)}&format=html">${file.report_id}</a> · <a href="${address}&format=raw">Download</a></p>
${note}${fileContent(file)}`,
  );
}

function fileContent({ file_path, content, complete }: ShownFile): Html {
  if (file_path.endsWith(".csv")) return csvTable(content, complete);
  const json = complete && file_path.endsWith(".json") ? parseJson(content) : undefined;
  return json === undefined ? html`<pre tabindex="0">${content}</pre>` : jsonTable(json);
}

/** Cells are text and nothing else: what a spreadsheet would take for a formula stands there as it was written. */
function csvTable(content: string, complete: boolean): Html {
  const [header = [], ...rows] = decodeCsvText(content, SHOWN_ROWS + 1);
  const cut = rows.length === SHOWN_ROWS;
  const shown = complete || cut ? rows : rows.slice(0, -1);
  return html`<p class="quiet">${cut || !complete ? `The first ${shown.length} rows.` : `${shown.length} rows.`}</p>
<table class="nested"><thead><tr>${header.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
<tbody>${shown.map((row) => html`<tr>${row.map((field) => html`<td><bdi>${field}</bdi></td>`)}</tr>`)}</tbody></table>`;
}

function page(title: string, body: Html): Html {
  return layout({
    title: `${title} · lockstep`,
    body: html`<section class="panel answer">
<h1><bdi>${title}</bdi></h1>
<div class="scroll-x" tabindex="0" role="region" aria-label="${title}">${body}</div>
<p><a href="/">Back to the overview</a> · <a href="/v2/reports?format=html">All reports</a></p>
</section>`,
  });
}

function fileAddress(reportId: string, path: string): string {
  return `/v2/reports/file?report_id=${encodeURIComponent(reportId)}&file_path=${encodeURIComponent(path)}`;
}

function textOf(value: unknown): string {
  return typeof value === "string" || typeof value === "number" ? String(value) : "";
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
