import { basename } from "node:path/posix";
import type { App } from "../../app/app.ts";
import { BadInputError } from "../../contracts/errors.ts";
import type { DomainId } from "../../contracts/ids.ts";
import type { ReportId, ReportSummary } from "../../contracts/report.ts";
import { encodeSpreadsheetRow } from "../../lib/csv.ts";
import { fileTypeOf } from "../../lib/file-type.ts";
import { isJsonObject, type JsonObject } from "../../lib/json-object.ts";
import { readText } from "../../reports/read-text.ts";
import { parseReportId, REPORT_ID_FORM, REPORT_TYPES, type ReportType } from "../../reports/report-codec.ts";
import type { ReportStore, StoredBytes } from "../../reports/report-store.ts";
import { readMatchingRows, readTableWindow } from "../../reports/table-window.ts";
import type { Frame, Html } from "../pages/layout.ts";
import { PAGE_ROWS } from "../pages/paged-table.ts";
import { reportFilePage, reportListPage, reportPage } from "../pages/report-pages.ts";
import { type Answer, type Call, type Endpoint, endpoint, ok, okPart, type RawAnswer } from "../routing/endpoint.ts";
import { type Listing, listing, MAX_LIMIT, takePart } from "../routing/listing.ts";
import { optional, required, withDefault } from "../routing/parameters.ts";
import { domainId, oneOf, trueOrFalse, type Value, words } from "../routing/values.ts";

const COLUMNS = ["created_utc", "domain_id", "title", "ok", "error", "items_total", "items_changed", "items_failed"];

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  csv: "text/csv; charset=utf-8",
  json: "application/json; charset=utf-8",
};

const reportId: Value<ReportId> = {
  accepts: REPORT_ID_FORM,
  schema: { type: "string" },
  read: (raw) => (typeof raw === "string" ? parseReportId(raw) : undefined),
};
const EXAMPLE = "report_id=crawls/2026-01-15_14-25-00_DEMO_all_full";

export function reportEndpoints(app: App): Endpoint[] {
  return [list(app), get(app), file(app), download(app), remove(app)];
}

function list({ reports, domains }: App): Endpoint {
  const page = async (
    answer: Answer<readonly ReportRow[]>,
    args: ReportQuery,
    frame: Frame,
  ): Promise<Awaited<Html>> => {
    const ids = (await domains.list()).domains.map((domain) => domain.domainId);
    return await reportListPage(answer, args, ids, frame);
  };
  return endpoint({
    path: "/v2/reports",
    methods: ["GET"],
    formats: ["json", "html", "ui"],
    description:
      "Lists the reports that finished crawls left, newest first. One that cannot be read is listed with the reason.",
    changes: null,
    query: {
      type: optional(oneOf(REPORT_TYPES), "Only reports of this type."),
      domain_id: optional(domainId, "Only reports of crawls of this domain."),
      ...listing(COLUMNS),
    },
    examples: ["?format=json", "?type=crawl&domain_id=DEMO&format=html", "?limit=20&sort=-items_failed", "?format=ui"],
    run: (args, { format }) =>
      listReports(reports, format === "json" ? args : { ...args, limit: args.limit ?? PAGE_ROWS }),
    html: page,
    ui: page,
  });
}

interface ReportQuery extends Listing {
  readonly type: ReportType | undefined;
  readonly domain_id: DomainId | undefined;
}

/** In the default order, only the reports of the page are opened; another order or a filter opens all of them. */
async function listReports(reports: ReportStore, query: ReportQuery): Promise<Answer<readonly ReportRow[]>> {
  const which = { type: query.type, domainId: query.domain_id };
  const { limit, offset } = query;
  if (limit !== undefined && query.filter === "" && (query.sort === undefined || query.sort === "-created_utc")) {
    const rows = (await reports.list({ ...which, limit, offset })).map(toReportRow);
    const total = await reports.count(which);
    return okPart({ rows, page: { offset, limit, total, more: offset + rows.length < total } });
  }
  return okPart(takePart((await reports.list(which)).map(toReportRow), query));
}

function get({ reports }: App): Endpoint {
  return endpoint({
    path: "/v2/reports/get",
    methods: ["GET"],
    formats: ["json", "html"],
    description: "Returns one report: what was crawled, what came of it source by source, and the files it keeps.",
    changes: null,
    query: { report_id: required(reportId, "The report.") },
    examples: [`?${EXAMPLE}`, `?${EXAMPLE}&format=html`],
    run: async ({ report_id }) => reportAnswer(await reports.get(report_id)),
    html: ({ data }, _args, frame) => reportPage(data, frame),
  });
}

