import { randomBytes } from "node:crypto";
import { closeSync, constants, fstatSync, openSync, readFileSync } from "node:fs";
import { type FileHandle, mkdir, open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { yieldIfDue } from "./time-slice.ts";

/** Readers see the old content or the new, never a part: writes a temporary file, flushes it, renames it. */
export async function writeFileAtomic(
  path: string,
  content: string | Uint8Array | Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
  options: {
    readonly mode?: number;
    /** "later": after a power cut the file may hold anything. For content that can be made again and is checked when read. */
    readonly flush?: "now" | "later";
  } = {},
): Promise<void> {
  const temporary = `${path}.${process.pid}-${randomBytes(4).toString("hex")}.tmp`;
  try {
    const file = await openNew(temporary, options.mode);
    try {
      await file.writeFile(content);
      if (options.flush !== "later") await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

/** Tells whether it is the name of a temporary file of writeFileAtomic. */
export function isTemporary(name: string): boolean {
  return /\.\d+-[0-9a-f]{8}\.tmp$/.test(name);
}

/** Creates the folder only if it is missing: it nearly always exists, and checking costs as much as the file. */
async function openNew(path: string, mode: number | undefined): Promise<FileHandle> {
  try {
    return await open(path, "wx", mode);
  } catch (error) {
    if (!isErrno(error, "ENOENT")) throw error;
    await mkdir(dirname(path), { recursive: true });
    return await open(path, "wx", mode);
  }
}

/** Files up to this size are read and written by synchronous calls: as promises, these cost five times as much. */
export const SMALL_BYTES = 256 * 1024;

/** A pipe in place of a file must not block. */
const READ_FLAGS = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

/** Returns undefined if the file does not exist or is larger. Checks the size of the same open file that it reads. */
export function readSmallFile(path: string, maxBytes = SMALL_BYTES): Buffer | undefined {
  let fd: number;
  try {
    fd = openSync(path, READ_FLAGS);
  } catch (error) {
    if (isErrno(error, "ENOENT")) return undefined;
    throw error;
  }
  try {
    return fstatSync(fd).size <= maxBytes ? readFileSync(fd) : undefined;
  } finally {
    closeSync(fd);
  }
}

/** Returns undefined if the file does not exist. Any other error is thrown, so that "cannot read" never looks like "empty". */
export async function readFileIfExists(path: string): Promise<Buffer | undefined> {
  await yieldIfDue();
  try {
    return readSmallFile(path) ?? (await readWhole(path));
  } catch (error) {
    if (isErrno(error, "ENOENT")) return undefined;
    throw error;
  }
}

/** Reads in one call if the size is right: readFile() reads half a megabyte at a time, each in a round of the event loop. */
async function readWhole(path: string): Promise<Buffer> {
  const file = await open(path);
  try {
    const { size } = await file.stat();
    const bytes = Buffer.allocUnsafeSlow(size);
    const { bytesRead } = await file.read(bytes, 0, size, 0);
    return bytesRead === size && size > 0 ? bytes : await file.readFile();
  } finally {
    await file.close();
  }
}

export function isErrno(error: unknown, ...codes: string[]): boolean {
  return error instanceof Error && "code" in error && codes.includes(String(error.code));
}

/** For the `catch` of a promise: gives `value` for a file or folder that does not exist, and throws any other error again. */
export function ifMissing<T>(value: T): (error: unknown) => T {
  return (error) => {
    if (isErrno(error, "ENOENT")) return value;
    throw error;
  };
}
