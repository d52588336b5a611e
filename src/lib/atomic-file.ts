import { randomBytes } from "node:crypto";
import { closeSync, constants, fstatSync, openSync, readFileSync } from "node:fs";
import { type FileHandle, mkdir, open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { yieldIfDue } from "./time-slice.ts";

/** Readers see the old content or the new, never a part: written beside, flushed to disk, renamed over. */
export async function writeFileAtomic(
  path: string,
  content: string | Uint8Array | Iterable<Uint8Array>,
  options: {
    readonly mode?: number;
    /** "later": a power cut may leave anything under the name. For what can be had again, and is checked when it is read. */
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

/** Is this what a file is called before it takes its place? */
export function isTemporary(name: string): boolean {
  return /\.\d+-[0-9a-f]{8}\.tmp$/.test(name);
}

/** The folder is there nearly always, and asking for it costs as much as the file. */
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

/** A pipe that took the place of a file must not make us wait. */
const READ_FLAGS = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

/** undefined when there is no such file, or a larger one. Judges the size of the very file it then reads. */
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

/** undefined when there is no such file; any other trouble throws, so that "cannot read" never looks like "empty". */
export async function readFileIfExists(path: string): Promise<Buffer | undefined> {
  await yieldIfDue();
  try {
    return readSmallFile(path) ?? (await readWhole(path));
  } catch (error) {
    if (isErrno(error, "ENOENT")) return undefined;
    throw error;
  }
}

/** In one read where the file is as long as it says: readFile() goes by half megabytes, each a turn of the event loop. */
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
