const END_SIGNATURE = 0x06054b50;
const ENTRY_SIGNATURE = 0x02014b50;
const LOCAL_SIGNATURE = 0x04034b50;
const MAX_ENTRIES = 20_000;
const END_BYTES = 22;
const ENTRY_BYTES = 46;

/** The end record is within this many bytes of the end: a comment may follow it. */
export const ZIP_TAIL_BYTES = END_BYTES + 65_535;
/** The fixed part of a local file header. */
export const ZIP_LOCAL_HEADER_BYTES = 30;

/** One entry of an archive's directory; sizes are unverified. */
export interface ZipEntry {
  readonly name: string;
  readonly compressedSize: number;
  readonly size: number;
  readonly crc32: number;
  /** 0 stored, 8 deflated. */
  readonly method: number;
  readonly encrypted: boolean;
  readonly offset: number;
}

/** Finds the directory. `tail` is the end of the archive, `ZIP_TAIL_BYTES` of it or the whole. Throws if it is no archive. */
export function findZipDirectory(tail: Buffer): {
  readonly offset: number;
  readonly bytes: number;
  readonly count: number;
} {
  for (let at = tail.length - END_BYTES; at >= 0; at -= 1) {
    if (tail.readUInt32LE(at) !== END_SIGNATURE) continue;
    return {
      count: tail.readUInt16LE(at + 10),
      bytes: tail.readUInt32LE(at + 12),
      offset: tail.readUInt32LE(at + 16),
    };
  }
  throw new Error("it has no directory of an archive");
}

/** Throws for a directory that is cut or damaged. No more than 20,000 entries are read. */
export function readZipEntries(directory: Buffer, count: number): ZipEntry[] {
  const entries: ZipEntry[] = [];
  let at = 0;
  for (let index = 0; index < Math.min(count, MAX_ENTRIES); index += 1) {
    if (at + ENTRY_BYTES > directory.length || directory.readUInt32LE(at) !== ENTRY_SIGNATURE) {
      throw new Error("its directory is damaged");
    }
    const nameLength = directory.readUInt16LE(at + 28);
    entries.push({
      name: directory.toString("utf8", at + ENTRY_BYTES, at + ENTRY_BYTES + nameLength),
      compressedSize: directory.readUInt32LE(at + 20),
      size: directory.readUInt32LE(at + 24),
      crc32: directory.readUInt32LE(at + 16),
      method: directory.readUInt16LE(at + 10),
      encrypted: (directory.readUInt16LE(at + 8) & 1) === 1,
      offset: directory.readUInt32LE(at + 42),
    });
    at += ENTRY_BYTES + nameLength + directory.readUInt16LE(at + 30) + directory.readUInt16LE(at + 32);
  }
  return entries;
}

/** Returns the offset of an entry's content, relative to the entry's offset; `header` are the bytes there. */
export function zipContentStart(header: Buffer): number {
  if (header.readUInt32LE(0) !== LOCAL_SIGNATURE) throw new Error("an entry is not where the directory says");
  return ZIP_LOCAL_HEADER_BYTES + header.readUInt16LE(26) + header.readUInt16LE(28);
}
