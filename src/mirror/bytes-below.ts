import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import { isErrno } from "../lib/atomic-file.ts";

/** Returns the size of all files below a folder; 0 if it does not exist. */
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
