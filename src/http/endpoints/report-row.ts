import type { ReportSummary } from "../../contracts/report.ts";
import { isJsonObject, type JsonObject } from "../../lib/json-object.ts";

/** A report in a list: without its files, and its sources added up. Of one that cannot be read some fields are missing. */
export type ReportRow = Readonly<JsonObject>;

const COUNTS = ["items_total", "items_added", "items_changed", "items_moved", "items_removed", "items_failed"] as const;

export function toReportRow({ json: { files: _files, sources, ...rest } }: ReportSummary): ReportRow {
  if (!Array.isArray(sources)) return rest;
  return { ...rest, ...sumUp(sources.filter(isJsonObject)) };
}

function sumUp(sources: readonly Readonly<JsonObject>[]): Record<string, number> {
  const sums = COUNTS.map((name) => [name, sources.reduce((sum, source) => sum + (Number(source[name]) || 0), 0)]);
  return Object.fromEntries(sums) as Record<string, number>;
}
