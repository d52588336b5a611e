import { type FileHandle, mkdir, open, readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { ArchivedSource, CrawlArchive, ReportId } from "../contracts/report.ts";
import { isErrno } from "../lib/atomic-file.ts";
import { fileStamp } from "../lib/file-stamp.ts";
import { toFileStamp, toUtcMicros } from "../lib/time.ts";
import { ZipWriter } from "../lib/zip-writer.ts";
import { readEarlierReports, type Snapshot } from "./earlier-reports.ts";
import { type ArchivedFile, formatReport, REPORT_JSON } from "./report-codec.ts";
import { parseReportId, REPORT_FOLDERS } from "./report-id.ts";
import { readPackedEntry } from "./zip-reader.ts";

const UNFINISHED = ".zip.tmp";
/** A writer touches its file all the time: one that stood still for so long was left by a crash. */
const ABANDONED_AFTER_MS = 60 * 60 * 1000;

/** Writes the report of a crawl. It appears whole or not at all: written beside, flushed to disk, renamed. */
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

/** Whoever creates the unfinished file has the name, unless a finished one is there: then the next name is tried. */
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
    // Last, because only now it is known what was copied.
    const report = Buffer.from(formatReport(id, archive, { files, mapsIn }));
    await zip.add(REPORT_JSON, Date.parse(archive.finishedAt), [report]);
    await zip.finish();
  } finally {
    await zip.close();
  }
}

/** A map file is replaced, never rewritten, so an open one stays as it is, whatever other runs do meanwhile. */
async function addMapFile(
  zip: ZipWriter,
  name: string,
  path: string,
  earlier: Snapshot | undefined,
): Promise<ArchivedFile | undefined> {
  const file = await openIfExists(path);
  if (!file) return undefined;
  try {
    const { mtime, size } = await file.stat();
    if (earlier && earlier.entry.size === size && earlier.modifiedAt === toUtcMicros(mtime)) {
      await zip.addPacked(name, mtime.getTime(), earlier.entry, readPackedEntry(earlier.archive, earlier.entry));
      return { path: name, bytes: size, modifiedAt: earlier.modifiedAt };
    }
    const bytes = await zip.add(name, mtime.getTime(), file.createReadStream({ autoClose: false }));
    return { path: name, bytes, modifiedAt: toUtcMicros(mtime) };
  } finally {
    await file.close();
  }
}

async function openIfExists(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path);
  } catch (error) {
    if (isErrno(error, "ENOENT")) return undefined;
    throw error;
  }
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
