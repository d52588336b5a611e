import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { JobId } from "../contracts/ids.ts";
import { isErrno } from "../lib/atomic-file.ts";
import { type ControlRequest, isControlRequest, type JobFileName, parseJobFileName } from "./job-file-name.ts";

/** A job file or a control file, where it was when the folder was read. It may have been renamed since. */
export interface FoundJobFile extends JobFileName {
  /** Folders below `jobs/`, `/`-separated. */
  readonly router: string;
  readonly path: string;
}

/** Every job and control file below the folder. Names are enough for this: no file is opened. */
export async function findJobFiles(jobsFolder: string): Promise<FoundJobFile[]> {
  const found: FoundJobFile[] = [];
  await collect(jobsFolder, "", found);
  return found;
}

/** The control files for one job in its folder. A bare `[jb_42].pause_requested` counts too. */
export function requestsFor(
  jobId: JobId,
  names: readonly string[],
): { readonly name: string; readonly request: ControlRequest }[] {
  const requests: { name: string; request: ControlRequest }[] = [];
  for (const name of names) {
    const dot = name.lastIndexOf(".");
    const extension = name.slice(dot + 1);
    if (!isControlRequest(extension)) continue;
    const isBare = name.slice(0, dot) === `[${jobId}]`;
    if (isBare || parseJobFileName(name)?.jobId === jobId) requests.push({ name, request: extension });
  }
  return requests;
}

async function collect(folder: string, router: string, found: FoundJobFile[]): Promise<void> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: unknown) => {
    if (isErrno(error, "ENOENT", "ENOTDIR")) return [];
    throw error;
  });
  for (const entry of entries) {
    if (entry.name.startsWith(".")) continue;
    const path = join(folder, entry.name);
    if (entry.isDirectory()) {
      await collect(path, router === "" ? entry.name : `${router}/${entry.name}`, found);
      continue;
    }
    const name = parseJobFileName(entry.name);
    if (name) found.push({ ...name, router, path });
  }
}
