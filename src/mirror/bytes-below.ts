import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import { isErrno } from "../lib/atomic-file.ts";

/** What the files of a folder and of those below it take; 0 when there is no such folder. */
export async function bytesBelow(folder: string): Promise<number> {
  let bytes = 0;
  try {
    for (const entry of await readdir(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name);
      bytes += entry.isDirectory() ? await bytesBelow(path) : (await lstat(path)).size;
    }
  } catch (error) {
    if (!isErrno(error, "ENOENT")) throw error;
  }
  return bytes;
}
