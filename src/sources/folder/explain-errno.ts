import { explain } from "../../contracts/errors.ts";

const ERRNO_REASONS: Readonly<Record<string, string>> = {
  EACCES: "no right to read it",
  // Windows says it of files that another program has open.
  EPERM: "another program has locked it, or there is no right to read it",
  ENOENT: "it vanished while it was looked at",
  ENOTDIR: "it is no folder any more",
  ELOOP: "links lead to it in circles",
  EBUSY: "another program has locked it",
  EIO: "the disk or the network cannot read it",
  ESTALE: "the share it lies on was lost",
  ETIMEDOUT: "the share it lies on does not answer",
  ENAMETOOLONG: "its path is too long for this system",
  EMFILE: "too many files are open",
};

/** Why a file or folder could not be looked at, for people, without the paths of system messages. */
export function explainErrno(error: unknown): string {
  const code = codeOf(error);
  return ERRNO_REASONS[code] ?? (code || explain(error));
}

/** An error of the system says it in words; any other stays what it is. */
export function withErrnoExplained(error: unknown): unknown {
  return codeOf(error) === "" ? error : new Error(explainErrno(error));
}

function codeOf(error: unknown): string {
  return error instanceof Error && "syscall" in error && "code" in error ? String(error.code) : "";
}
