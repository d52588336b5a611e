import { createReadStream } from "node:fs";
import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { BadInputError, explain, NotFoundError } from "../contracts/errors.ts";
import type { CrawlArchive, ReportId, ReportSummary } from "../contracts/report.ts";
import { isErrno } from "../lib/atomic-file.ts";
import { forEachConcurrent } from "../lib/concurrency.ts";
import { parseReport, REPORT_JSON, unreadableReport } from "./report-codec.ts";
import { REPORT_FOLDERS, REPORT_TYPES, type ReportType, reportIdOfFile } from "./report-id.ts";
import { reportPath, writeArchive } from "./write-archive.ts";
import { listZip, readZipEntry } from "./zip-reader.ts";

const MAX_REPORT_JSON_BYTES = 8 * 1024 * 1024;
const READ_AT_ONCE = 8;

/** Bytes that are read from disk while they are taken, and not before. */
export interface StoredBytes {
  readonly bytes: number;
  readonly content: AsyncIterable<Uint8Array>;
}

/** `reports/`: what finished crawls left for looking back, one zip each. */
export interface ReportStore {
  archive(archive: CrawlArchive): Promise<ReportId>;
  /** Newest first. One that cannot be read is told with its error, and keeps none of the others from being told. */
  list(type?: ReportType): Promise<ReportSummary[]>;
  /** NotFoundError when there is none. */
  get(id: ReportId): Promise<ReportSummary>;
  /** One file of a report; its content throws when it is damaged. NotFoundError when the report does not have it. */
  file(id: ReportId, path: string): Promise<StoredBytes>;
  /** The whole zip. */
  download(id: ReportId): Promise<StoredBytes>;
  /** What was removed. */
  remove(id: ReportId): Promise<ReportSummary>;
}

export function createReportStore(folder: string): ReportStore {
  const get = async (id: ReportId): Promise<ReportSummary> => {
    await sizeOf(folder, id);
    return readSummary(folder, id);
  };
  return {
    archive: (archive) => writeArchive(folder, archive),
    list: (type) => listReports(folder, type === undefined ? REPORT_TYPES : [type]),
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
  };
}

async function listReports(folder: string, types: readonly ReportType[]): Promise<ReportSummary[]> {
  const found: { id: ReportId; name: string }[] = [];
  for (const type of types) {
    for (const name of await namesIn(join(folder, REPORT_FOLDERS[type]))) {
      const id = reportIdOfFile(type, name);
      if (id !== undefined) found.push({ id, name });
    }
  }
  found.sort((a, b) => (a.name < b.name ? 1 : -1));
  const summaries = new Map<ReportId, ReportSummary>();
  await forEachConcurrent(found, READ_AT_ONCE, async ({ id }) => {
    summaries.set(id, await readSummary(folder, id));
  });
  return found.flatMap(({ id }) => summaries.get(id) ?? []);
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (isErrno(error, "ENOENT")) return [];
    throw error;
  }
}

async function readSummary(folder: string, id: ReportId): Promise<ReportSummary> {
  const path = reportPath(folder, id);
  try {
    const entry = (await listZip(path)).find(({ name }) => name === REPORT_JSON);
    if (!entry) throw new Error(`it has no ${REPORT_JSON}`);
    if (entry.size > MAX_REPORT_JSON_BYTES) throw new Error(`its ${REPORT_JSON} is too large`);
    const chunks: Uint8Array[] = [];
    for await (const chunk of readZipEntry(path, entry)) chunks.push(chunk);
    return parseReport(id, Buffer.concat(chunks).toString("utf8"));
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

/** Opened when the first byte is asked for: a reader that never begins leaves nothing open. */
async function* readWhole(path: string): AsyncGenerator<Uint8Array, void> {
  yield* createReadStream(path);
}

async function sizeOf(folder: string, id: ReportId): Promise<number> {
  try {
    return (await stat(reportPath(folder, id))).size;
  } catch (error) {
    if (isErrno(error, "ENOENT")) throw new NotFoundError(`Report '${id}' does not exist.`);
    throw error;
  }
}
