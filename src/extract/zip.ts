import { inflateRawSync } from "node:zlib";
import { ExtractError } from "../contracts/document.ts";
import {
  findZipDirectory,
  readZipEntries,
  ZIP_LOCAL_HEADER_BYTES,
  ZIP_TAIL_BYTES,
  type ZipEntry,
  zipContentStart,
} from "../lib/zip-directory.ts";
import type { ByteSource } from "./byte-source.ts";
import { inMegabytes } from "./limits.ts";

/** Text compresses well, but an office document beyond this was made to hurt. Small parts may exceed it. */
const MAX_RATIO = 500;
const RATIO_MATTERS_ABOVE = 10 * 1024 * 1024;

/** Reads the directory only. Sizes are what the archive claims; `readZipEntry` holds it to them. */
export function readZipDirectory(source: ByteSource): ZipEntry[] {
  try {
    const tail = source.read(Math.max(0, source.size - ZIP_TAIL_BYTES), ZIP_TAIL_BYTES);
    const { offset, bytes, count } = findZipDirectory(tail);
    return readZipEntries(source.read(offset, bytes), count);
  } catch (error) {
    throw broken(error);
  }
}

/**
 * The parts that are wanted, by name. They may not unpack to more than `maxBytes`, nor to more than their packed size
 * can explain, nor share packed bytes: what is small in a directory may be endless in memory.
 */
export function readZipParts(
  source: ByteSource,
  isWanted: (name: string) => boolean,
  maxBytes: number,
): Map<string, Buffer> {
  const entries = readZipDirectory(source).filter(({ name }) => isWanted(name.replace(/^\/+/, "")));
  if (entries.some((entry) => entry.encrypted)) {
    throw new ExtractError("invalid_file", "The document is protected by a password.");
  }
  guardSizes(entries, maxBytes);
  guardOverlaps(entries);
  return new Map(entries.map((entry) => [entry.name.replace(/^\/+/, ""), readZipEntry(source, entry)]));
}

function guardSizes(entries: readonly ZipEntry[], maxBytes: number): void {
  let total = 0;
  for (const entry of entries) {
    total += entry.size;
    if (entry.size > RATIO_MATTERS_ABOVE && entry.size > entry.compressedSize * MAX_RATIO) {
      throw new ExtractError("invalid_file", "The file unpacks to far more than its size can explain.");
    }
    if (total > maxBytes) {
      throw new ExtractError(
        "invalid_file",
        `The file is too large: its text unpacks to more than ${inMegabytes(maxBytes)} MB.`,
      );
    }
  }
}

function guardOverlaps(entries: readonly ZipEntry[]): void {
  let end = 0;
  for (const { offset, compressedSize } of entries.toSorted((a, b) => a.offset - b.offset)) {
    if (offset < end) {
      throw new ExtractError("invalid_file", "The file is made to hurt: parts of its archive overlap.");
    }
    end = offset + ZIP_LOCAL_HEADER_BYTES + compressedSize;
  }
}

/** The entry's bytes; an archive that claims a smaller size than it unpacks to is refused before memory fills. */
function readZipEntry(source: ByteSource, entry: ZipEntry): Buffer {
  try {
    const start = entry.offset + zipContentStart(source.read(entry.offset, ZIP_LOCAL_HEADER_BYTES));
    const packed = source.read(start, entry.compressedSize);
    if (packed.length !== entry.compressedSize) throw broken();
    if (entry.method !== 0 && entry.method !== 8) {
      throw broken(new Error(`unpack ${entry.name}: unknown method ${entry.method}`));
    }
    const unpacked = entry.method === 0 ? packed : inflateRawSync(packed, { maxOutputLength: Math.max(1, entry.size) });
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
