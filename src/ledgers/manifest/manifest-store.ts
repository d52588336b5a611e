import { randomBytes } from "node:crypto";
import { ConflictError } from "../../contracts/errors.ts";
import type { ItemId } from "../../contracts/ids.ts";
import type { FileStatus, Manifest, ManifestEntry, TreeLook } from "../../contracts/manifest.ts";
import { writeFileAtomic } from "../../lib/atomic-file.ts";
import { folderOf } from "../../lib/tree-path.ts";
import { findDisplaced } from "./find-displaced.ts";
import { type HashChains, hashText } from "./hash-chains.ts";
import { decodeEntry, decodeJournalLine, encodeEntry, encodeJournalLine, PUT } from "./manifest-codec.ts";
import type { ManifestJournal } from "./manifest-journal.ts";
import { keysOf, peekIfEntry } from "./peek-entry.ts";
import { RecordTable } from "./record-table.ts";
import { damagedManifest, SnapshotFile } from "./snapshot-file.ts";
import { writeSnapshot } from "./write-snapshot.ts";

const PAGE = 1000;
/** A smaller one is written whole at the end of every run that has something to say. */
const SMALL_BYTES = 8 * 1024 * 1024;
/** A larger one when its journal has grown to this part of it: what is written then is paid for by what changed. */
const JOURNAL_PART = 1 / 16;

export interface ManifestFiles {
  readonly path: string;
  readonly readOnly: boolean;
  snapshot: SnapshotFile | undefined;
  readonly journal: ManifestJournal;
}

interface Found {
  readonly record: number;
  readonly entry: ManifestEntry;
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

  at(path: string): ManifestEntry | undefined {
    const found = this.#owner(path);
    return found && this.#told(found.entry);
  }

  find(docId: ItemId): ManifestEntry | undefined {
    const found = this.#find(docId);
    return found && this.#told(found.entry);
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

  inFolder(folder: string): Iterable<ManifestEntry> {
    // In the order of the file, in which most of them are neighbours.
    const records = [...chainOf(this.#records.folders, folder)].reverse();
    return this.#present(records, folder, ({ path }) => folderOf(path));
  }

  withContent(contentHash: string): Iterable<ManifestEntry> {
    const records = chainOf(this.#records.contents, contentHash);
    return this.#present(records, contentHash, (entry) => entry.contentHash);
  }

  put(entry: ManifestEntry): void {
    const before = this.#find(entry.docId);
    const line = encodeEntry(entry);
    const offset = this.#files.journal.append(`${PUT.before}${line}${PUT.after}`) + PUT.before.length;
    if (before) this.#records.retire(before.record);
    const place = { isInJournal: true, isDisplaced: false, offset, length: Buffer.byteLength(line) };
    this.#records.add(keysOf(entry), place);
  }

  drop(docId: ItemId): void {
    const found = this.#find(docId);
    if (!found) return;
    this.#files.journal.append(encodeJournalLine({ kind: "drop", docId }));
    this.#records.retire(found.record);
  }

  noteLook(look: TreeLook): void {
    this.#files.journal.append(encodeJournalLine({ kind: "look", look }));
    this.#look = look;
  }

  /** One line of the journal, from `start` up to `end`. False when it is none. */
  replay(bytes: Buffer, start: number, end: number, offset: number): boolean {
    const [from, to] = [start + PUT.before.length, end - PUT.after.length];
    if (bytes.toString("latin1", start, from) === PUT.before) {
      const keys = peekIfEntry(bytes, from, to);
      if (!keys) return false;
      const before = this.#mayHave(keys.docHash) && this.#find(decodeEntry(bytes.toString("utf8", from, to)).docId);
      if (before) this.#records.retire(before.record);
      this.#records.add(keys, {
        isInJournal: true,
        isDisplaced: false,
        offset: offset + from - start,
        length: to - from,
      });
      return true;
    }
    const line = decodeJournalLine(bytes.toString("utf8", start, end));
    const dropped = line?.kind === "drop" && this.#find(line.docId);
    if (dropped) this.#records.retire(dropped.record);
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
    return when === "now" || size < SMALL_BYTES || journal.size >= size * JOURNAL_PART;
  }

  async #write(): Promise<void> {
    const files = this.#files;
    if (!SnapshotFile.isCurrent(files.path, files.snapshot)) {
      throw new ConflictError(`${files.path} was written by somebody else meanwhile.`);
    }
    const next = new RecordTable();
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
  }

  *#where(fits: (record: number) => boolean): Generator<ManifestEntry> {
    const { size } = this.#records;
    for (let record = 0; record < size; record++) {
      if (this.#records.isAlive(record) && fits(record)) yield this.#told(this.#read(record));
    }
  }

  /** Of these, those that are there and have this text. */
  *#present(
    records: Iterable<number>,
    text: string,
    textOf: (entry: ManifestEntry) => string,
  ): Generator<ManifestEntry> {
    for (const record of records) {
      if (!this.#records.isAlive(record) || !this.#records.isPresent(record)) continue;
      const entry = this.#read(record);
      if (textOf(entry) === text) yield this.#told(entry);
    }
  }

  /** What became of a record: it may have been put anew, or dropped. */
  #current(record: number): ManifestEntry | undefined {
    const entry = this.#read(record);
    return this.#records.isAlive(record) ? entry : this.#find(entry.docId)?.entry;
  }

  #mayHave(docHash: number): boolean {
    return this.#records.docs.next(docHash) >= 0;
  }

  #find(docId: ItemId): Found | undefined {
    for (const record of chainOf(this.#records.docs, docId)) {
      const entry = this.#records.isAlive(record) ? this.#read(record) : undefined;
      if (entry?.docId === docId) return { record, entry };
    }
    return undefined;
  }

  /** Only those that are there are read, and if none of them has it, the newest that had. */
  #owner(path: string): Found | undefined {
    return this.#newestAt(path, "present") ?? this.#newestAt(path, "absent");
  }

  #newestAt(path: string, wanted: "present" | "absent"): Found | undefined {
    for (const record of chainOf(this.#records.paths, path)) {
      if (!this.#records.isAlive(record) || this.#records.isPresent(record) !== (wanted === "present")) continue;
      const entry = this.#read(record);
      if (entry.path === path) return { record, entry };
    }
    return undefined;
  }

  #read(record: number): ManifestEntry {
    try {
      return decodeEntry(this.#bytes(record).toString("utf8"));
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

/** From the newest on. Others may have the same hash. */
function* chainOf(chains: HashChains, text: string): Generator<number> {
  const hash = hashText(text);
  for (let record = chains.next(hash); record >= 0; record = chains.next(hash, record)) yield record;
}
