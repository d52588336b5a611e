import type { TreeLook } from "../../contracts/manifest.ts";
import { nowUtcMicros } from "../../lib/time.ts";
import {
  AFTER_ENTRIES,
  BETWEEN_SHELVES,
  decodeEntry,
  encodeEntry,
  encodeHead,
  MARKS,
  type Shelf,
  type SnapshotHead,
} from "./manifest-codec.ts";
import type { RecordTable } from "./record-table.ts";

const CHUNK_BYTES = 1024 * 1024;

/** The entries to be written. */
export interface SnapshotSource {
  readonly records: RecordTable;
  /** Gone with the next call. */
  bytesOf(record: number): Buffer;
  /** Those that stand under their document, since another one has their path. */
  readonly displaced: ReadonlySet<number>;
}

/** The whole file, in parts; `next` gets the place of every entry in it. */
export function* writeSnapshot(head: SnapshotHead, source: SnapshotSource, next: RecordTable): Generator<Buffer> {
  const { records } = source;
  const text = new TextParts();
  text.add(Buffer.from(encodeHead(head, nowUtcMicros())));
  for (const shelf of ["displaced", "files"] as const) {
    let before = "\n";
    for (let record = 0; record < records.size; record++) {
      if (!records.isAlive(record) || source.displaced.has(record) !== (shelf === "displaced")) continue;
      const line = rewrite(record, shelf, source, head.look);
      text.add(Buffer.from(before));
      const place = { isInJournal: false, isDisplaced: shelf === "displaced", offset: text.size, length: line.length };
      next.add(records.keysOf(record), place);
      text.add(line);
      before = ",\n";
      yield* text.whole();
    }
    text.add(Buffer.from(`\n${shelf === "files" ? AFTER_ENTRIES : BETWEEN_SHELVES}`));
  }
  text.add(Buffer.from("\n"));
  yield text.rest();
}

/** As it was, where that says it all. */
function rewrite(record: number, shelf: Shelf, source: SnapshotSource, look: TreeLook | undefined): Buffer {
  const bytes = source.bytesOf(record);
  const isActive = source.records.statusOf(record) === "active";
  if (source.records.placeOf(record).isDisplaced === (shelf === "displaced")) {
    if (!isActive || !look || putLastSeen(bytes, look.at)) return bytes;
  }
  const entry = decodeEntry(bytes.toString("utf8"));
  const lastSeenAt = isActive && look && look.at > entry.lastSeenAt ? look.at : entry.lastSeenAt;
  return Buffer.from(encodeEntry({ ...entry, lastSeenAt }, shelf));
}

/** In place, which is possible when instants are written equally long: false when it is not. */
function putLastSeen(bytes: Buffer, at: string): boolean {
  const start = bytes.indexOf(MARKS.lastSeen) + MARKS.lastSeen.length;
  const end = bytes.indexOf('"', start);
  if (start < MARKS.lastSeen.length || end - start !== at.length) return false;
  if (bytes.toString("latin1", start, end) < at) bytes.write(at, start, "latin1");
  return true;
}

class TextParts {
  /** Bytes so far. */
  size = 0;
  #part = Buffer.allocUnsafeSlow(CHUNK_BYTES);
  #filled = 0;
  #whole: Buffer[] = [];

  add(bytes: Buffer): void {
    this.size += bytes.length;
    if (this.#filled + bytes.length > this.#part.length) {
      this.#whole.push(this.rest());
      this.#part = Buffer.allocUnsafeSlow(Math.max(CHUNK_BYTES, bytes.length));
      this.#filled = 0;
    }
    bytes.copy(this.#part, this.#filled);
    this.#filled += bytes.length;
  }

  whole(): Buffer[] {
    const whole = this.#whole;
    this.#whole = [];
    return whole;
  }

  rest(): Buffer {
    return this.#part.subarray(0, this.#filled);
  }
}
