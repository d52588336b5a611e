import { createReadStream } from "node:fs";
import { rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { BadInputError, explain, NotFoundError } from "../contracts/errors.ts";
import type { DomainId } from "../contracts/ids.ts";
import type { CrawlArchive, ReportId, ReportSummary } from "../contracts/report.ts";
import { ifMissing } from "../lib/atomic-file.ts";
import { forEachConcurrent } from "../lib/concurrency.ts";
import { namesIn } from "../lib/file-system.ts";
import { isJsonObject } from "../lib/json-object.ts";
import {
  domainOfReport,
  parseReport,
  REPORT_FOLDERS,
  REPORT_JSON,
  REPORT_TYPES,
  type ReportType,
  reportIdOfFile,
  reportTypeOf,
  stampedAt,
  unreadableReport,
} from "./report-codec.ts";
import { reportPath, writeArchive } from "./write-archive.ts";
import { listZip, readZipEntry } from "./zip-reader.ts";

const MAX_REPORT_JSON_BYTES = 8 * 1024 * 1024;
const READ_AT_ONCE = 8;

/** Bytes that are read from disk only while they are consumed. */
export interface StoredBytes {
  readonly bytes: number;
  readonly content: AsyncIterable<Uint8Array>;
}

/** `reports/`: the archives of finished crawls, one zip each. */
export interface ReportStore {
  archive(archive: CrawlArchive): Promise<ReportId>;
  /** Newest first. An unreadable report is listed with its error and does not affect the others. */
  list(options?: ReportListing): Promise<ReportSummary[]>;
  /** Counts by file names alone. */
  count(options?: Pick<ReportListing, "type" | "domainId">): Promise<number>;
  /** Throws NotFoundError if there is none. */
  get(id: ReportId): Promise<ReportSummary>;
  /** Returns one file of a report; its content throws if it is damaged. NotFoundError if the report does not have it. */
  file(id: ReportId, path: string): Promise<StoredBytes>;
  /** Returns the whole zip. */
  download(id: ReportId): Promise<StoredBytes>;
  /** Returns what was removed. */
  remove(id: ReportId): Promise<ReportSummary>;
  /**
   * Removes older reports, except the newest of every domain and those that have map files for a report that stays. Returns the removed
   * ones; a dry run only returns them.
   */
  removeOldReports(olderThanDays: number, options?: { readonly dryRun: boolean }): Promise<readonly RemovedReport[]>;
}

export interface RemovedReport {
  readonly id: ReportId;
  readonly bytes: number;
}

export interface ReportListing {
  readonly type?: ReportType | undefined;
  readonly domainId?: DomainId | undefined;
  /** Only these are opened; without it, all. */
  readonly limit?: number | undefined;
  readonly offset?: number | undefined;
}

export function createReportStore(folder: string): ReportStore {
  const get = async (id: ReportId): Promise<ReportSummary> => {
    await sizeOf(folder, id);
    return readSummary(folder, id);
  };
  return {
    archive: (archive) => writeArchive(folder, archive),
    list: (options = {}) => listReports(folder, options),
    count: async (options = {}) => (await reportIds(folder, options)).length,
    get,
    file: (id, path) => openFile(folder, id, path),
    async download(id) {
      return { bytes: await sizeOf(folder, id), content: readWhole(reportPath(folder, id)) };
    },
    async remove(id) {
      const summary = await get(id);
      await rm(reportPath(folder, id), { force: true });
      return summary;
    },
    removeOldReports: (olderThanDays, options) => removeOldReports(folder, olderThanDays, options),
  };
}

/** Goes by the time in the name, not that of the file: copying the storage folder does not make reports younger. */
async function removeOldReports(
  folder: string,
  olderThanDays: number,
  { dryRun } = { dryRun: false },
): Promise<readonly RemovedReport[]> {
  const before = Date.now() - olderThanDays * 24 * 60 * 60_000;
  const newest = new Set<string>();
  const ids = await reportIds(folder, {});
  const old = ids.filter((id) => {
    const group = `${reportTypeOf(id)} ${domainOfReport(id)}`;
    const isNewest = !newest.has(group);
    newest.add(group);
    return !isNewest && Date.parse(stampedAt(id)) < before;
  });
  const named =
    old.length === 0
      ? new Set()
      : await namedForMaps(
          folder,
          ids.filter((id) => !old.includes(id)),
        );
  const removed: RemovedReport[] = [];
  // Reports that could not be removed are thrown as an error after the others were removed.
  const stuck: unknown[] = [];
  for (const id of old) {
    if (named.has(id)) continue;
    try {
      const bytes = await sizeOf(folder, id);
      if (!dryRun) await rm(reportPath(folder, id), { force: true });
      removed.push({ id, bytes });
    } catch (error) {
      // Another process may remove reports at the same time.
      if (!(error instanceof NotFoundError)) stuck.push(error);
    }
  }
  if (stuck.length > 0) throw stuck[0];
  return removed;
}

/** Returns the reports that these name for the map files of a source. */
async function namedForMaps(folder: string, ids: readonly ReportId[]): Promise<ReadonlySet<unknown>> {
  const named = new Set<unknown>();
  await forEachConcurrent(ids, READ_AT_ONCE, async (id) => {
    const { sources } = (await readSummary(folder, id)).json;
    for (const source of Array.isArray(sources) ? sources.filter(isJsonObject) : []) named.add(source["map_files_in"]);
  });
  return named;
}

async function listReports(folder: string, options: ReportListing): Promise<ReportSummary[]> {
  const { offset = 0, limit = Number.POSITIVE_INFINITY } = options;
  const found = (await reportIds(folder, options)).slice(offset, offset + limit);
  const summaries = new Map<ReportId, ReportSummary>();
  await forEachConcurrent(found, READ_AT_ONCE, async (id) => {
    summaries.set(id, await readSummary(folder, id));
  });
  return found.flatMap((id) => summaries.get(id) ?? []);
}

/** Newest first. */
async function reportIds(folder: string, { type, domainId }: ReportListing): Promise<ReportId[]> {
  const found: { id: ReportId; name: string }[] = [];
  for (const one of type === undefined ? REPORT_TYPES : [type]) {
    for (const name of await namesIn(join(folder, REPORT_FOLDERS[one]))) {
      const id = reportIdOfFile(one, name);
      if (id !== undefined && (domainId === undefined || domainOfReport(id) === domainId)) found.push({ id, name });
    }
  }
  return found.sort((a, b) => (a.name < b.name ? 1 : -1)).map(({ id }) => id);
}

async function readSummary(folder: string, id: ReportId): Promise<ReportSummary> {
  const path = reportPath(folder, id);
  try {
    const entry = (await listZip(path)).find(({ name }) => name === REPORT_JSON);
    if (!entry) throw new Error(`it has no ${REPORT_JSON}`);
    if (entry.size > MAX_REPORT_JSON_BYTES) throw new Error(`its ${REPORT_JSON} is too large`);
    return parseReport(id, await text(readZipEntry(path, entry)));
  } catch (error) {
    return unreadableReport(id, explain(error));
  }
}

async function openFile(folder: string, id: ReportId, filePath: string): Promise<StoredBytes> {
  await sizeOf(folder, id);
  const path = reportPath(folder, id);
  const entries = await listZip(path).catch((error: unknown) => {
    throw new BadInputError(`Report '${id}' cannot be read: ${explain(error)}.`, { cause: error });
  });
  const entry = entries.find(({ name }) => name === filePath);
  if (!entry) throw new NotFoundError(`Report '${id}' has no file '${filePath.slice(0, 200)}'.`);
  return { bytes: entry.size, content: readZipEntry(path, entry) };
}

/** Opened with the first read: a reader that never begins leaves nothing open. */
async function* readWhole(path: string): AsyncGenerator<Uint8Array, void> {
  yield* createReadStream(path);
}

async function sizeOf(folder: string, id: ReportId): Promise<number> {
  const found = await stat(reportPath(folder, id)).catch(ifMissing(undefined));
  if (!found) throw new NotFoundError(`Report '${id}' does not exist.`);
  return found.size;
}
