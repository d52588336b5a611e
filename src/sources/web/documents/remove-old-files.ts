import { opendir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { isErrno } from "../../../lib/atomic-file.ts";

/** Removes files last written before then, and leaves folders, into which somebody may be writing. Returns how many files left. */
export async function removeOldFiles(
  folder: string,
  before: Date,
  options: { readonly except?: string } = {},
): Promise<number> {
  let removed = 0;
  try {
    for await (const entry of await opendir(folder)) {
      const path = join(folder, entry.name);
      if (entry.name === options.except) continue;
      if (entry.isDirectory()) {
        removed += await removeOldFiles(path, before);
      } else if (await isOlder(path, before)) {
        await rm(path, { force: true });
        removed += 1;
      }
    }
  } catch (error) {
    // Nothing was ever kept, or somebody else removed the folder.
    if (!isErrno(error, "ENOENT")) throw error;
  }
  return removed;
}

/** false for one that is not there. */
export async function isOlder(path: string, before: Date): Promise<boolean> {
  try {
    return (await stat(path)).mtimeMs < before.getTime();
  } catch (error) {
    if (isErrno(error, "ENOENT")) return false;
    throw error;
  }
}
