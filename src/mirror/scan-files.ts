import { lstatSync, readdirSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { Worker } from "node:worker_threads";
import { ifMissing, isErrno } from "../lib/atomic-file.ts";
import { moduleBeside } from "../lib/module-beside.ts";
import type { TimeSlice } from "../lib/time-slice.ts";
import { FilesOnDisk } from "./files-on-disk.ts";

export interface FileOnDisk {
  readonly size: number;
  /** The source's time, which the file was given. */
  readonly mtimeMs: number;
  /** When the file was moved here, by our clock. */
  readonly placedAtMs: number;
}

/** The folders to scan, below `top`. */
export interface ScanOrder {
  readonly top: string;
  readonly folders: readonly string[];
}

/** A page of files: paths separated by NUL, and three numbers each, as in FileOnDisk. */
export interface ScannedFiles {
  readonly paths: string;
  readonly numbers: Float64Array;
}

/** `path` is relative to `top`, `/`-separated. */
type OnFile = (path: string, file: FileOnDisk) => void;

/** Visits every file below a folder of `top`; none if it does not exist. Yields to other work in between. */
export async function visitFiles(top: string, folder: string, onFile: OnFile, timeSlice: TimeSlice): Promise<void> {
  // Asynchronous: storage that hangs usually does so here, and the rest of the process goes on.
  const entries = await readdir(`${top}/${folder}`, { withFileTypes: true }).catch(noneIfMissing);
  for (const entry of entries) {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) {
      await visitFiles(top, path, onFile, timeSlice);
    } else {
      // Another step may have moved the file away since the folder was read.
      const file = fileAt(`${top}/${path}`);
      if (file) onFile(path, file);
      if (timeSlice.isOver()) await timeSlice.next();
    }
  }
}

/**
 * Synchronous and twice as fast, for a worker thread; in the order in which a source lists a tree, files before
 * folders.
 */
export function visitFilesAtOnce(top: string, folder: string, onFile: OnFile): void {
  const folders: string[] = [];
  for (const name of namesIn(`${top}/${folder}`).sort()) {
    const path = `${folder}/${name}`;
    const stats = lstatSync(`${top}/${path}`, { throwIfNoEntry: false });
    if (stats?.isDirectory()) folders.push(path);
    else if (stats) onFile(path, { size: stats.size, mtimeMs: stats.mtimeMs, placedAtMs: stats.ctimeMs });
  }
  for (const path of folders) visitFilesAtOnce(top, path, onFile);
}

/** undefined: nothing is there, or a folder, or the path leads through a file. */
export function fileAt(path: string): FileOnDisk | undefined {
  try {
    const stats = lstatSync(path, { throwIfNoEntry: false });
    if (!stats || stats.isDirectory()) return undefined;
    return { size: stats.size, mtimeMs: stats.mtimeMs, placedAtMs: stats.ctimeMs };
  } catch (error) {
    if (isErrno(error, "ENOTDIR")) return undefined;
    throw error;
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    return noneIfMissing(error);
  }
}

const noneIfMissing = ifMissing<never[]>([]);

/** It holds at most the names of the largest folder. */
const MAX_HEAP_MB = 128;
const MAX_YOUNG_MB = 4;

/**
 * Scans the folders in a worker thread. undefined if the thread ends without a result, for whatever reason: the caller
 * then scans itself, and meets the error.
 */
export async function scanInThread(order: ScanOrder, signal: AbortSignal): Promise<FilesOnDisk | undefined> {
  const worker = start(order);
  if (!worker) return undefined;
  const found = new FilesOnDisk();
  const { promise: isWhole, resolve } = Promise.withResolvers<boolean>();
  worker.on("message", (files: ScannedFiles | "done") => {
    if (files === "done") resolve(true);
    else add(files, found);
  });
  worker.once("error", () => resolve(false));
  worker.once("exit", () => resolve(false));
  const end = (): void => void worker.terminate();
  signal.addEventListener("abort", end, { once: true });
  if (signal.aborted) end();
  return (await isWhole.finally(() => signal.removeEventListener("abort", end))) ? found : undefined;
}

function add({ paths, numbers }: ScannedFiles, found: FilesOnDisk): void {
  let at = 0;
  for (const path of paths.split("\0")) {
    found.add(path, numbers[at] ?? 0, numbers[at + 1] ?? 0, numbers[at + 2] ?? 0);
    at += 3;
  }
}

/** undefined: threads may not be allowed. */
function start(workerData: ScanOrder): Worker | undefined {
  const resourceLimits = { maxOldGenerationSizeMb: MAX_HEAP_MB, maxYoungGenerationSizeMb: MAX_YOUNG_MB };
  try {
    return new Worker(moduleBeside(import.meta.url, "scan-worker"), { workerData, resourceLimits });
  } catch {
    return undefined;
  }
}
