import { type FileHandle, open } from "node:fs/promises";
import { pipeline } from "node:stream";
import { crc32, createInflateRaw } from "node:zlib";
import {
  findZipDirectory,
  readZipEntries,
  ZIP_LOCAL_HEADER_BYTES,
  ZIP_TAIL_BYTES,
  type ZipEntry,
  zipContentStart,
} from "../lib/zip-directory.ts";

/** A larger directory was not written by lockstep. */
const MAX_DIRECTORY_BYTES = 8 * 1024 * 1024;

/** Lists an archive; reads only its directory. Throws if it is none. */
export async function listZip(path: string): Promise<ZipEntry[]> {
  await using file = await open(path);
  const { size } = await file.stat();
  const tailBytes = Math.min(size, ZIP_TAIL_BYTES);
  const { offset, bytes, count } = findZipDirectory(await readAt(file, size - tailBytes, tailBytes));
  if (offset + bytes > size || bytes > MAX_DIRECTORY_BYTES) throw new Error("its directory is damaged");
  return readZipEntries(await readAt(file, offset, bytes), count);
}

/**
 * Yields the content of one entry in chunks. Throws as soon as it is larger than the directory says, and at the end if it is shorter or its
 * checksum differs: a reader that got to the end without an error has all of it. The archive is open only while it is read.
 */
export async function* readZipEntry(path: string, entry: ZipEntry): AsyncGenerator<Uint8Array, void> {
  await using file = await open(path);
  if (entry.encrypted || (entry.method !== 0 && entry.method !== 8)) {
    throw new Error(`unpack '${entry.name}': it is packed in a way that is not read here`);
  }
  const start = entry.offset + zipContentStart(await readAt(file, entry.offset, ZIP_LOCAL_HEADER_BYTES));
  let [size, crc] = [0, 0];
  for await (const chunk of entry.compressedSize === 0 ? [] : unpack(file, start, entry)) {
    size += chunk.length;
    crc = crc32(chunk, crc);
    if (size > entry.size) break;
    yield chunk;
  }
  if (size !== entry.size || crc !== entry.crc32) {
    throw new Error(`unpack '${entry.name}': it is damaged: its content is not what the directory says`);
  }
}

/** The same without decompressing. Checks only that all of it is there. */
export async function* readPackedEntry(path: string, entry: ZipEntry): AsyncGenerator<Uint8Array<ArrayBuffer>, void> {
  await using file = await open(path);
  const start = entry.offset + zipContentStart(await readAt(file, entry.offset, ZIP_LOCAL_HEADER_BYTES));
  let bytes = 0;
  for await (const chunk of file.createReadStream({
    start,
    end: start + entry.compressedSize - 1,
    autoClose: false,
    highWaterMark: 1 << 20,
  })) {
    const packed = chunk as Buffer<ArrayBuffer>;
    bytes += packed.length;
    yield packed;
  }
  if (bytes !== entry.compressedSize) throw new Error(`copy '${entry.name}': it ends too early`);
}

function unpack(file: FileHandle, start: number, entry: ZipEntry): AsyncIterable<Buffer> {
  const packed = file.createReadStream({ start, end: start + entry.compressedSize - 1, autoClose: false });
  // An error of the first stream destroys the second, where the loop gets it.
  return entry.method === 0 ? packed : pipeline(packed, createInflateRaw(), () => undefined);
}

async function readAt(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const bytes = Buffer.alloc(length);
  const { bytesRead } = await file.read(bytes, 0, length, position);
  if (bytesRead < length) throw new Error("it ends too early");
  return bytes;
}
