import type { FileMark, KnownFolder, ManifestEntry } from "../../contracts/manifest.ts";
import { folderOf } from "../../lib/tree-path.ts";
import { hashText } from "./hash-chains.ts";
import { matchesEntry } from "./match-entry.ts";
import type { RecordTable } from "./record-table.ts";

export interface EntryReader {
  readonly records: RecordTable;
  /** Gone with the next call. */
  bytesOf(record: number): Buffer;
  read(record: number): ManifestEntry;
  /** Those that are there in a folder with the hash of this one. */
  inFolder(folder: string): Iterable<number>;
}

export class FolderEntries implements KnownFolder {
  readonly #folder: string;
  readonly #reader: EntryReader;
  readonly #met = new Set<number>();

  constructor(folder: string, reader: EntryReader) {
    this.#folder = folder;
    this.#reader = reader;
  }

  get met(): number {
    return this.#met.size;
  }

  /** From the newest on: of two that are there with one path, that one has it. */
  meet(file: FileMark): ManifestEntry | "same" | undefined {
    const { paths, seed } = this.#reader.records;
    const hash = hashText(seed, file.path);
    for (let record = paths.next(hash); record >= 0; record = paths.next(hash, record)) {
      const known = this.#reader.records.isThere(record) ? this.#compare(file, record) : undefined;
      if (!known) continue;
      this.#met.add(record);
      return known;
    }
    return undefined;
  }

  *unmet(): Generator<ManifestEntry> {
    for (const record of this.#reader.inFolder(this.#folder)) {
      const entry = this.#met.has(record) ? undefined : this.#reader.read(record);
      if (entry && folderOf(entry.path) === this.#folder) yield entry;
    }
  }

  #compare(file: FileMark, record: number): ManifestEntry | "same" | undefined {
    const bytes = this.#reader.bytesOf(record);
    if (matchesEntry(file, { bytes, start: 0, end: bytes.length })) return "same";
    const entry = this.#reader.read(record);
    return entry.path === file.path ? entry : undefined;
  }
}