function file({ reports }: App): Endpoint {
  return endpoint({
    path: "/v2/reports/file",
    methods: ["GET"],
    formats: ["raw", "json", "html", "csv"],
    description:
      "Returns one file of a report. raw: as it is. json: its text, or, with limit, sort or filter, rows of a table. html: a table. csv: the rows that match, for spreadsheets. Files that are no text, or very large, come as raw only; tables of any length do in every format.",
    changes: null,
    query: {
      report_id: required(reportId, "The report."),
      file_path: required(words, "The file, as the report lists it in file_path."),
      ...listing([]),
      failed: withDefault(trueOrFalse, false, "true: of a table, only the rows that tell of an error."),
      sort: optional(words, "A column of the table; a minus reverses it. Not for csv, which comes as the file has it."),
    },
    examples: [
      `?${EXAMPLE}&file_path=report.json`,
      `?${EXAMPLE}&file_path=01_files/docs/files_map.csv&format=html&sort=-file_size`,
      `?${EXAMPLE}&file_path=01_files/docs/vectorstore_map.csv&format=csv&filter=error`,
    ],
    run: (args, call) => readReportFile(reports, args, call),
    html: async ({ data, page }, args, frame) =>
      reportFilePage(
        data,
        { listing: args, failed: args.failed, page, report: (await reports.get(args.report_id)).json },
        frame,
      ),
    async raw(args, { format }) {
      const { report_id, file_path } = args;
      const { bytes, content } = await reports.file(report_id, file_path);
      const fileName = basename(file_path);
      if (format === "csv") return { ...spreadsheet(content, args), fileName };
      const mediaType = MEDIA_TYPES[fileTypeOf(file_path)] ?? "application/octet-stream";
      return { bytes, content, mediaType, fileName };
    },
  });
}

function download({ reports }: App): Endpoint {
  return endpoint({
    path: "/v2/reports/download",
    methods: ["GET"],
    formats: ["zip"],
    description: "Returns a whole report as a zip file.",
    changes: null,
    query: { report_id: required(reportId, "The report.") },
    examples: [`curl -OJ '{origin}/v2/reports/download?${EXAMPLE}'`],
    async raw({ report_id }) {
      const { bytes, content } = await reports.download(report_id);
      return { bytes, content, mediaType: "application/zip", fileName: `${basename(report_id)}.zip` };
    },
  });
}

function remove({ reports }: App): Endpoint {
  return endpoint({
    path: "/v2/reports/delete",
    methods: ["DELETE", "GET"],
    formats: ["json", "html"],
    description: "Deletes a report and returns what it was.",
    changes: "Removes the report's zip file.",
    role: "admin",
    query: {
      report_id: required(reportId, "The report."),
      dry_run: withDefault(trueOrFalse, false, "true only returns the report."),
    },
    examples: [`?${EXAMPLE}&dry_run=true`, `curl -X DELETE '{origin}/v2/reports/delete?${EXAMPLE}'`],
    run: async ({ report_id, dry_run }) =>
      ok((dry_run ? await reports.get(report_id) : await reports.remove(report_id)).json),
  });
}

/** `ok` says whether the report could be read; whether its crawl succeeded is in the report. */
function reportAnswer(report: ReportSummary): Answer<Readonly<JsonObject>> {
  return report.readable ? ok(report.json) : { ok: false, error: report.error, data: report.json };
}

/** Limits for one JSON text and one page; `format=raw` has none. */
const JSON_BYTES = 4 * 1024 * 1024;
const PAGE_BYTES = 512 * 1024;

interface FileQuery extends Listing {
  readonly report_id: ReportId;
  readonly file_path: string;
  /** Only the rows of a table that have an error. */
  readonly failed: boolean;
}

/** One file of a report: its text, or rows of it. */
export type ShownFile = ShownText | ShownTable;

interface ShownText {
  readonly report_id: ReportId;
  readonly file_path: string;
  readonly content: string;
  /** false: only the beginning is shown. */
  readonly complete: boolean;
}

export interface ShownTable {
  readonly report_id: ReportId;
  readonly file_path: string;
  readonly columns: readonly string[];
  /** Keyed by column name. */
  readonly rows: readonly Readonly<JsonObject>[];
}

