import { join } from "node:path";
import type { DomainId } from "../contracts/ids.ts";
import type { ArchivedSource, ReportId } from "../contracts/report.ts";
import { isJsonObject, type JsonObject } from "../lib/json-object.ts";
import { namesIn } from "../lib/names-in.ts";
import type { ZipEntry } from "../lib/zip-directory.ts";
import { REPORT_JSON } from "./report-codec.ts";
import { domainOfReport, REPORT_FOLDERS, reportIdOfFile } from "./report-id.ts";
import { listZip, readZipEntry } from "./zip-reader.ts";

/** A map file as the last report of the domain has it, packed. */
export interface Snapshot {
  readonly archive: string;
  readonly entry: ZipEntry;
  /** Of the map file, not of the archive. */
  readonly modifiedAt: string;
}

/** What reports of a domain have already. Whatever is wrong with one of them, it has nothing. */
export interface EarlierReports {
  /**
   * By their place in the archive. Map files that nobody has written since the last report are copied from there as they
   * are: packing those of a large library takes longer than finding out that nothing changed in it.
   */
  readonly snapshots: ReadonlyMap<string, Snapshot>;
  /** The report that has the map files of this source as they are now; undefined: they are to be written. */
  withMapsOf(source: ArchivedSource): Promise<ReportId | undefined>;
}

interface EarlierReport {
  readonly id: ReportId;
  readonly archive: string;
  readonly entries: readonly ZipEntry[];
  readonly json: Readonly<JsonObject>;
}

/** A source that none of so many reports tells of has its map files written again. */
const MAX_REPORTS = 50;

export async function readEarlierReports(reportsFolder: string, domain: DomainId): Promise<EarlierReports> {
  const ids = (await namesIn(join(reportsFolder, REPORT_FOLDERS.crawl)))
    .sort()
    .flatMap((name) => reportIdOfFile("crawl", name) ?? [])
    .filter((id) => domainOfReport(id) === domain)
    .slice(-MAX_REPORTS)
    .reverse();
  const reading = new Map<ReportId, Promise<EarlierReport | undefined>>();
  const read = (id: ReportId): Promise<EarlierReport | undefined> => {
    const report = reading.get(id) ?? readReport(reportsFolder, id, domain).catch(() => undefined);
    reading.set(id, report);
    return report;
  };
  const [last] = ids;
  return {
    snapshots: snapshotsIn(last && (await read(last))),
    async withMapsOf(source) {
      if (!source.mapVersion) return undefined;
      for (const id of ids) {
        const report = await read(id);
        const told = report && sourceIn(report, source);
        if (!told) continue;
        if (told["map_files_version"] !== source.mapVersion) return undefined;
        const holder = told["map_files_in"] === undefined ? report : await read(told["map_files_in"] as ReportId);
        return holder && hasMaps(holder, source) ? holder.id : undefined;
      }
      return undefined;
    },
  };
}

async function readReport(reportsFolder: string, id: ReportId, domain: DomainId): Promise<EarlierReport | undefined> {
  const archive = join(reportsFolder, `${id}.zip`);
  const entries = await listZip(archive);
  const report = entries.find(({ name }) => name === REPORT_JSON);
  const chunks: Uint8Array[] = [];
  if (report) for await (const chunk of readZipEntry(archive, report)) chunks.push(chunk);
  const json: unknown = JSON.parse(Buffer.concat(chunks).toString("utf8"));
  return isJsonObject(json) && json["domain_id"] === domain ? { id, archive, entries, json } : undefined;
}

function snapshotsIn(report: EarlierReport | undefined): ReadonlyMap<string, Snapshot> {
  const snapshots = new Map<string, Snapshot>();
  const files = Array.isArray(report?.json["files"]) ? report.json["files"].filter(isJsonObject) : [];
  const times = new Map(files.map((file) => [String(file["file_path"]), String(file["last_modified_utc"])]));
  for (const entry of report?.entries ?? []) {
    const modifiedAt = times.get(entry.name);
    if (report && modifiedAt !== undefined && entry.method === 8) {
      snapshots.set(entry.name, { archive: report.archive, entry, modifiedAt });
    }
  }
  return snapshots;
}

function sourceIn({ json }: EarlierReport, { sourceType, sourceId }: ArchivedSource): Readonly<JsonObject> | undefined {
  const sources = Array.isArray(json["sources"]) ? json["sources"].filter(isJsonObject) : [];
  return sources.find((one) => one["source_type"] === sourceType && one["source_id"] === sourceId);
}

function hasMaps(report: EarlierReport, source: ArchivedSource): boolean {
  if (sourceIn(report, source)?.["map_files_version"] !== source.mapVersion) return false;
  const names = new Set(report.entries.map(({ name }) => name));
  return source.mapFiles.every(({ name }) => names.has(name));
}
