import { isErrno } from "../lib/atomic-file.ts";

/** Thrown through the per-item loops: what fails for one item for want of space fails for all of them. */
class DiskFullError extends Error {
  override readonly name: string = "DiskFullError";
}

const SQLITE_FULL = 13;

/** A full disk is no fault of the item: the run stops here, with everything written so far valid. */
export function stopWhenFull(error: unknown): void {
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    if (at instanceof DiskFullError) throw at;
    if (isErrno(at, "ENOSPC", "EDQUOT") || isFullDatabase(at)) {
      throw new DiskFullError("the disk of the storage folder is full; free some space and crawl again", { cause: at });
    }
  }
}

function isFullDatabase(error: Error): boolean {
  return "errcode" in error && error.errcode === SQLITE_FULL;
}
