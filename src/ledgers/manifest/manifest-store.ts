import { randomBytes } from "node:crypto";
import { ConflictError } from "../../contracts/errors.ts";
import type { ItemId } from "../../contracts/ids.ts";
import type { FileStatus, KnownFolder, Manifest, ManifestEntry, TreeLook } from "../../contracts/manifest.ts";
import { writeFileAtomic } from "../../lib/atomic-file.ts";
import { findDisplaced } from "./find-displaced.ts";
import { FolderEntries } from "./folder-entries.ts";
import { hashText } from "./hash-chains.ts";
import { decodeEntry, decodeJournalLine, encodeEntry, encodeJournalLine, PUT } from "./manifest-codec.ts";
import type { ManifestIndex } from "./manifest-index.ts";
import type { ManifestJournal } from "./manifest-journal.ts";
import { docIdOf } from "./match-entry.ts";
import { keysOf, peekIfEntry, putIn } from "./peek-entry.ts";
import { RecordTable } from "./record-table.ts";
import { damagedManifest, SnapshotFile } from "./snapshot-file.ts";
import { writeSnapshot } from "./write-snapshot.ts";

const PAGE = 1000;
/** A large one is written when its journal has grown to this part of it: what is written then is paid for by what changed. */
const JOURNAL_PART = 1 / 16;

export interface ManifestFiles {
  readonly path: string;
  readonly readOnly: boolean;
  /** Bytes. A smaller one is written whole at the end of every run that has something to say. */
  readonly largeFrom: number;
  snapshot: SnapshotFile | undefined;
  readonly journal: ManifestJournal;
  readonly index: ManifestIndex;
}

/**
 * Where every entry is on disk, by its document, path and folder; it is read when asked for. Of several with one path, one that is
 * there has it, and then the newest; the others are displaced.
 */
export class ManifestStore implements Manifest {
  readonly #files: ManifestFiles;
  #records: RecordTable;
  #look: TreeLook | undefined;

  constructor(files: ManifestFiles, records: RecordTable, look: TreeLook | undefined) {
    this.#files = files;
    this.#records = records;
    this.#look = look;
  }

  get look(): TreeLook | undefined {
    return this.#look;
  }

