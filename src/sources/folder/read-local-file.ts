import {
  close as closeSoon,
  closeSync,
  constants,
  fstat,
  fstatSync,
  lstat,
  open,
  openSync,
  read,
  readlinkSync,
  readSync,
  realpath,
  type Stats,
} from "node:fs";
import { promisify } from "node:util";
import { NotFoundError } from "../../contracts/errors.ts";
import { isErrno } from "../../lib/atomic-file.ts";
import { withErrnoExplained } from "./explain-errno.ts";
import { isWithin } from "./folder-root.ts";
import type { LocalDevices } from "./local-devices.ts";

const asyncFs = { open: promisify(open), close: promisify(closeSoon), fstat: promisify(fstat), read: promisify(read) };
const path = { lstat: promisify(lstat), real: promisify(realpath.native) };

const CHUNK_BYTES = 256 * 1024;
/** Non-blocking, so that a pipe in the place of a file does not block us. */
const FLAGS = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

interface ReadOptions {
  readonly root: string;
  /** Required stamp of the file; "": any. */
  readonly stamp: string;
  /** As for the stamp. */
  readonly ignoreInodes?: boolean;
  /** Allows synchronous calls on local disks; without it, none are made. */
  readonly devices?: LocalDevices;
  readonly signal: AbortSignal;
}

/** Reads a file below the root. Throws if it changes meanwhile, or is reached through a link. */
export async function* readLocalFile(absolute: string, options: ReadOptions): AsyncGenerator<Uint8Array, void> {
  options.signal.throwIfAborted();
  let isLocal = options.devices?.holds(absolute) ?? false;
  const fd = await openFile(absolute, { sync: isLocal });
  try {
    const before = isLocal ? fstatSync(fd) : await asyncFs.fstat(fd);
    if (!before.isFile()) throw new Error("it is no longer a file");
    isLocal = (await options.devices?.has(before.dev, absolute)) ?? false;
    await refuseLinks(absolute, options.root, { fd, stats: before });
    if (options.stamp !== "" && stampOf(before, options) !== options.stamp)
      throw new Error("it changed since it was listed");
    const isSmall = isLocal && before.size <= CHUNK_BYTES;
    const size = isSmall ? yield* readSmall(fd, before.size) : yield* readAll(fd, before.size, options.signal);
    const after = isLocal ? fstatSync(fd) : await asyncFs.fstat(fd);
    if (size !== before.size || stampOf(after) !== stampOf(before)) throw new Error("it was changed while it was read");
  } catch (error) {
    throw withErrnoExplained(error);
  } finally {
    if (isLocal) closeSync(fd);
    else await asyncFs.close(fd);
  }
}

async function openFile(absolute: string, { sync }: { readonly sync: boolean }): Promise<number> {
  try {
    return sync ? openSync(absolute, FLAGS) : await asyncFs.open(absolute, FLAGS);
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR")) throw new NotFoundError("it is not there any more", { cause: error });
    if (isErrno(error, "ELOOP")) throw new Error("it is a link now, and links are not followed", { cause: error });
    throw withErrnoExplained(error);
  }
}

/** Checks the path after the file was opened, so that links added later have no effect. */
async function refuseLinks(
  absolute: string,
  root: string,
  opened: { readonly fd: number; readonly stats: Stats },
): Promise<void> {
  const real =
    process.platform === "linux"
      ? readlinkSync(`/proc/self/fd/${opened.fd}`)
      : await realPathOf(absolute, opened.stats);
  if (real !== absolute || !isWithin(absolute, root))
    throw new Error("a link leads to it now, and links are not followed");
}

/** Returns "" if another file is at the path by now. */
async function realPathOf(absolute: string, opened: Stats): Promise<string> {
  const [real, current] = await Promise.all([path.real(absolute), path.lstat(absolute)]);
  return current.ino === opened.ino && current.dev === opened.dev ? real : "";
}

/** Returns the number of bytes read. A file that grew meanwhile is noticed by its stamp. */
async function* readAll(fd: number, expected: number, signal: AbortSignal): AsyncGenerator<Uint8Array, number> {
  let size = 0;
  while (size < expected) {
    signal.throwIfAborted();
    const length = Math.min(expected - size, CHUNK_BYTES);
    const { bytesRead, buffer } = await asyncFs.read(fd, Buffer.allocUnsafe(length), 0, length, null);
    if (bytesRead === 0) break;
    size += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
  return size;
}

/** Like `readAll`, in one synchronous call. */
function* readSmall(fd: number, expected: number): Generator<Uint8Array, number> {
  const bytes = Buffer.allocUnsafe(expected);
  const size = readSync(fd, bytes, 0, expected, null);
  if (size > 0) yield bytes.subarray(0, size);
  return size;
}

/** File stats. Numbers beyond 2^53 (inodes of some shares) are rounded; at worst a file is read once more. */
export interface FileStats {
  readonly size: number;
  /** With fraction: precise to a quarter of a microsecond, the limit of a number. */
  readonly mtimeMs: number;
  readonly ino: number;
}

/** Returns the stamp of a file. `ignoreInodes`: for file systems whose inodes change without reason. */
export function stampOf({ size, mtimeMs, ino }: FileStats, { ignoreInodes = false } = {}): string {
  return ignoreInodes ? `${size}-${mtimeMs}` : `${size}-${mtimeMs}-${ino}`;
}

/** Coarsest time resolution of file systems. */
const RESOLUTION_MS = 2000;
const DAY_MS = 86_400_000;

/** Whether a file is so young that it may change again within the same timestamp. A time far in the future does not count. */
export function isRacy(mtimeMs: number, seenAtMs: number): boolean {
  return mtimeMs > seenAtMs - RESOLUTION_MS && mtimeMs < seenAtMs + DAY_MS;
}
