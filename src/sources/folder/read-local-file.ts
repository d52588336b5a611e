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

const soon = { open: promisify(open), close: promisify(closeSoon), fstat: promisify(fstat), read: promisify(read) };
const path = { lstat: promisify(lstat), real: promisify(realpath.native) };

const CHUNK_BYTES = 256 * 1024;
/** A pipe that took the place of a file must not make us wait. */
const FLAGS = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

interface ReadOptions {
  readonly root: string;
  /** What the file has to have; "": anything. */
  readonly stamp: string;
  /** As the stamp was made. */
  readonly ignoreInodes?: boolean;
  /** Where files are read in fewer, synchronous calls; without it nowhere. */
  readonly devices?: LocalDevices;
  readonly signal: AbortSignal;
}

/** The bytes of a file below the root. Throws when they are not of one moment, or when a link leads to them. */
export async function* readLocalFile(absolute: string, options: ReadOptions): AsyncGenerator<Uint8Array, void> {
  options.signal.throwIfAborted();
  let isLocal = options.devices?.holds(absolute) ?? false;
  const fd = await openFile(absolute, { now: isLocal });
  try {
    const before = isLocal ? fstatSync(fd) : await soon.fstat(fd);
    if (!before.isFile()) throw new Error("it is no file any more");
    isLocal = (await options.devices?.has(before.dev, absolute)) ?? false;
    await refuseLinks(absolute, options.root, { fd, stats: before });
    if (options.stamp !== "" && stampOf(before, options) !== options.stamp)
      throw new Error("it changed since it was listed");
    const isSmall = isLocal && before.size <= CHUNK_BYTES;
    const size = isSmall ? yield* readSmall(fd, before.size) : yield* readAll(fd, before.size, options.signal);
    const after = isLocal ? fstatSync(fd) : await soon.fstat(fd);
    if (size !== before.size || stampOf(after) !== stampOf(before)) throw new Error("it was changed while it was read");
  } catch (error) {
    throw withErrnoExplained(error);
  } finally {
    if (isLocal) closeSync(fd);
    else await soon.close(fd);
  }
}

async function openFile(absolute: string, { now }: { readonly now: boolean }): Promise<number> {
  try {
    return now ? openSync(absolute, FLAGS) : await soon.open(absolute, FLAGS);
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR")) throw new NotFoundError("it is not there any more", { cause: error });
    if (isErrno(error, "ELOOP")) throw new Error("it is a link now, and links are not followed", { cause: error });
    throw withErrnoExplained(error);
  }
}

/** Asked when the file is open: whoever puts a link into the way afterwards changes nothing. */
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

/** "" when another file has the path by now. */
async function realPathOf(absolute: string, opened: Stats): Promise<string> {
  const [real, there] = await Promise.all([path.real(absolute), path.lstat(absolute)]);
  return there.ino === opened.ino && there.dev === opened.dev ? real : "";
}

/** Returns how many bytes there were; a file that grew is told by its stamp. */
async function* readAll(fd: number, expected: number, signal: AbortSignal): AsyncGenerator<Uint8Array, number> {
  let size = 0;
  while (size < expected) {
    signal.throwIfAborted();
    const room = Math.min(expected - size, CHUNK_BYTES);
    const { bytesRead, buffer } = await soon.read(fd, Buffer.allocUnsafe(room), 0, room, null);
    if (bytesRead === 0) break;
    size += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
  return size;
}

/** The same in one call. */
function* readSmall(fd: number, expected: number): Generator<Uint8Array, number> {
  const bytes = Buffer.allocUnsafe(expected);
  const size = readSync(fd, bytes, 0, expected, null);
  if (size > 0) yield bytes.subarray(0, size);
  return size;
}

/** What a file system tells of a file. Numbers beyond 2^53 (inodes of some shares) lose their end, which only ever means reading a file once more. */
export interface FileStats {
  readonly size: number;
  /** With its fraction: a quarter of a microsecond, which is as much as a number holds. */
  readonly mtimeMs: number;
  readonly ino: number;
}

/** `ignoreInodes`: where they change although the file does not. */
export function stampOf({ size, mtimeMs, ino }: FileStats, { ignoreInodes = false } = {}): string {
  return ignoreInodes ? `${size}-${mtimeMs}` : `${size}-${mtimeMs}-${ino}`;
}

/** File systems count time in steps, of up to two seconds. */
const STEP_MS = 2000;
const DAY_MS = 86_400_000;

/** So young that it may be changed again without getting another time. A time far in the future is not one that is being written now. */
export function isRacy(mtimeMs: number, seenAtMs: number): boolean {
  return mtimeMs > seenAtMs - STEP_MS && mtimeMs < seenAtMs + DAY_MS;
}
