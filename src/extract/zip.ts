import { promisify } from "node:util";
import { inflateRaw } from "node:zlib";
import { ExtractError } from "../contracts/document.ts";
import {
  findZipDirectory,
  readZipEntries,
  ZIP_TAIL_BYTES,
  type ZipEntry,
  zipContentStart,
} from "../lib/zip-directory.ts";

const inflate = promisify(inflateRaw);

/** Text compresses well, but an office document beyond this was made to hurt. Small parts may exceed it. */
const MAX_RATIO = 500;
const RATIO_MATTERS_ABOVE = 10 * 1024 * 1024;

/** Reads the directory only. Sizes are what the archive claims; `readZipEntry` holds it to them. */
export function readZipDirectory(bytes: Buffer): ZipEntry[] {
  try {
    const { offset, count } = findZipDirectory(bytes.subarray(Math.max(0, bytes.length - ZIP_TAIL_BYTES)));
    return readZipEntries(bytes.subarray(offset), count);
  } catch (error) {
    throw broken(error);
  }
}

/** Throws when unpacking these entries would take more than `maxBytes`, or more than their packed size can explain. */
export function guardZipSize(entries: readonly ZipEntry[], maxBytes: number): void {
  let total = 0;
  for (const entry of entries) {
    total += entry.size;
    if (entry.size > RATIO_MATTERS_ABOVE && entry.size > entry.compressedSize * MAX_RATIO) {
      throw new ExtractError("invalid_file", "The file unpacks to far more than its size can explain.");
    }
    if (total > maxBytes) {
      const limit = Math.round(maxBytes / 1024 / 1024);
      throw new ExtractError("invalid_file", `The file is too large: its text unpacks to more than ${limit} MB.`);
    }
  }
}

/** The entry's bytes; an archive that claims a smaller size than it unpacks to is refused before memory fills. */
export async function readZipEntry(bytes: Buffer, entry: ZipEntry): Promise<Buffer> {
  try {
    const start = entry.offset + zipContentStart(bytes.subarray(entry.offset));
    const packed = bytes.subarray(start, start + entry.compressedSize);
    if (packed.length !== entry.compressedSize) throw broken();
    if (entry.method === 0) return packed;
    if (entry.method !== 8) throw broken(new Error(`unpack ${entry.name}: unknown method ${entry.method}`));
    const unpacked = await inflate(packed, { maxOutputLength: Math.max(1, entry.size) });
    if (unpacked.length !== entry.size) throw broken();
    return unpacked;
  } catch (error) {
    if (error instanceof ExtractError) throw error;
    throw broken(error);
  }
}

function broken(cause?: unknown): ExtractError {
  return new ExtractError("invalid_file", "The file is damaged: its archive cannot be read.", { cause });
}
