import type { FileStatus } from "../../contracts/manifest.ts";
import { HashChains } from "./hash-chains.ts";

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

/** Every entry there is or was since the file was opened, in the order they were written: some sixty bytes each. */
export class RecordTable {
  readonly docs = new HashChains();
  readonly paths = new HashChains();
  readonly folders = new HashChains();
  readonly contents = new HashChains();
  readonly #count: Record<FileStatus, number> = { active: 0, error: 0, missing: 0, deleted: 0 };
  #flags = new Uint8Array(1024);
  #offsets = new Float64Array(1024);
  #lengths = new Uint32Array(1024);
  #size = 0;

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
