import { explain } from "../../contracts/errors.ts";

const ERRNO_REASONS: Readonly<Record<string, string>> = {
  EACCES: "no right to read it",
  // On Windows, for files that another program has open.
  EPERM: "another program has locked it, or there is no right to read it",
  ENOENT: "it vanished during the scan",
  ENOTDIR: "it is no longer a folder",
  ELOOP: "its links form a loop",
  EBUSY: "another program has locked it",
  EIO: "the disk or network reported a read error",
  ESTALE: "its share was lost",
  ETIMEDOUT: "its share does not respond",
  ENAMETOOLONG: "its path is too long for this system",
  EMFILE: "too many files are open",
};

/** Returns why a file or folder could not be read, for users, without the paths of system messages. */
export function explainErrno(error: unknown): string {
  const code = codeOf(error);
  return ERRNO_REASONS[code] ?? (code || explain(error));
}

/** Replaces a system error by one with an explanation; returns other errors unchanged. */
export function withErrnoExplained(error: unknown): unknown {
  return codeOf(error) === "" ? error : new Error(explainErrno(error));
}

function codeOf(error: unknown): string {
  return error instanceof Error && "syscall" in error && "code" in error ? String(error.code) : "";
}
