import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { basename } from "node:path";
import { ConflictError } from "../../contracts/errors.ts";
import { isErrno } from "../../lib/atomic-file.ts";

/** Of rows that are read one after the other, and of single ones here and there. */
const WINDOW = 65_536;
const GLIMPSE = 1024;
const COPIED_AT_ONCE = 1024 * 1024;

interface OpenFile {
  readonly fd: number;
  readonly path: string;
  readonly size: number;
  readonly mtimeMs: number;
}

/** Files that nobody needs any more are closed with the memory of whoever read them. */
const unused = new FinalizationRegistry<number>((fd) => closeSync(fd));

/**
 * The bytes of a map file as it was when it was opened, whoever replaces it meanwhile: a small one in memory, a large one left
 * where it is. What `view` returned holds until it is called again.
 */
export class TableBytes {
  readonly length: number;
  readonly #file: OpenFile | undefined;
  #window: Buffer;
  #windowAt = 0;
  /** Where in the buffer that `view` returned the asked-for bytes begin. */
  offset = 0;

  private constructor(bytes: Buffer, file?: OpenFile) {
    this.#window = bytes;
    this.#file = file;
    this.length = file?.size ?? bytes.length;
    if (file) unused.register(this, file.fd);
  }

  static of(bytes: Buffer): TableBytes {
    return new TableBytes(bytes);
  }

  /** A larger one than `heldBytes` is left on disk. undefined when there is no such file. */
  static open(path: string, heldBytes = Number.POSITIVE_INFINITY): TableBytes | undefined {
    let fd: number;
    try {
      fd = openSync(path, "r");
    } catch (error) {
      if (isErrno(error, "ENOENT")) return undefined;
      throw error;
    }
    const { size, mtimeMs } = fstatSync(fd);
    const file = { fd, path, size, mtimeMs };
    // Windows does not let a file be replaced while somebody has it open.
    if (size > heldBytes && process.platform !== "win32") return new TableBytes(Buffer.alloc(0), file);
    try {
      return new TableBytes(readFrom(file, 0, size));
    } finally {
      closeSync(fd);
    }
  }

  get isOnDisk(): boolean {
    return this.#file !== undefined;
  }

  /** They need not be read to be viewed. */
  isAtHand(start: number, end: number): boolean {
    return start >= this.#windowAt && end <= this.#windowAt + this.#window.length;
  }

  /** A buffer in which these bytes lie together, from `offset` on, and perhaps others behind them. */
  view(start: number, end: number): Buffer {
    if (this.#file !== undefined && !this.isAtHand(start, end)) {
      const behind = start - (this.#windowAt + this.#window.length);
      const ahead = behind >= -GLIMPSE && behind <= GLIMPSE ? WINDOW : GLIMPSE;
      this.#window = readFrom(this.#file, start, Math.min(this.length, Math.max(end, start + ahead)));
      this.#windowAt = start;
    }
    this.offset = start - this.#windowAt;
    return this.#window;
  }

  text(start: number, end: number): string {
    const bytes = this.view(start, end);
    return bytes.toString("utf8", this.offset, this.offset + end - start);
  }

  /** Copies, or views where there is nothing to copy. */
  *pieces(start: number, end: number): Generator<Buffer> {
    if (this.#file === undefined) {
      yield this.#window.subarray(start, end);
      return;
    }
    for (let at = start; at < end; at += COPIED_AT_ONCE) {
      yield readFrom(this.#file, at, Math.min(end, at + COPIED_AT_ONCE));
    }
  }
}

/** We replace map files, so what is open never changes. Where somebody writes into one all the same, its rows are not where they were. */
function readFrom({ fd, path, size, mtimeMs }: OpenFile, start: number, end: number): Buffer {
  const bytes = Buffer.allocUnsafe(end - start);
  let read = 0;
  for (let at = 0; at < bytes.length; at += read) {
    read = readSync(fd, bytes, at, bytes.length - at, start + at);
    if (read === 0) break;
  }
  const now = fstatSync(fd);
  if (now.size === size && now.mtimeMs === mtimeMs) return bytes;
  throw new ConflictError(`${basename(path)} was written to while it was being read. Run it again.`);
}
