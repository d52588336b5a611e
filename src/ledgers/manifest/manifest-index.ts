import { type FileHandle, open } from "node:fs/promises";
import { endianness } from "node:os";
import { crc32 } from "node:zlib";
import { writeFileAtomic } from "../../lib/atomic-file.ts";
import { parseJsonObject } from "../../lib/json-object.ts";
import type { SnapshotHead } from "./manifest-codec.ts";
import { type RecordColumns, RecordTable, roomFor } from "./record-table.ts";
import type { SnapshotFile } from "./snapshot-file.ts";

const HEAD_BYTES = 512;
const RECORD_BYTES = 29;
const CRC_BYTES = 4;

/** What is known of every entry of a snapshot without reading it. */
export interface IndexedSnapshot {
  readonly head: SnapshotHead;
  readonly records: RecordTable;
}

/**
 * `.lockstep/manifest.index`: what scanning a large snapshot comes to. It only ever saves that: one that is not of this very
 * file, as it was when it was scanned or written, or is not whole, counts for nothing.
 */
export class ManifestIndex {
  readonly #path: string;
  /** A smaller snapshot is scanned as fast as this would be read. */
  readonly #largeFrom: number;

  constructor(path: string, largeFrom: number) {
    this.#path = path;
    this.#largeFrom = largeFrom;
  }

  /** undefined: scan it. */
  async read(snapshot: SnapshotFile): Promise<IndexedSnapshot | undefined> {
    if (snapshot.size < this.#largeFrom) return undefined;
    try {
      await using file = await open(this.#path, "r");
      return await readIndex(file, snapshot);
    } catch {
      return undefined;
    }
  }

  /** `records` are those of the snapshot alone. Does nothing for one that needs none, or when it cannot be written. */
  async write(snapshot: SnapshotFile, snapshotId: string, records: RecordTable): Promise<void> {
    if (snapshot.size < this.#largeFrom) return;
    const { seed, size } = records;
    const head = Buffer.from(JSON.stringify({ index_of: indexOf(snapshot, snapshotId), seed, records: size }));
    if (head.length > HEAD_BYTES) return;
    const parts = [Buffer.alloc(HEAD_BYTES, " ").fill(head, 0, head.length), ...bytesOf(records.columns, size)];
    const crc = Buffer.alloc(CRC_BYTES);
    crc.writeUInt32LE(parts.reduce((sum, part) => crc32(part, sum), 0));
    await writeFileAtomic(this.#path, [...parts, crc], { flush: "later" }).catch(() => undefined);
  }
}

async function readIndex(file: FileHandle, snapshot: SnapshotFile): Promise<IndexedSnapshot | undefined> {
  const first = Buffer.alloc(HEAD_BYTES);
  await file.read(first);
  const told = parseJsonObject(first.toString("utf8"));
  const head = snapshot.readHead();
  if (!told || !head || told["index_of"] !== indexOf(snapshot, head.snapshotId)) return undefined;
  const [seed, size] = [Number(told["seed"]), Number(told["records"])];
  if ((await file.stat()).size !== HEAD_BYTES + size * RECORD_BYTES + CRC_BYTES) return undefined;
  const columns = roomFor(size);
  const crc = Buffer.alloc(CRC_BYTES);
  let sum = crc32(first);
  for (const part of bytesOf(columns, size)) {
    if ((await file.read(part)).bytesRead !== part.length) return undefined;
    sum = crc32(part, sum);
  }
  const isWhole = (await file.read(crc)).bytesRead === CRC_BYTES && crc.readUInt32LE() === sum;
  return isWhole ? { head, records: new RecordTable(seed, size, columns) } : undefined;
}

/** What it is of: this snapshot, in this file, for machines that write numbers as this one does. */
function indexOf(snapshot: SnapshotFile, snapshotId: string): string {
  return `${snapshotId} ${snapshot.stamp} ${endianness()}`;
}

function bytesOf(columns: RecordColumns, size: number): readonly Uint8Array[] {
  const { flags, offsets, lengths, docs, paths, folders, contents } = columns;
  return [flags, offsets, lengths, docs, paths, folders, contents].map(
    (column) => new Uint8Array(column.buffer, 0, size * column.BYTES_PER_ELEMENT),
  );
}
