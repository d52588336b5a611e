import { BadInputError } from "../../contracts/errors.ts";
import type { ReportId } from "../../contracts/report.ts";
import type { JsonObject } from "../../lib/json-object.ts";
import { encodeSpreadsheetRow } from "../../lib/spreadsheet-csv.ts";
import { readText } from "../../reports/read-text.ts";
import type { ReportStore, StoredBytes } from "../../reports/report-store.ts";
import { readMatchingRows, readTableWindow } from "../../reports/table-window.ts";
import type { Answer, Call, RawAnswer } from "../grammar/endpoint.ts";
import { type Listing, MAX_LIMIT } from "../grammar/listing.ts";
import { PAGE_ROWS } from "../pages/paged-table.ts";

/** What fits into one JSON text, or one page; `format=raw` has no limit. */
const JSON_BYTES = 4 * 1024 * 1024;
const PAGE_BYTES = 512 * 1024;

export interface FileWish extends Listing {
  readonly report_id: ReportId;
  readonly file_path: string;
  /** Of a table, only the rows that tell of an error. */
  readonly failed: boolean;
}

/** One file of a report as it is told: as text, or some rows of it. */
export type ShownFile = ShownText | ShownTable;

interface ShownText {
  readonly report_id: ReportId;
  readonly file_path: string;
  readonly content: string;
  /** false: there is more of it than is shown. */
  readonly complete: boolean;
}

export interface ShownTable {
  readonly report_id: ReportId;
  readonly file_path: string;
  readonly columns: readonly string[];
  /** By the names of the columns. */
  readonly rows: readonly Readonly<JsonObject>[];
}

/** Of a table, the rows that were asked for; a page always shows rows. */
export async function readReportFile(reports: ReportStore, wish: FileWish, call: Call): Promise<Answer<ShownFile>> {
  const asked =
    wish.limit !== undefined || wish.offset > 0 || wish.sort !== undefined || wish.filter !== "" || wish.failed;
  const isTable = wish.file_path.endsWith(".csv");
  if (asked && !isTable)
    throw new BadInputError(`'${wish.file_path}' is no table, so it takes no limit, sort or filter.`);
  return isTable && (asked || call.format === "html") ? readTable(reports, wish, call) : readWhole(reports, wish, call);
}

async function readTable(reports: ReportStore, wish: FileWish, call: Call): Promise<Answer<ShownTable>> {
  const { report_id, file_path, offset } = wish;
  const limit = wish.limit ?? (call.format === "html" ? PAGE_ROWS : MAX_LIMIT);
  const window = await readTableWindow(() => reports.file(report_id, file_path), { ...wish, limit }, call.signal);
  const { columns, total } = window;
  const rows = window.rows.map((row) => Object.fromEntries(columns.map((name, at) => [name, row[at] ?? ""])));
  const page = { offset, limit, total, more: offset + rows.length < total };
  return { ok: true, error: "", data: { report_id, file_path, columns, rows }, page };
}

/** A page may show the beginning of a file; JSON that ends in the middle would pass for the whole. */
async function readWhole(reports: ReportStore, wish: FileWish, call: Call): Promise<Answer<ShownFile>> {
  const { report_id, file_path } = wish;
  const stored = await reports.file(report_id, file_path);
  if (call.format === "json" && stored.bytes > JSON_BYTES) {
    throw new BadInputError(`'${file_path}' has ${stored.bytes} bytes, more than fit here. Use format=raw.`);
  }
  const read = await readText(stored.content, call.format === "json" ? JSON_BYTES : PAGE_BYTES);
  if (!read) throw new BadInputError(`'${file_path}' is no text. Use format=raw.`);
  return { ok: true, error: "", data: { report_id, file_path, content: read.text, complete: read.complete } };
}

/** All rows that match, safe to open in a spreadsheet. Made while it is sent, in the order of the file. */
export function spreadsheet(content: StoredBytes["content"], wish: FileWish): Omit<RawAnswer, "fileName"> {
  if (!wish.file_path.endsWith(".csv")) throw new BadInputError(`'${wish.file_path}' is no table. Use format=raw.`);
  if (wish.sort !== undefined) throw new BadInputError("format=csv comes in the order of the file: leave out 'sort'.");
  return { bytes: undefined, mediaType: "text/csv; charset=utf-8", content: spreadsheetRows(content, wish) };
}

/** Spreadsheets take a file for UTF-8 only when it begins with this. */
const BYTE_ORDER_MARK = "\ufeff";

async function* spreadsheetRows(
  content: StoredBytes["content"],
  { filter, failed, offset, limit = Number.POSITIVE_INFINITY }: FileWish,
): AsyncGenerator<Uint8Array, void> {
  let at = -1;
  let text = BYTE_ORDER_MARK;
  for await (const page of readMatchingRows({ content }, { filter, failed })) {
    for (const row of page) {
      // The header comes first and counts for nothing.
      if (at < 0 || (at >= offset && at < offset + limit)) text += `${encodeSpreadsheetRow(row)}\r\n`;
      at += 1;
    }
    if (text !== "") yield Buffer.from(text);
    text = "";
    if (at >= offset + limit) return;
  }
}
