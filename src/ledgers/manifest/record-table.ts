import type { FileStatus } from "../../contracts/manifest.ts";
import { HashChains, newSeed } from "./hash-chains.ts";

/** What is to be known of an entry without reading it. */
export interface RecordKeys {
  readonly docHash: number;
  readonly pathHash: number;
  readonly folderHash: number;
  /** A hash of the content's hash. */
  readonly contentHash: number;
  readonly status: FileStatus;
  /** Its current version is of its content. */
  readonly isKept: boolean;
}

/** Where the text of an entry is. */
export interface RecordPlace {
  readonly isInJournal: boolean;
  /** It stands under its document, not under its path. */
  readonly isDisplaced: boolean;
  readonly offset: number;
  readonly length: number;
}

const STATUSES: readonly FileStatus[] = ["active", "error", "missing", "deleted"];
const STATUS_BITS = 3;
const ALIVE = 4;
const KEPT = 8;
const IN_JOURNAL = 16;
const DISPLACED = 32;

const LEAST_ROOM = 1024;

/** What is told of every record, and room for more. */
export interface RecordColumns {
  readonly flags: Uint8Array<ArrayBuffer>;
  readonly offsets: Float64Array<ArrayBuffer>;
  readonly lengths: Uint32Array<ArrayBuffer>;
  readonly docs: Int32Array<ArrayBuffer>;
  readonly paths: Int32Array<ArrayBuffer>;
  readonly folders: Int32Array<ArrayBuffer>;
  readonly contents: Int32Array<ArrayBuffer>;
}

export function roomFor(records: number): RecordColumns {
  let room = LEAST_ROOM;
  while (room < records) room *= 2;
  return {
    flags: new Uint8Array(room),
    offsets: new Float64Array(room),
    lengths: new Uint32Array(room),
    docs: new Int32Array(room),
    paths: new Int32Array(room),
    folders: new Int32Array(room),
    contents: new Int32Array(room),
  };
}

/** Every entry there is or was since the file was opened, in the order they were written: some sixty bytes each. */
export class RecordTable {
  /** Of its hashes: those of two tables compare only when it is the same. */
  readonly seed: number;
  readonly docs: HashChains;
  readonly paths: HashChains;
  readonly folders: HashChains;
  readonly contents: HashChains;
  readonly #count: Record<FileStatus, number> = { active: 0, error: 0, missing: 0, deleted: 0 };
  #flags: Uint8Array<ArrayBuffer>;
  #offsets: Float64Array<ArrayBuffer>;
  #lengths: Uint32Array<ArrayBuffer>;
  #size: number;

  /** With `columns`, those of `size` records that are all alive, as another table told them. */
  constructor(seed = newSeed(), size = 0, columns = roomFor(size)) {
    this.seed = seed;
    this.#size = size;
    this.docs = new HashChains(columns.docs, size);
    this.paths = new HashChains(columns.paths, size);
    this.folders = new HashChains(columns.folders, size);
    this.contents = new HashChains(columns.contents, size);
    this.#flags = columns.flags;
    this.#offsets = columns.offsets;
    this.#lengths = columns.lengths;
    for (let record = 0; record < size; record++) this.#count[this.statusOf(record)] += 1;
  }

  get columns(): RecordColumns {
    return {
      flags: this.#flags,
      offsets: this.#offsets,
      lengths: this.#lengths,
      docs: this.docs.hashes,
      paths: this.paths.hashes,
      folders: this.folders.hashes,
      contents: this.contents.hashes,
    };
  }

  get size(): number {
    return this.#size;
  }

  get count(): Readonly<Record<FileStatus, number>> {
    return this.#count;
  }

  add(keys: RecordKeys, place: RecordPlace): void {
    if (this.#size === this.#flags.length) this.#grow();
    const record = this.#size++;
    const where = (place.isInJournal ? IN_JOURNAL : 0) | (place.isDisplaced ? DISPLACED : 0);
    this.#flags[record] = STATUSES.indexOf(keys.status) | ALIVE | (keys.isKept ? KEPT : 0) | where;
    this.#offsets[record] = place.offset;
    this.#lengths[record] = place.length;
    this.#count[keys.status] += 1;
    this.docs.add(keys.docHash);
    this.paths.add(keys.pathHash);
    this.folders.add(keys.folderHash);
    this.contents.add(keys.contentHash);
  }

  keysOf(record: number): RecordKeys {
    return {
      docHash: this.docs.hashOf(record),
      pathHash: this.paths.hashOf(record),
      folderHash: this.folders.hashOf(record),
      contentHash: this.contents.hashOf(record),
      status: this.statusOf(record),
      isKept: this.isKept(record),
    };
  }

  /** Another one took its place, or it was dropped. */
  retire(record: number): void {
    this.#count[this.statusOf(record)] -= 1;
    this.#flags[record] = this.#at(record) & ~ALIVE;
  }

  isAlive(record: number): boolean {
    return (this.#at(record) & ALIVE) !== 0;
  }

  statusOf(record: number): FileStatus {
    return STATUSES[this.#at(record) & STATUS_BITS] ?? "active";
  }

  isPresent(record: number): boolean {
    return (this.#at(record) & STATUS_BITS) < STATUSES.indexOf("missing");
  }

  isThere(record: number): boolean {
    return this.isAlive(record) && this.isPresent(record);
  }

  isKept(record: number): boolean {
    return (this.#at(record) & KEPT) !== 0;
  }

  placeOf(record: number): RecordPlace {
    const flags = this.#at(record);
    return {
      isInJournal: (flags & IN_JOURNAL) !== 0,
      isDisplaced: (flags & DISPLACED) !== 0,
      offset: this.#offsets[record] ?? 0,
      length: this.#lengths[record] ?? 0,
    };
  }

  /** Those that are alive now, whatever happens to them later. */
  living(): { has(record: number): boolean; readonly size: number } {
    const flags = this.#flags.slice(0, this.#size);
    return { has: (record) => ((flags[record] ?? 0) & ALIVE) !== 0, size: flags.length };
  }

  #at(record: number): number {
    return this.#flags[record] ?? 0;
  }

  #grow(): void {
    const size = this.#size * 2;
    this.#flags = copyInto(new Uint8Array(size), this.#flags);
    this.#offsets = copyInto(new Float64Array(size), this.#offsets);
    this.#lengths = copyInto(new Uint32Array(size), this.#lengths);
  }
}

function copyInto<A extends { set(from: A): void }>(to: A, from: A): A {
  to.set(from);
  return to;
}
