import { rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { explain } from "../contracts/errors.ts";
import type { ReportId } from "../contracts/report.ts";
import { encodeCsvRow, readCsvPages } from "../lib/csv.ts";
import { namesIn } from "../lib/file-system.ts";
import { isJsonObject } from "../lib/json-object.ts";
import { WordFinder } from "../lib/mask-file.ts";
import type { ZipEntry } from "../lib/zip-directory.ts";
import { ZipWriter } from "../lib/zip-writer.ts";
import { domainOfReport, formatAgain, REPORT_FOLDERS, REPORT_JSON, reportIdOfFile, stampedAt } from "./report-codec.ts";
import { reportPath } from "./write-archive.ts";
import { listZip, readPackedEntry, readZipEntry } from "./zip-reader.ts";

/** What leaves the reports. */
export interface ReportErasure {
  /** Whether reports of this domain are looked at. */
  concerns(domainId: string): boolean;
  /** Ids of the item and its files: a row with one of them in a field goes. */
  readonly ids: readonly string[];
  /** Names, paths and addresses: a row with one of them as a field goes, and text with one of them is masked. */
  readonly words: readonly string[];
}

export interface ErasedReports {
  /** How many were, or in a dry run would be, rewritten. */
  readonly rewritten: number;
  /** Reports that cannot be read, and why. */
  readonly problems: readonly string[];
}

/** Rewrites the reports that name an item, one after the other; each is whole at every moment. */
export async function eraseFromReports(
  folder: string,
  erasure: ReportErasure,
  { dryRun }: { readonly dryRun: boolean },
): Promise<ErasedReports> {
  const named = new WordFinder([...erasure.ids, ...erasure.words]);
  const problems: string[] = [];
  let rewritten = 0;
  for (const name of await namesIn(join(folder, REPORT_FOLDERS.crawl))) {
    const id = reportIdOfFile("crawl", name);
    if (id === undefined || !erasure.concerns(domainOfReport(id))) continue;
    try {
      const entries = await listZip(reportPath(folder, id));
      if (!(await isNamedIn(reportPath(folder, id), entries, named))) continue;
      if (!dryRun) await rewrite(folder, id, entries, erasure);
      rewritten += 1;
    } catch (error) {
      problems.push(`the report '${id}' cannot be read: ${explain(error)}`);
    }
  }
  return { rewritten, problems };
}

async function isNamedIn(path: string, entries: readonly ZipEntry[], named: WordFinder): Promise<boolean> {
  for (const entry of entries) {
    let tail: Buffer = Buffer.alloc(0);
    for await (const chunk of readZipEntry(path, entry)) {
      const piece = Buffer.concat([tail, chunk]);
      if (named.isIn(piece)) return true;
      tail = piece.subarray(Math.max(0, piece.length - named.overlap));
    }
  }
  return false;
}

async function rewrite(
  folder: string,
  id: ReportId,
  entries: readonly ZipEntry[],
  erasure: ReportErasure,
): Promise<void> {
  const path = reportPath(folder, id);
  const unfinished = `${path}.tmp`;
  const writtenAtMs = Date.parse(stampedAt(id));
  await rm(unfinished, { force: true });
  const zip = await ZipWriter.create(unfinished);
  try {
    const sizes = new Map<string, number>();
    for (const entry of entries.filter(({ name }) => name !== REPORT_JSON)) {
      if (entry.name.endsWith(".csv")) {
        sizes.set(entry.name, await zip.add(entry.name, writtenAtMs, rowsLeft(path, entry, erasure)));
      } else {
        await zip.addPacked(entry.name, writtenAtMs, entry, readPackedEntry(path, entry));
      }
    }
    const report = entries.find(({ name }) => name === REPORT_JSON);
    if (report) await zip.add(REPORT_JSON, writtenAtMs, [await maskedReport(path, report, erasure, sizes)]);
    await zip.finish();
    await zip.close();
    await rename(unfinished, path);
  } catch (error) {
    await zip.close().catch(() => undefined);
    await rm(unfinished, { force: true });
    throw error;
  }
}

async function* rowsLeft(path: string, entry: ZipEntry, { ids, words }: ReportErasure): AsyncGenerator<Uint8Array> {
  const own = new Set([...ids, ...words, ...words.map((word) => word.replaceAll("/", "\\"))]);
  const finder = new WordFinder(words);
  for await (const rows of readCsvPages(readZipEntry(path, entry))) {
    const left = rows.filter((row) => !row.some((field) => own.has(field)));
    const text = left.map((row) => `${encodeCsvRow(row.map((field) => finder.mask(field)))}\r\n`).join("");
    if (text !== "") yield Buffer.from(text);
  }
}

async function maskedReport(
  path: string,
  entry: ZipEntry,
  { words }: ReportErasure,
  sizes: ReadonlyMap<string, number>,
): Promise<Uint8Array> {
  const masked = new WordFinder(words).mask(await text(readZipEntry(path, entry)));
  const json: unknown = JSON.parse(masked);
  return Buffer.from(isJsonObject(json) ? formatAgain(json, sizes) : masked);
}
