import type { ArchivedMaps, LedgerSource } from "../contracts/ledger.ts";
import type { ReportId, ReportSummary } from "../contracts/report.ts";
import { isJsonObject, type JsonObject } from "../lib/json-object.ts";
import type { ReportStore } from "../reports/report-store.ts";

const REPORTS_AT_ONCE = 20;

/** The map files of a source in the last report that tells of it; undefined: none does, or it cannot be read. */
export async function findArchivedMaps(reports: ReportStore, source: LedgerSource): Promise<ArchivedMaps | undefined> {
  const { domainId } = source;
  for (let offset = 0; ; offset += REPORTS_AT_ONCE) {
    const page = await reports.list({ type: "crawl", domainId, limit: REPORTS_AT_ONCE, offset });
    for (const report of page) {
      const told = sourceIn(report, source);
      const holder = (told?.["map_files_in"] as ReportId | undefined) ?? report.reportId;
      const held = holder === report.reportId ? report : await reports.get(holder).catch(() => undefined);
      const names = told && held ? namesIn(held, source) : [];
      if (names.length === 0) continue;
      const files = await Promise.all(
        names.map(async (path) => ({
          name: path.slice(path.lastIndexOf("/") + 1),
          content: (await reports.file(holder, path)).content,
        })),
      );
      return { from: `the report '${holder}'`, files };
    }
    if (page.length < REPORTS_AT_ONCE) return undefined;
  }
}

function sourceIn({ json }: ReportSummary, { config }: LedgerSource): JsonObject | undefined {
  const sources = Array.isArray(json["sources"]) ? json["sources"].filter(isJsonObject) : [];
  return sources.find((one) => one["source_type"] === config.sourceType && one["source_id"] === config.sourceId);
}

function namesIn(report: ReportSummary, source: LedgerSource): string[] {
  const place = `${source.config.kind.folder}/${source.config.sourceId}/`;
  const names = sourceIn(report, source)?.["map_files"];
  return (Array.isArray(names) ? names : []).filter((name) => typeof name === "string" && name.startsWith(place));
}
