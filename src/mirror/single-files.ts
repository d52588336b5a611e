import { lstatSync, renameSync, rmdirSync, unlinkSync } from "node:fs";
import { isErrno } from "../lib/atomic-file.ts";

/** Where a folder has its place, or a file is on the way to it, it is not there either. */
export function unlinkIfExists(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    const isThere = !isErrno(error, "ENOENT", "ENOTDIR") && !lstatSync(path, { throwIfNoEntry: false })?.isDirectory();
    if (isThere) throw error;
  }
}

/** An empty folder where the file should go is nobody's, and makes way. */
export function renameOver(from: string, to: string): void {
  try {
    renameSync(from, to);
  } catch (error) {
    if (!isErrno(error, "EISDIR", "ENOTEMPTY", "EEXIST", "EPERM")) throw error;
    rmdirSync(to);
    renameSync(from, to);
  }
}
