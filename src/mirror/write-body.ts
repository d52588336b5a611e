import { createHash } from "node:crypto";
import { closeSync, fstatSync, futimesSync, mkdirSync, openSync, writeSync } from "node:fs";
import { type FileHandle, open, rm } from "node:fs/promises";
import { dirname } from "node:path";
import type { Observed } from "../contracts/ledger.ts";
import { isErrno } from "../lib/atomic-file.ts";

/**
 * A body up to this size is collected and written with a few synchronous calls: most files are small, and as promises
 * these calls would cost more than the download.
 */
const SMALL_BYTES = 256 * 1024;

/** Writes a new file with the source's time. If the body throws, nothing is left behind. */
export async function writeBody(
  path: string,
  body: AsyncIterable<Uint8Array>,
  modifiedAt: string,
  signal: AbortSignal,
): Promise<Observed> {
  const hash = createHash("sha256");
  const gathered: Uint8Array[] = [];
  let size = 0;
  let file: FileHandle | undefined;
  try {
    for await (const chunk of body) {
      signal.throwIfAborted();
      hash.update(chunk);
      size += chunk.byteLength;
      if (!file && size <= SMALL_BYTES) {
        gathered.push(chunk);
        continue;
      }
      file ??= await createLarge(path, gathered);
      await writeAll(file, chunk);
    }
    const mtimeMs = file ? await finish(file, modifiedAt) : writeSmall(path, gathered, modifiedAt);
    return { size, mtimeMs, sha256: hash.digest("hex") };
  } catch (error) {
    await file?.close().catch(() => undefined);
    await rm(path, { force: true });
    throw error;
  }
}

async function createLarge(path: string, gathered: readonly Uint8Array[]): Promise<FileHandle> {
  mkdirSync(dirname(path), { recursive: true });
  const file = await open(path, "wx");
  for (const chunk of gathered) await writeAll(file, chunk);
  return file;
}

async function writeAll(file: FileHandle, chunk: Uint8Array): Promise<void> {
  for (let at = 0; at < chunk.byteLength; ) at += (await file.write(chunk, at)).bytesWritten;
}

async function finish(file: FileHandle, modifiedAt: string): Promise<number> {
  const modified = new Date(modifiedAt);
  if (!Number.isNaN(modified.getTime())) await file.utimes(modified, modified);
  const { mtimeMs } = await file.stat();
  await file.close();
  return mtimeMs;
}

function writeSmall(path: string, gathered: readonly Uint8Array[], modifiedAt: string): number {
  const fd = inFolder(dirname(path), () => openSync(path, "wx"));
  try {
    const bytes = gathered.length === 1 ? gathered[0] : Buffer.concat(gathered);
    for (let at = 0; bytes && at < bytes.byteLength; ) at += writeSync(fd, bytes, at);
    const modified = new Date(modifiedAt);
    if (!Number.isNaN(modified.getTime())) futimesSync(fd, modified, modified);
    return fstatSync(fd).mtimeMs;
  } finally {
    closeSync(fd);
  }
}

/** Runs `work`; creates the folder and tries again if it is missing, which is rare. */
export function inFolder<T>(folder: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!isErrno(error, "ENOENT")) throw error;
    mkdirSync(folder, { recursive: true });
    return work();
  }
}
