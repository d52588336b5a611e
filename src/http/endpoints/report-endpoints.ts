import { basename } from "node:path/posix";
import type { App } from "../../app/app.ts";
import type { DomainId } from "../../contracts/ids.ts";
import type { ReportId, ReportSummary } from "../../contracts/report.ts";
import { fileTypeOf } from "../../lib/file-type.ts";
import type { JsonObject } from "../../lib/json-object.ts";
import { parseReportId, REPORT_ID_FORM, REPORT_TYPES, type ReportType } from "../../reports/report-id.ts";
import type { ReportStore } from "../../reports/report-store.ts";
import { type Answer, type Endpoint, endpoint, ok, okPart } from "../grammar/endpoint.ts";
import { type Listing, listing, takePart } from "../grammar/listing.ts";
import { optional, required, withDefault } from "../grammar/parameters.ts";
import { domainId, oneOf, trueOrFalse, type Value, words } from "../grammar/values.ts";
import type { Frame, Html } from "../pages/layout.ts";
import { PAGE_ROWS } from "../pages/paged-table.ts";
import { reportFilePage } from "../pages/report-file-page.ts";
import { reportListPage } from "../pages/report-list-page.ts";
import { reportPage } from "../pages/report-page.ts";
import { readReportFile, spreadsheet } from "./report-file.ts";
import { type ReportRow, toReportRow } from "./report-row.ts";

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
  const page = async (answer: Answer<readonly ReportRow[]>, args: ReportWish, frame: Frame): Promise<Awaited<Html>> => {
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

interface ReportWish extends Listing {
  readonly type: ReportType | undefined;
  readonly domain_id: DomainId | undefined;
}

/** As they come, only those that are shown are opened; any other order or a filter takes a look into all of them. */
async function listReports(reports: ReportStore, wish: ReportWish): Promise<Answer<readonly ReportRow[]>> {
  const which = { type: wish.type, domainId: wish.domain_id };
  const { limit, offset } = wish;
  if (limit !== undefined && wish.filter === "" && (wish.sort === undefined || wish.sort === "-created_utc")) {
    const rows = (await reports.list({ ...which, limit, offset })).map(toReportRow);
    const total = await reports.count(which);
    return okPart({ rows, page: { offset, limit, total, more: offset + rows.length < total } });
  }
  return okPart(takePart((await reports.list(which)).map(toReportRow), wish));
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
    run: async ({ report_id }) => told(await reports.get(report_id)),
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

/** Whether the report could be read, not whether its crawl went well: that is in it. */
function told(report: ReportSummary): Answer<Readonly<JsonObject>> {
  return report.readable ? ok(report.json) : { ok: false, error: report.error, data: report.json };
}