  count(): Readonly<Record<FileStatus, number>> {
    return { ...this.#records.count };
  }

  /** Only those that are there are read, and if none of them has it, the newest that had. */
  at(path: string): ManifestEntry | undefined {
    const entry = this.#newestAt(path, "present") ?? this.#newestAt(path, "absent");
    return entry && this.#told(entry);
  }

  find(docId: ItemId): ManifestEntry | undefined {
    const record = this.#find(docId);
    return record === undefined ? undefined : this.#told(this.#read(record));
  }

  *entries(): Generator<readonly ManifestEntry[]> {
    const living = this.#records.living();
    let page: ManifestEntry[] = [];
    for (let record = 0; record < living.size; record++) {
      if (!living.has(record)) continue;
      const entry = this.#current(record);
      if (entry) page.push(this.#told(entry));
      if (page.length < PAGE) continue;
      yield page;
      page = [];
    }
    if (page.length > 0) yield page;
  }

  absent(): Iterable<ManifestEntry> {
    return this.#where((record) => !this.#records.isPresent(record));
  }

  unkept(): Iterable<ManifestEntry> {
    return this.#where((record) => this.#records.statusOf(record) === "active" && !this.#records.isKept(record));
  }

  inFolder(folder: string): KnownFolder {
    return new FolderEntries(folder, {
      records: this.#records,
      bytesOf: (record) => this.#bytes(record),
      read: (record) => this.#told(this.#read(record)),
      // In the order of the file, in which most of them are neighbours.
      inFolder: () => [...this.#chain("folders", folder)].filter((record) => this.#records.isThere(record)).reverse(),
    });
  }

  *withContent(contentHash: string): Generator<ManifestEntry> {
    for (const record of this.#chain("contents", contentHash)) {
      const entry = this.#records.isThere(record) ? this.#read(record) : undefined;
      if (entry?.contentHash === contentHash) yield this.#told(entry);
    }
  }

  put(entry: ManifestEntry): void {
    const before = this.#find(entry.docId);
    const line = encodeEntry(entry);
    const offset = this.#files.journal.append(`${PUT.before}${line}${PUT.after}`) + PUT.before.length;
    if (before !== undefined) this.#records.retire(before);
    const place = { isInJournal: true, isDisplaced: false, offset, length: Buffer.byteLength(line) };
    this.#records.add(keysOf(entry, this.#records.seed), place);
  }

  drop(docId: ItemId): void {
    const record = this.#find(docId);
    if (record === undefined) return;
    this.#files.journal.append(encodeJournalLine({ kind: "drop", docId }));
    this.#records.retire(record);
  }

  noteLook(look: TreeLook): void {
    this.#files.journal.append(encodeJournalLine({ kind: "look", look }));
    this.#look = look;
  }

  /** One line of the journal, from `start` up to `end`. False when it is none. */
  replay(bytes: Buffer, start: number, end: number, offset: number): boolean {
    const encoded = putIn(bytes, start, end);
    if (encoded) {
      const keys = peekIfEntry(encoded, this.#records.seed);
      if (!keys) return false;
      const mayBeKnown = this.#records.docs.next(keys.docHash) >= 0;
      const before = mayBeKnown ? this.#find(docIdOf(encoded)) : undefined;
      if (before !== undefined) this.#records.retire(before);
      const { start: from, end: to } = encoded;
      const place = { isInJournal: true, isDisplaced: false, offset: offset + from - start, length: to - from };
      this.#records.add(keys, place);
      return true;
    }
    const line = decodeJournalLine(bytes.toString("utf8", start, end));
    const dropped = line?.kind === "drop" ? this.#find(line.docId) : undefined;
    if (dropped !== undefined) this.#records.retire(dropped);
    if (line?.kind === "look") this.#look = line.look;
    return line !== undefined;
  }

  async flush(): Promise<void> {
    this.#files.journal.flush();
  }

  async snapshot(when: "due" | "now" = "due"): Promise<void> {
    await this.flush();
    if (this.#isDue(when)) await this.#write();
  }

  async close(): Promise<void> {
    try {
      if (!this.#files.readOnly) await this.snapshot();
    } finally {
      this.release();
    }
  }

  release(): void {
    this.#files.snapshot?.close();
    this.#files.snapshot = undefined;
    this.#files.journal.close();
  }

  #isDue(when: "due" | "now"): boolean {
    const { snapshot, journal } = this.#files;
    if (journal.size === 0) return when === "now" && !snapshot;
    const size = snapshot?.size ?? 0;
    return when === "now" || size < this.#files.largeFrom || journal.size >= size * JOURNAL_PART;
  }

  async #write(): Promise<void> {
    const files = this.#files;
    if (!SnapshotFile.isCurrent(files.path, files.snapshot)) {
      throw new ConflictError(`${files.path} was written by somebody else meanwhile.`);
    }
    const next = new RecordTable(this.#records.seed);
    const head = { snapshotId: randomBytes(8).toString("hex"), look: this.#look };
    const source = {
      records: this.#records,
      bytesOf: (record: number) => this.#bytes(record),
      displaced: findDisplaced(this.#records, (record) => this.#read(record).path),
    };
    files.snapshot?.readAhead();
    await writeFileAtomic(files.path, writeSnapshot(head, source, next));
    // Killed here, the journal names a snapshot that is no more: whatever is in it is in this one.
    await files.journal.restart(head.snapshotId);
    files.snapshot?.close();
    files.snapshot = SnapshotFile.open(files.path);
    this.#records = next;
    // Killed before it is written, or where it cannot be, the next one to open this scans it.
    if (files.snapshot) await files.index.write(files.snapshot, head.snapshotId, next);
  }

  *#where(fits: (record: number) => boolean): Generator<ManifestEntry> {
    const { size } = this.#records;
    for (let record = 0; record < size; record++) {
      if (this.#records.isAlive(record) && fits(record)) yield this.#told(this.#read(record));
    }
  }

  /** What became of a record: it may have been put anew, or dropped. */
  #current(record: number): ManifestEntry | undefined {
    const entry = this.#read(record);
    if (this.#records.isAlive(record)) return entry;
    const now = this.#find(entry.docId);
    return now === undefined ? undefined : this.#read(now);
  }

  #find(docId: ItemId): number | undefined {
    for (const record of this.#chain("docs", docId)) {
      if (this.#records.isAlive(record) && this.#docIdOf(record) === docId) return record;
    }
    return undefined;
  }

  #newestAt(path: string, wanted: "present" | "absent"): ManifestEntry | undefined {
    for (const record of this.#chain("paths", path)) {
      if (!this.#records.isAlive(record) || this.#records.isPresent(record) !== (wanted === "present")) continue;
      const entry = this.#read(record);
      if (entry.path === path) return entry;
    }
    return undefined;
  }

  /** From the newest on. Others may have the same hash. */
  *#chain(by: "docs" | "paths" | "folders" | "contents", text: string): Generator<number> {
    const chains = this.#records[by];
    const hash = hashText(this.#records.seed, text);
    for (let record = chains.next(hash); record >= 0; record = chains.next(hash, record)) yield record;
  }

  #docIdOf(record: number): ItemId {
    return this.#decode(record, (bytes) => docIdOf({ bytes, start: 0, end: bytes.length }));
  }

  #read(record: number): ManifestEntry {
    return this.#decode(record, (bytes) => decodeEntry(bytes.toString("utf8")));
  }

  #decode<T>(record: number, decode: (bytes: Buffer) => T): T {
    try {
      return decode(this.#bytes(record));
    } catch (error) {
      throw damagedManifest(this.#files.path, error instanceof Error ? error.message : String(error));
    }
  }

  #bytes(record: number): Buffer {
    const { isInJournal, offset, length } = this.#records.placeOf(record);
    const file = isInJournal ? this.#files.journal : this.#files.snapshot;
    if (!file) throw new Error("the manifest is closed");
    return file.read(offset, length);
  }

  #told(entry: ManifestEntry): ManifestEntry {
    const { look } = this;
    const seenLater = look && entry.status === "active" && look.at > entry.lastSeenAt;
    return seenLater ? { ...entry, lastSeenAt: look.at } : entry;
  }
}
