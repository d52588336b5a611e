import { lstatSync, readdirSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { isErrno } from "../lib/atomic-file.ts";
import type { TimeSlice } from "../lib/time-slice.ts";

export interface FileOnDisk {
  readonly size: number;
  /** The source's time, which we give the file. */
  readonly mtimeMs: number;
  /** When the file came to its place, by our clock. */
  readonly placedAtMs: number;
}

/** `path` is relative to `top`, `/`-separated. */
type Hear = (path: string, file: FileOnDisk) => void;

/** Every file below a folder of `top`; none when the folder is not there. Others get their turn meanwhile. */
export async function visitFiles(top: string, folder: string, hear: Hear, timeSlice: TimeSlice): Promise<void> {
  // Not in our thread: storage that hangs usually does so here, and the rest of the process goes on.
  const entries = await readdir(`${top}/${folder}`, { withFileTypes: true }).catch(noneIfGone);
  for (const entry of entries) {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) {
      await visitFiles(top, path, hear, timeSlice);
    } else {
      // Another step may have moved the file away since the folder was read.
      const file = fileAt(`${top}/${path}`);
      if (file) hear(path, file);
      if (timeSlice.isOver()) await timeSlice.next();
    }
  }
}

/** The same in half the time, for a thread that has nothing else to do; in the order in which a source lists a tree, files before folders. */
export function visitFilesAtOnce(top: string, folder: string, hear: Hear): void {
  const folders: string[] = [];
  for (const name of namesIn(`${top}/${folder}`).sort()) {
    const path = `${folder}/${name}`;
    const stats = lstatSync(`${top}/${path}`, { throwIfNoEntry: false });
    if (stats?.isDirectory()) folders.push(path);
    else if (stats) hear(path, { size: stats.size, mtimeMs: stats.mtimeMs, placedAtMs: stats.ctimeMs });
  }
  for (const path of folders) visitFilesAtOnce(top, path, hear);
}

/** undefined: there is nothing, or a folder; also where a file is on the way to it. */
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
    return noneIfGone(error);
  }
}

function noneIfGone(error: unknown): never[] {
  if (isErrno(error, "ENOENT")) return [];
  throw error;
}
