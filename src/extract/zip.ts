import { promisify } from "node:util";
import { inflateRaw } from "node:zlib";
import { ExtractError } from "../contracts/document.ts";

const inflate = promisify(inflateRaw);

const END_SIGNATURE = 0x06054b50;
const ENTRY_SIGNATURE = 0x02014b50;
const LOCAL_SIGNATURE = 0x04034b50;
const END_SEARCH_BYTES = 22 + 65_535;
const MAX_ENTRIES = 20_000;

/** Text compresses well, but an office document beyond this was made to hurt. Small parts may exceed it. */
const MAX_RATIO = 500;
const RATIO_MATTERS_ABOVE = 10 * 1024 * 1024;

export interface ZipEntry {
  readonly name: string;
  readonly compressedSize: number;
  readonly size: number;
  readonly method: number;
  readonly encrypted: boolean;
  readonly offset: number;
}

/** Reads the directory only. Sizes are what the archive claims; `readZipEntry` holds it to them. */
export function readZipDirectory(bytes: Buffer): ZipEntry[] {
  try {
    return readDirectory(bytes);
  } catch (error) {
    if (error instanceof ExtractError) throw error;
    throw broken(error);
  }
}

function readDirectory(bytes: Buffer): ZipEntry[] {
  const end = findEnd(bytes);
  const count = bytes.readUInt16LE(end + 10);
  const entries: ZipEntry[] = [];
  let at = bytes.readUInt32LE(end + 16);
  for (let index = 0; index < Math.min(count, MAX_ENTRIES); index += 1) {
    if (bytes.readUInt32LE(at) !== ENTRY_SIGNATURE) throw broken();
    const nameLength = bytes.readUInt16LE(at + 28);
    entries.push({
      name: bytes.toString("utf8", at + 46, at + 46 + nameLength),
      compressedSize: bytes.readUInt32LE(at + 20),
      size: bytes.readUInt32LE(at + 24),
      method: bytes.readUInt16LE(at + 10),
      encrypted: (bytes.readUInt16LE(at + 8) & 1) === 1,
      offset: bytes.readUInt32LE(at + 42),
    });
    at += 46 + nameLength + bytes.readUInt16LE(at + 30) + bytes.readUInt16LE(at + 32);
  }
  return entries;
}

function findEnd(bytes: Buffer): number {
  const stop = Math.max(0, bytes.length - END_SEARCH_BYTES);
  for (let at = bytes.length - 22; at >= stop; at -= 1) {
    if (bytes.readUInt32LE(at) === END_SIGNATURE) return at;
  }
  throw broken();
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
    if (bytes.readUInt32LE(entry.offset) !== LOCAL_SIGNATURE) throw broken();
    const start = entry.offset + 30 + bytes.readUInt16LE(entry.offset + 26) + bytes.readUInt16LE(entry.offset + 28);
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