/** Returns the requested rows of a table; a page always shows rows. */
async function readReportFile(reports: ReportStore, query: FileQuery, call: Call): Promise<Answer<ShownFile>> {
  const narrowed =
    query.limit !== undefined || query.offset > 0 || query.sort !== undefined || query.filter !== "" || query.failed;
  const isTable = query.file_path.endsWith(".csv");
  if (narrowed && !isTable)
    throw new BadInputError(`'${query.file_path}' is no table, so it takes no limit, sort or filter.`);
  return isTable && (narrowed || call.format === "html")
    ? readTable(reports, query, call)
    : readWhole(reports, query, call);
}

async function readTable(reports: ReportStore, query: FileQuery, call: Call): Promise<Answer<ShownTable>> {
  const { report_id, file_path, offset } = query;
  const limit = query.limit ?? (call.format === "html" ? PAGE_ROWS : MAX_LIMIT);
  const window = await readTableWindow(() => reports.file(report_id, file_path), { ...query, limit }, call.signal);
  const { columns, total } = window;
  const rows = window.rows.map((row) => Object.fromEntries(columns.map((name, at) => [name, row[at] ?? ""])));
  const page = { offset, limit, total, more: offset + rows.length < total };
  return { ok: true, error: "", data: { report_id, file_path, columns, rows }, page };
}

/** A page may show the beginning of a file; truncated JSON would look complete. */
async function readWhole(reports: ReportStore, query: FileQuery, call: Call): Promise<Answer<ShownFile>> {
  const { report_id, file_path } = query;
  const stored = await reports.file(report_id, file_path);
  if (call.format === "json" && stored.bytes > JSON_BYTES) {
    throw new BadInputError(`'${file_path}' has ${stored.bytes} bytes, more than fit here. Use format=raw.`);
  }
  const read = await readText(stored.content, call.format === "json" ? JSON_BYTES : PAGE_BYTES);
  if (!read) throw new BadInputError(`'${file_path}' is no text. Use format=raw.`);
  return { ok: true, error: "", data: { report_id, file_path, content: read.text, complete: read.complete } };
}

/** Returns all matching rows in file order, escaped for spreadsheets. Generated while it is sent. */
function spreadsheet(content: StoredBytes["content"], query: FileQuery): Omit<RawAnswer, "fileName"> {
  if (!query.file_path.endsWith(".csv")) throw new BadInputError(`'${query.file_path}' is no table. Use format=raw.`);
  if (query.sort !== undefined) throw new BadInputError("format=csv comes in the order of the file: leave out 'sort'.");
  return { bytes: undefined, mediaType: "text/csv; charset=utf-8", content: spreadsheetRows(content, query) };
}

/** Spreadsheets read a file as UTF-8 only if it begins with this. */
const BYTE_ORDER_MARK = "\ufeff";

async function* spreadsheetRows(
  content: StoredBytes["content"],
  { filter, failed, offset, limit = Number.POSITIVE_INFINITY }: FileQuery,
): AsyncGenerator<Uint8Array, void> {
  let at = -1;
  let text = BYTE_ORDER_MARK;
  for await (const page of readMatchingRows({ content }, { filter, failed })) {
    for (const row of page) {
      // The header row comes first and is not counted.
      if (at < 0 || (at >= offset && at < offset + limit)) text += `${encodeSpreadsheetRow(row)}\r\n`;
      at += 1;
    }
    if (text !== "") yield Buffer.from(text);
    text = "";
    if (at >= offset + limit) return;
  }
}

/** A report in a list: without its files, with the sums of its sources. Unreadable reports lack some fields. */
export type ReportRow = Readonly<JsonObject>;

const COUNTS = ["items_total", "items_added", "items_changed", "items_moved", "items_removed", "items_failed"] as const;

function toReportRow({ json: { files: _files, sources, ...rest } }: ReportSummary): ReportRow {
  if (!Array.isArray(sources)) return rest;
  return { ...rest, ...sumUp(sources.filter(isJsonObject)) };
}

function sumUp(sources: readonly Readonly<JsonObject>[]): Record<string, number> {
  const sums = COUNTS.map((name) => [name, sources.reduce((sum, source) => sum + (Number(source[name]) || 0), 0)]);
  return Object.fromEntries(sums) as Record<string, number>;
}
