import { basename } from "node:path/posix";
import { BadInputError } from "../contracts/errors.ts";
import type { ArchivedSource, CrawlArchive, ReportId, ReportSummary } from "../contracts/report.ts";
import { isJsonObject, type JsonObject } from "../lib/json-object.ts";

export const REPORT_JSON = "report.json";

/** One file of an archive. */
export interface ArchivedFile {
  /** Its path in the archive. */
  readonly path: string;
  readonly bytes: number;
  readonly modifiedAt: string;
}

/** The files of the zip, and for which sources another report has the map files. */
interface Archived {
  readonly files: readonly ArchivedFile[];
  readonly mapsIn: ReadonlyMap<ArchivedSource, ReportId>;
}

/** Returns the text of `report.json`. It lists itself, too, with its real size. */
export function formatReport(id: ReportId, archive: CrawlArchive, { files, mapsIn }: Archived): string {
  return withOwnSize((bytes) => {
    const self = { path: REPORT_JSON, bytes, modifiedAt: archive.finishedAt };
    return `${JSON.stringify(reportJson(id, archive, { files: [self, ...files], mapsIn }), null, 2)}\n`;
  });
}

/** Returns the text of a stored report with other sizes of its files, by path. */
export function formatAgain(json: JsonObject, sizes: ReadonlyMap<string, number>): string {
  const files = Array.isArray(json["files"]) ? json["files"].filter(isJsonObject) : [];
  return withOwnSize((bytes) => {
    const now = files.map((file) => {
      const path = String(file["file_path"]);
      const size = path === REPORT_JSON ? bytes : sizes.get(path);
      return size === undefined ? file : { ...file, file_size: size };
    });
    return `${JSON.stringify({ ...json, files: now }, null, 2)}\n`;
  });
}

function withOwnSize(text: (bytes: number) => string): string {
  // The size is part of the text; it grows by a digit at most once, so this ends.
  let bytes = 0;
  for (let next = Buffer.byteLength(text(bytes)); next !== bytes; next = Buffer.byteLength(text(bytes))) bytes = next;
  return text(bytes);
}

function reportJson(id: ReportId, archive: CrawlArchive, { files, mapsIn }: Archived): JsonObject {
  const present = new Set(files.map(({ path }) => path));
  return {
    report_id: id,
    title: `Crawl of ${archive.domainId} (${archive.scope}, ${archive.mode})`,
    type: "crawl",
    created_utc: archive.finishedAt,
    ok: archive.ok,
    error: archive.error,
    files: files.map(({ path, bytes, modifiedAt }) => ({
      filename: basename(path),
      file_path: path,
      file_size: bytes,
      last_modified_utc: modifiedAt,
    })),
    domain_id: archive.domainId,
    scope: archive.scope,
    mode: archive.mode,
    source_id: archive.sourceId,
    job_id: archive.jobId,
    started_utc: archive.startedAt,
    finished_utc: archive.finishedAt,
    sources: archive.sources.map((source) => sourceJson(source, present, mapsIn.get(source))),
  };
}

function sourceJson(source: ArchivedSource, present: ReadonlySet<string>, mapsIn: ReportId | undefined): JsonObject {
  return {
    source_type: source.sourceType,
    source_id: source.sourceId,
    complete: source.complete,
    ...(source.hidden && { items_hidden: source.hidden }),
    ...(source.leftOut && { items_left_out: { ...source.leftOut } }),
    error: source.error,
    items_total: source.total,
    items_added: source.added,
    items_changed: source.changed,
    items_moved: source.moved,
    items_removed: source.removed,
    items_failed: source.failed,
    map_files: source.mapFiles.map(({ name }) => name).filter((name) => present.has(name)),
    ...(mapsIn && { map_files_in: mapsIn }),
    ...(source.mapVersion && { map_files_version: source.mapVersion }),
  };
}

/** Throws if it is no report. The file name says which report it is; the id in the text is not trusted. */
export function parseReport(id: ReportId, text: string): ReportSummary {
  const json: unknown = JSON.parse(text);
  if (!isJsonObject(json)) throw new Error(`${REPORT_JSON} must hold a JSON object`);
  const word = (key: string): string => (typeof json[key] === "string" ? json[key] : "");
  return {
    reportId: id,
    readable: true,
    title: word("title"),
    type: reportTypeOf(id),
    createdAt: word("created_utc") || stampedAt(id),
    ok: json["ok"] === true,
    error: word("error"),
    json: { ...json, report_id: id },
  };
}

export function unreadableReport(id: ReportId, reason: string): ReportSummary {
  const [type, createdAt, error] = [reportTypeOf(id), stampedAt(id), `The report cannot be read: ${reason}`];
  const json = { report_id: id, title: "", type, created_utc: createdAt, ok: false, error, files: [] };
  return { reportId: id, readable: false, title: "", type, createdAt, ok: false, error, json };
}

/** The folder below `reports/` that each type of report lives in. */
export const REPORT_FOLDERS = { crawl: "crawls" } as const;
export type ReportType = keyof typeof REPORT_FOLDERS;
export const REPORT_TYPES = Object.keys(REPORT_FOLDERS) as readonly ReportType[];

export const REPORT_ID_FORM = "like crawls/2026-01-15_14-25-00_DEMO_all_full";
const FOLDERS: readonly string[] = Object.values(REPORT_FOLDERS);
/** No name can leave the folder, and none needs encoding in an address. */
const NAME = /^\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d_[A-Za-z0-9_-]{1,150}$/;

export function parseReportId(text: string): ReportId {
  const [folder = "", name = "", ...rest] = text.split("/");
  if (rest.length === 0 && FOLDERS.includes(folder) && NAME.test(name)) return text as ReportId;
  throw new BadInputError(`'report_id' must be ${REPORT_ID_FORM}; got '${text.slice(0, 80)}'.`);
}

/** Returns undefined for a file that is no report of lockstep. */
export function reportIdOfFile(type: ReportType, fileName: string): ReportId | undefined {
  const name = fileName.endsWith(".zip") ? fileName.slice(0, -4) : "";
  return NAME.test(name) ? (`${REPORT_FOLDERS[type]}/${name}` as ReportId) : undefined;
}

export function reportTypeOf(id: ReportId): ReportType {
  return REPORT_TYPES.find((type) => id.startsWith(`${REPORT_FOLDERS[type]}/`)) ?? "crawl";
}

/** Returns the instant in the name, ISO 8601 UTC: all that is known about an unreadable report. */
export function stampedAt(id: ReportId): string {
  const [, year, clock] = /\/([\d-]{10})_([\d-]{8})_/.exec(id) ?? [];
  return `${year}T${clock?.replaceAll("-", ":")}.000000Z`;
}

/** Returns the part before the last two words of `…_DEMO_all_full`, `…_DEMO_all_full_2`; "" if the name has another form. */
export function domainOfReport(id: ReportId): string {
  return /\/[\d-]{10}_[\d-]{8}_(.+)_[a-z]+_[a-z]+(?:_\d+)?$/.exec(id)?.[1] ?? "";
}
