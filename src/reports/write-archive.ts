import { mkdir, readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import type { DomainId } from "../contracts/ids.ts";
import type { ArchivedSource, CrawlArchive, ReportId } from "../contracts/report.ts";
import { isErrno } from "../lib/atomic-file.ts";
import { fileStamp, namesIn, openIfExists } from "../lib/file-system.ts";
import { isJsonObject, type JsonObject } from "../lib/json-object.ts";
import { toFileStamp, toUtcMicros } from "../lib/time.ts";
import type { ZipEntry } from "../lib/zip-directory.ts";
import { ZipWriter } from "../lib/zip-writer.ts";
import {
  type ArchivedFile,
  domainOfReport,
  formatReport,
  parseReportId,
  REPORT_FOLDERS,
  REPORT_JSON,
  reportIdOfFile,
} from "./report-codec.ts";
import { listZip, readPackedEntry, readZipEntry } from "./zip-reader.ts";

const UNFINISHED = ".zip.tmp";
/** A writer touches its file all the time: a file that was not touched for this long was left by a crash. */
const ABANDONED_AFTER_MS = 60 * 60 * 1000;

/** Writes the report of a crawl. It appears whole or not at all: temporary file, flush, rename. */
export async function writeArchive(reportsFolder: string, archive: CrawlArchive): Promise<ReportId> {
  const folder = join(reportsFolder, REPORT_FOLDERS.crawl);
  const stamp = toFileStamp(new Date(archive.finishedAt));
  const name = `${stamp}_${archive.domainId}_${archive.scope}_${archive.mode}`;
  await mkdir(folder, { recursive: true });
  await sweepAbandoned(folder);
  const { id, zip } = await claimId(reportsFolder, `${REPORT_FOLDERS.crawl}/${name}`);
  const unfinished = join(reportsFolder, `${id}${UNFINISHED}`);
  try {
    await fill(zip, id, archive, reportsFolder);
    await rename(unfinished, reportPath(reportsFolder, id));
    return id;
  } catch (error) {
    await rm(unfinished, { force: true });
    throw new Error(`write report '${id}'`, { cause: error });
  }
}

export function reportPath(reportsFolder: string, id: ReportId): string {
  return join(reportsFolder, `${id}.zip`);
}

/** The process that creates the unfinished file owns the name, unless a finished one exists: then the next name is tried. */
async function claimId(reportsFolder: string, wanted: string): Promise<{ id: ReportId; zip: ZipWriter }> {
  for (let attempt = 1; ; attempt += 1) {
    const id = parseReportId(attempt === 1 ? wanted : `${wanted}_${attempt}`);
    const unfinished = join(reportsFolder, `${id}${UNFINISHED}`);
    try {
      const zip = await ZipWriter.create(unfinished);
      if ((await fileStamp(reportPath(reportsFolder, id))) === "") return { id, zip };
      await zip.close();
      await rm(unfinished);
    } catch (error) {
      if (!isErrno(error, "EEXIST")) throw error;
    }
  }
}

async function fill(zip: ZipWriter, id: ReportId, archive: CrawlArchive, reportsFolder: string): Promise<void> {
  try {
    const files: ArchivedFile[] = [];
    const earlier = await readEarlierReports(reportsFolder, archive.domainId);
    const mapsIn = new Map<ArchivedSource, ReportId>();
    for (const source of archive.sources) {
      const holder = await earlier.withMapsOf(source);
      if (holder !== undefined) mapsIn.set(source, holder);
    }
    const written = archive.sources.filter((source) => !mapsIn.has(source));
    for (const map of written.flatMap(({ mapFiles }) => mapFiles)) {
      const { name } = map;
      if ("content" in map) {
        const bytes = await zip.add(name, Date.parse(archive.finishedAt), map.content());
        files.push({ path: name, bytes, modifiedAt: archive.finishedAt });
        continue;
      }
      const file = await addMapFile(zip, name, map.path, earlier.snapshots.get(name));
      if (file) files.push(file);
    }
    // Written last, because only now it is known what was copied.
    const report = Buffer.from(formatReport(id, archive, { files, mapsIn }));
    await zip.add(REPORT_JSON, Date.parse(archive.finishedAt), [report]);
    await zip.finish();
  } finally {
    await zip.close();
  }
}

/** Map files are replaced, never rewritten, so an open one does not change, whatever other runs do. */
async function addMapFile(
  zip: ZipWriter,
  name: string,
  path: string,
  earlier: Snapshot | undefined,
): Promise<ArchivedFile | undefined> {
  await using file = await openIfExists(path);
  if (!file) return undefined;
  const { mtime, size } = await file.stat();
  if (earlier && earlier.entry.size === size && earlier.modifiedAt === toUtcMicros(mtime)) {
    await zip.addPacked(name, mtime.getTime(), earlier.entry, readPackedEntry(earlier.archive, earlier.entry));
    return { path: name, bytes: size, modifiedAt: earlier.modifiedAt };
  }
  const bytes = await zip.add(name, mtime.getTime(), file.createReadStream({ autoClose: false }));
  return { path: name, bytes, modifiedAt: toUtcMicros(mtime) };
}

async function sweepAbandoned(folder: string): Promise<void> {
  const unfinished = (await readdir(folder)).filter((name) => name.endsWith(UNFINISHED));
  for (const path of unfinished.map((name) => join(folder, name))) {
    try {
      if (Date.now() - (await stat(path)).mtimeMs > ABANDONED_AFTER_MS) await rm(path);
    } catch (error) {
      if (!isErrno(error, "ENOENT")) throw error;
    }
  }
}

/** A map file in the last report of the domain, compressed. */
interface Snapshot {
  readonly archive: string;
  readonly entry: ZipEntry;
  /** The time of the map file, not of the archive. */
  readonly modifiedAt: string;
}

/** What earlier reports of a domain contain. A damaged report counts as empty. */
interface EarlierReports {
  /**
   * Keyed by path in the archive. Map files that did not change since the last report are copied compressed: compressing those of a large
   * library takes longer than finding out that nothing changed.
   */
  readonly snapshots: ReadonlyMap<string, Snapshot>;
  /** Returns the report that has the current map files of this source; undefined if they must be written. */
  withMapsOf(source: ArchivedSource): Promise<ReportId | undefined>;
}

interface EarlierReport {
  readonly id: ReportId;
  readonly archive: string;
  readonly entries: readonly ZipEntry[];
  readonly json: Readonly<JsonObject>;
}

/** If none of this many reports mentions a source, its map files are written again. */
const MAX_REPORTS = 50;

async function readEarlierReports(reportsFolder: string, domain: DomainId): Promise<EarlierReports> {
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
        const found = report && sourceIn(report, source);
        if (!found) continue;
        if (found["map_files_version"] !== source.mapVersion) return undefined;
        const holder = found["map_files_in"] === undefined ? report : await read(found["map_files_in"] as ReportId);
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
  const json: unknown = JSON.parse(report ? await text(readZipEntry(archive, report)) : "");
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
