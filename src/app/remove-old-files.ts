import { opendir, readdir, rm, stat } from "node:fs/promises";
import { basename, join, relative } from "node:path";
import type { MaintenanceParts } from "../engine/maintain/maintain.ts";
import { isErrno, isTemporary } from "../lib/atomic-file.ts";
import { PUT_ASIDE } from "../lib/put-aside.ts";
import { EMBEDDED_FOLDER, FAILED_FOLDER, ORIGINALS_FOLDER, PRIVATE_FOLDER } from "../mirror/layout.ts";
import type { App } from "./app.ts";
import { JOBS_KEPT_DAYS } from "./remove-old.ts";

/** Whoever writes a file beside its place is done, or dead, long before. */
const OLD_MS = 24 * 3600_000;
const ASIDE_MS = 30 * 24 * 3600_000;
/** Here files have the names that others gave them, which may look like ours. */
const OTHERS_NAMES = new Set([ORIGINALS_FOLDER, EMBEDDED_FOLDER, FAILED_FOLDER, "knowledge_base", "backup"]);

/** What a server does every day, the files that killed processes left, and those of an earlier release that were taken over. */
export function removeOldFiles(
  { jobs, reports, config }: Pick<App, "jobs" | "reports" | "config">,
  now: () => Date,
): MaintenanceParts["removeOld"] {
  return async (tally, { dryRun }) => {
    const note = { domain_id: "", source_id: "" };
    for (const { jobId, bytes } of await jobs.removeOldJobs(JOBS_KEPT_DAYS, { dryRun })) {
      tally.add({ ...note, kind: "jobs", what: jobId, bytes });
    }
    const days = config.keepReportsDays;
    for (const { id, bytes } of days > 0 ? await reports.removeOldReports(days, { dryRun }) : []) {
      tally.add({ ...note, kind: "reports", what: id, bytes });
    }
    for await (const { kind, path, bytes } of findOldFiles(config.storagePath, now())) {
      if (!dryRun) await rm(path, { force: true, recursive: true });
      tally.add({ ...note, kind, what: relative(config.storagePath, path), bytes });
    }
  };
}

interface OldFile {
  readonly kind: "temporary_files" | "earlier_files";
  /** A file, or a folder with everything in it. */
  readonly path: string;
  readonly bytes: number;
}

/** Files that were to take the place of others, and whose writers were killed before; folders with what was taken over from an earlier release. */
async function* findOldFiles(folder: string, now: Date): AsyncGenerator<OldFile> {
  for await (const entry of entriesOf(folder)) {
    const path = join(folder, entry.name);
    const isAside = entry.isDirectory() && entry.name === PUT_ASIDE && basename(folder) === PRIVATE_FOLDER;
    if (entry.isDirectory() && !isAside && !OTHERS_NAMES.has(entry.name)) yield* findOldFiles(path, now);
    if (!isAside && !(entry.isFile() && isTemporary(entry.name))) continue;
    const facts = await stat(path).catch(() => undefined);
    if (!facts || now.getTime() - facts.mtimeMs <= (isAside ? ASIDE_MS : OLD_MS)) continue;
    if (isAside) yield { kind: "earlier_files", path, bytes: await bytesIn(path) };
    else yield { kind: "temporary_files", path, bytes: facts.size };
  }
}

async function bytesIn(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  const sizes = files.map(async ({ parentPath, name }) => (await stat(join(parentPath, name))).size);
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}

async function* entriesOf(folder: string) {
  try {
    yield* await opendir(folder);
  } catch (error) {
    if (!isErrno(error, "ENOENT")) throw error;
  }
}
