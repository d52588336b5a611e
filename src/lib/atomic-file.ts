import { randomBytes } from "node:crypto";
import { type FileHandle, mkdir, open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";

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

/** undefined when there is no such file; any other trouble throws, so that "cannot read" never looks like "empty". */
export async function readFileIfExists(path: string): Promise<Buffer | undefined> {
  try {
    return await readWhole(path);
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
