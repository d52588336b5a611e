import { basename } from "node:path/posix";
import type { App } from "../../app/app.ts";
import { BadInputError } from "../../contracts/errors.ts";
import type { ReportId, ReportSummary } from "../../contracts/report.ts";
import { fileTypeOf } from "../../lib/file-type.ts";
import type { JsonObject } from "../../lib/json-object.ts";
import { readText } from "../../reports/read-text.ts";
import { parseReportId, REPORT_ID_FORM, REPORT_TYPES } from "../../reports/report-id.ts";
import { type Answer, type Call, type Endpoint, endpoint, ok } from "../grammar/endpoint.ts";
import { optional, required, withDefault } from "../grammar/parameters.ts";
import { oneOf, trueOrFalse, type Value, words } from "../grammar/values.ts";
import { reportFilePage, reportListPage, reportPage, type ShownFile } from "../pages/report-pages.ts";

/** What fits into one JSON text, or one page; `format=raw` has no limit. */
const JSON_BYTES = 4 * 1024 * 1024;
const PAGE_BYTES = 512 * 1024;

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  csv: "text/csv; charset=utf-8",
  json: "application/json; charset=utf-8",
};

const reportId: Value<ReportId> = {
  accepts: REPORT_ID_FORM,
  read: (raw) => (typeof raw === "string" ? parseReportId(raw) : undefined),
};
const EXAMPLE = "report_id=crawls/2026-01-15_14-25-00_DEMO_all_full";

export function reportEndpoints(app: App): Endpoint[] {
  return [list(app), get(app), file(app), download(app), remove(app)];
}

function list({ reports }: App): Endpoint {
  return endpoint({
    path: "/v2/reports",
    methods: ["GET"],
    formats: ["json", "html"],
    description:
      "Lists the reports that finished crawls left, newest first. One that cannot be read is listed with the reason.",
    changes: null,
    query: { type: optional(oneOf(REPORT_TYPES), "Only reports of this type.") },
    examples: ["?format=json", "?type=crawl&format=html"],
    async run({ type }) {
      return ok((await reports.list(type)).map(({ json: { files, sources, ...rest } }): JsonObject => rest));
    },
    html: ({ data }) => reportListPage(data),
  });
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
    html: ({ data }) => reportPage(data),
  });
}

function file(app: App): Endpoint {
  return endpoint({
    path: "/v2/reports/file",
    methods: ["GET"],
    formats: ["raw", "json", "html"],
    description:
      "Returns one file of a report: as it is, as text in JSON, or as a table. Files that are no text, or very large, come as raw only.",
    changes: null,
    query: {
      report_id: required(reportId, "The report."),
      file_path: required(words, "The file, as the report lists it in file_path."),
    },
    examples: [`?${EXAMPLE}&file_path=report.json`, `?${EXAMPLE}&file_path=01_files/docs/files_map.csv&format=html`],
    run: ({ report_id, file_path }, call) => readFile(app, report_id, file_path, call),
    html: ({ data }) => reportFilePage(data),
    async raw({ report_id, file_path }) {
      const { bytes, content } = await app.reports.file(report_id, file_path);
      const mediaType = MEDIA_TYPES[fileTypeOf(file_path)] ?? "application/octet-stream";
      return { bytes, content, mediaType, fileName: basename(file_path) };
    },
  });
}

/** A page may show the beginning of a file; JSON that ends in the middle would pass for the whole. */
async function readFile({ reports }: App, id: ReportId, path: string, call: Call): Promise<Answer<ShownFile>> {
  const stored = await reports.file(id, path);
  if (call.format === "json" && stored.bytes > JSON_BYTES) {
    throw new BadInputError(`'${path}' has ${stored.bytes} bytes, more than fit here. Use format=raw.`);
  }
  const read = await readText(stored.content, call.format === "json" ? JSON_BYTES : PAGE_BYTES);
  if (!read) throw new BadInputError(`'${path}' is no text. Use format=raw.`);
  return ok({ report_id: id, file_path: path, content: read.text, complete: read.complete });
}

function download({ reports }: App): Endpoint {
  return endpoint({
    path: "/v2/reports/download",
    methods: ["GET"],
    formats: ["raw"],
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
