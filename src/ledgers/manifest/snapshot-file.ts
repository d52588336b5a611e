import { closeSync, fstatSync, openSync, statSync } from "node:fs";
import { DamagedError } from "../../contracts/errors.ts";
import { isErrno } from "../../lib/atomic-file.ts";
import { LineFile, scanLines } from "./line-file.ts";
import {
  AFTER_ENTRIES,
  BETWEEN_SHELVES,
  decodeEntry,
  decodeHead,
  HEAD_START,
  type Shelf,
  type SnapshotHead,
} from "./manifest-codec.ts";
import { peekEntry } from "./peek-entry.ts";
import type { RecordTable } from "./record-table.ts";

const COMMA = 44;
/** It names little more than a path. */
const FIRST_LINE_BYTES = 64 * 1024;

/** `manifest.json`, open: whoever replaces it by rename does not take it away from those who read it. */
export class SnapshotFile {
  readonly path: string;
  readonly size: number;
  readonly #fd: number;
  readonly inode: number;
  /** The same text means that nobody wrote it since. Whoever edits it can put its time back, but not the one of that change. */
  readonly stamp: string;
  #lines: LineFile;

  private constructor(path: string, fd: number) {
    this.path = path;
    this.#fd = fd;
    this.#lines = new LineFile(fd);
    const { size, ino, mtimeNs, ctimeNs } = fstatSync(fd, { bigint: true });
    this.size = Number(size);
    this.inode = Number(ino);
    this.stamp = `${size}-${mtimeNs}-${ctimeNs}-${ino}`;
  }

  /** undefined when there is none. */
  static open(path: string): SnapshotFile | undefined {
    try {
      return new SnapshotFile(path, openSync(path, "r"));
    } catch (error) {
      if (isErrno(error, "ENOENT")) return undefined;
      throw error;
    }
  }

  /** Is it still the one of this name? */
  static isCurrent(path: string, file: SnapshotFile | undefined): boolean {
    return statSync(path, { throwIfNoEntry: false })?.ino === file?.inode;
  }

  /** undefined when it does not begin like one of this layout. */
  readHead(): SnapshotHead | undefined {
    const first = this.read(0, Math.min(this.size, FIRST_LINE_BYTES));
    return decodeHead(first.toString("utf8", 0, Math.max(0, first.indexOf("\n"))));
  }

  /** Adds every entry. Throws DamagedError; undefined when it does not begin like one of this layout. */
  async scan(table: RecordTable): Promise<SnapshotHead | undefined> {
    // Others may be one line of any length.
    if (this.size < HEAD_START.length || this.read(0, HEAD_START.length).toString("latin1") !== HEAD_START)
      return undefined;
    let head: SnapshotHead | undefined;
    let shelf: Shelf | undefined;
    let end = 0;
    const size = await scanLines(this.#fd, (bytes, start, lineEnd, offset) => {
      if (offset === 0) {
        head = decodeHead(bytes.toString("utf8", start, lineEnd));
        shelf = head && "displaced";
      } else if (shelf === "displaced" && isLine(bytes, start, lineEnd, BETWEEN_SHELVES)) {
        shelf = "files";
      } else if (shelf === "files" && isLine(bytes, start, lineEnd, AFTER_ENTRIES)) {
        shelf = undefined;
        end = offset + lineEnd - start + 1;
      } else if (shelf) {
        this.#add(bytes, start, bytes[lineEnd - 1] === COMMA ? lineEnd - 1 : lineEnd, offset, shelf, table);
      }
    });
    if (head && (end !== this.size || size !== end)) throw this.damaged("it is cut, or something follows its end");
    return head;
  }

  #add(bytes: Buffer, start: number, end: number, offset: number, shelf: Shelf, table: RecordTable): void {
    try {
      const place = { isInJournal: false, isDisplaced: shelf === "displaced", offset, length: end - start };
      table.add(peekEntry({ bytes, start, end }, shelf, table.seed), place);
    } catch (error) {
      throw this.damaged(`${error instanceof Error ? error.message : String(error)}, at byte ${offset}`);
    }
    if (this.#isSecond(table)) throw this.damaged(`two entries have the doc_id of the one at byte ${offset}`);
  }

  read(offset: number, length: number): Buffer {
    return this.#lines.read(offset, length);
  }

  /** The next reads are in the order of the file, and of most of it. */
  readAhead(): void {
    this.#lines = new LineFile(this.#fd, 1024 * 1024);
  }

  damaged(reason: string): DamagedError {
    return damagedManifest(this.path, reason);
  }

  close(): void {
    closeSync(this.#fd);
  }

  /** Has an earlier record the document of the last one? Equal hashes are rare, so hardly one is read. */
  #isSecond(table: RecordTable): boolean {
    const { docs, size } = table;
    const docOf = (record: number): string => {
      const { offset, length } = table.placeOf(record);
      return decodeEntry(this.read(offset, length).toString("utf8")).docId;
    };
    const hash = docs.hashOf(size - 1);
    for (let other = docs.next(hash, size - 1); other >= 0; other = docs.next(hash, other)) {
      if (docOf(other) === docOf(size - 1)) return true;
    }
    return false;
  }
}

export function damagedManifest(path: string, reason: string): DamagedError {
  return new DamagedError(
    `${path} cannot be read: ${reason}.`,
    "Put a copy of it back from a backup. Without one, delete manifest.json and .lockstep/manifest.journal of this source: the next crawl makes them anew, and knows what is in the mirror; what was missing or deleted is forgotten.",
  );
}

function isLine(bytes: Buffer, start: number, end: number, text: string): boolean {
  return end - start === text.length && bytes.toString("latin1", start, end) === text;
}
