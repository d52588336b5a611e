import { isErrno } from "../lib/atomic-file.ts";

/** Passes through the per-item loops: without space, every item fails. */
class DiskFullError extends Error {
  override readonly name: string = "DiskFullError";
}

const SQLITE_FULL = 13;

/** Throws DiskFullError if a full disk caused the error. Everything written so far is valid. */
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
