import { BadInputError } from "../contracts/errors.ts";
import type { ReportId } from "../contracts/report.ts";

/** The folder below `reports/` that each type of report lives in. */
export const REPORT_FOLDERS = { crawl: "crawls" } as const;
export type ReportType = keyof typeof REPORT_FOLDERS;
export const REPORT_TYPES = Object.keys(REPORT_FOLDERS) as readonly ReportType[];

export const REPORT_ID_FORM = "like crawls/2026-01-15_14-25-00_DEMO_all_full";
const FOLDERS: readonly string[] = Object.values(REPORT_FOLDERS);
/** Nothing in it can leave the folder, and nothing in it needs encoding in an address. */
const NAME = /^\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d_[A-Za-z0-9_-]{1,150}$/;

export function parseReportId(text: string): ReportId {
  const [folder = "", name = "", ...rest] = text.split("/");
  if (rest.length === 0 && FOLDERS.includes(folder) && NAME.test(name)) return text as ReportId;
  throw new BadInputError(`'report_id' must be ${REPORT_ID_FORM}; got '${text.slice(0, 80)}'.`);
}

/** undefined for a file that is no report of ours. */
export function reportIdOfFile(type: ReportType, fileName: string): ReportId | undefined {
  const name = fileName.endsWith(".zip") ? fileName.slice(0, -4) : "";
  return NAME.test(name) ? (`${REPORT_FOLDERS[type]}/${name}` as ReportId) : undefined;
}

export function reportTypeOf(id: ReportId): ReportType {
  return REPORT_TYPES.find((type) => id.startsWith(`${REPORT_FOLDERS[type]}/`)) ?? "crawl";
}

/** The instant in the name, ISO 8601 UTC: all that is known of a report that cannot be read. */
export function stampedAt(id: ReportId): string {
  const [, year, clock] = /\/([\d-]{10})_([\d-]{8})_/.exec(id) ?? [];
  return `${year}T${clock?.replaceAll("-", ":")}.000000Z`;
}

/** `…_DEMO_all_full`, `…_DEMO_all_full_2`: what stands before the last two words. "" when the name is not of that form. */
export function domainOfReport(id: ReportId): string {
  return /\/[\d-]{10}_[\d-]{8}_(.+)_[a-z]+_[a-z]+(?:_\d+)?$/.exec(id)?.[1] ?? "";
}
