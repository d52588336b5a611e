import { opendir, rm, stat } from "node:fs/promises";
import { basename, join, relative } from "node:path";
import type { MaintenanceParts } from "../engine/maintain/maintain.ts";
import { ifMissing, isTemporary } from "../lib/atomic-file.ts";
import { PUT_ASIDE } from "../lib/put-aside.ts";
import { type Repetition, repeat } from "../lib/repeat.ts";
import { plural } from "../lib/text.ts";
import { bytesBelow } from "../mirror/bytes-below.ts";
import { EMBEDDED_FOLDER, FAILED_FOLDER, ORIGINALS_FOLDER, PRIVATE_FOLDER } from "../mirror/layout.ts";
import type { App } from "./app.ts";

const JOBS_KEPT_DAYS = 90;
const DAY_MS = 24 * 60 * 60_000;

interface RemovalOptions {
  /** Gets what could not be removed; everything else goes on. */
  readonly onError: (error: unknown) => void;
  /** Gets how much was removed. */
  readonly log: (line: string) => void;
  readonly everyMs?: number;
}

/**
 * Removes expired jobs and reports now, then every day: a server may run for months. Resolves after the first time. Never rejects: a failed
 * cleanup must not keep a server from starting.
 */
export async function removeOldDaily(
  { jobs, reports, config }: Pick<App, "jobs" | "reports" | "config">,
  { onError, log, everyMs = DAY_MS }: RemovalOptions,
): Promise<Repetition> {
  const attempt = async (noun: string, remove: () => Promise<readonly unknown[]>): Promise<void> => {
    try {
      const { length } = await remove();
      if (length > 0) log(`Removed ${plural(length, `${noun} that was`, `${noun}s that were`)} kept long enough.`);
    } catch (error) {
      onError(error);
    }
  };
  const remove = async (): Promise<void> => {
    await attempt("job", () => jobs.removeOldJobs(JOBS_KEPT_DAYS));
    const days = config.keepReportsDays;
    if (days > 0) await attempt("report", () => reports.removeOldReports(days));
  };
  await remove();
  return repeat(remove, { everyMs, onError });
}

/** A writer of a temporary file is done, or dead, long before. */
const OLD_MS = 24 * 3600_000;
const ASIDE_MS = 30 * 24 * 3600_000;
/** Folders with files of users, whose names may look like our temporary files. */
const OTHERS_NAMES = new Set([ORIGINALS_FOLDER, EMBEDDED_FOLDER, FAILED_FOLDER, "knowledge_base", "backup"]);

/** Removes what a server removes every day, temporary files of killed processes, and migrated files of an earlier release. */
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
  /** A file, or a folder with its content. */
  readonly path: string;
  readonly bytes: number;
}

/** Yields temporary files whose writers were killed, and folders with migrated files of an earlier release. */
async function* findOldFiles(folder: string, now: Date): AsyncGenerator<OldFile> {
  for await (const entry of await opendir(folder).catch(ifMissing([]))) {
    const path = join(folder, entry.name);
    const isAside = entry.isDirectory() && entry.name === PUT_ASIDE && basename(folder) === PRIVATE_FOLDER;
    if (entry.isDirectory() && !isAside && !OTHERS_NAMES.has(entry.name)) yield* findOldFiles(path, now);
    if (!isAside && !(entry.isFile() && isTemporary(entry.name))) continue;
    const facts = await stat(path).catch(() => undefined);
    if (!facts || now.getTime() - facts.mtimeMs <= (isAside ? ASIDE_MS : OLD_MS)) continue;
    if (isAside) yield { kind: "earlier_files", path, bytes: await bytesBelow(path) };
    else yield { kind: "temporary_files", path, bytes: facts.size };
  }
}
