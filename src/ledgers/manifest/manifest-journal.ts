import { closeSync, fstatSync, ftruncateSync, mkdirSync, openSync, writeSync } from "node:fs";
import { rm } from "node:fs/promises";
import { dirname } from "node:path";
import { ConflictError } from "../../contracts/errors.ts";
import { isErrno } from "../../lib/atomic-file.ts";
import { LineFile, type LineListener, scanLines } from "./line-file.ts";
import { encodeJournalLine } from "./manifest-codec.ts";
import { damagedManifest } from "./snapshot-file.ts";

/** What waits to be written is not held in memory beyond this. */
const WAITING_BYTES = 1024 * 1024;

/**
 * What changed since the last snapshot, one line a change. Its first line says which snapshot that is, so a journal that a crash
 * left beside a newer one is known to be part of it. A line without an end was never acknowledged.
 */
export class ManifestJournal {
  readonly #path: string;
  readonly #mode: "r" | "r+";
  #fd: number | undefined;
  #lines: LineFile | undefined;
  #written = 0;
  #snapshotId = "";
  #waiting = Buffer.allocUnsafeSlow(64 * 1024);
  #waitingBytes = 0;

  /** Opens the file if there is one. */
  constructor(path: string, { readOnly }: { readonly readOnly: boolean }) {
    this.#path = path;
    this.#mode = readOnly ? "r" : "r+";
    try {
      this.#use(openSync(path, this.#mode));
    } catch (error) {
      if (!isErrno(error, "ENOENT")) throw error;
    }
  }

  /** The bytes in it, with those that wait. */
  get size(): number {
    return this.#written + this.#waitingBytes;
  }

  /** Every line that `accept` takes for one. What follows the last of them was cut by a crash, and is written over. */
  async scan(accept: (...line: Parameters<LineListener>) => boolean): Promise<void> {
    if (this.#fd === undefined) return;
    let torn: number | undefined;
    this.#written = fstatSync(this.#fd).size;
    const end = await scanLines(this.#fd, (bytes, start, lineEnd, offset) => {
      if (!accept(bytes, start, lineEnd, offset)) torn ??= offset;
      else if (torn !== undefined) throw damagedManifest(this.#path, "there is a hole in this journal");
    });
    this.#written = torn ?? end;
    if (this.#mode === "r+") ftruncateSync(this.#fd, this.#written);
  }

  /** Nothing is in it, and nothing on disk until something is. Readers that have the file open keep what they read from. */
  async restart(snapshotId: string): Promise<void> {
    this.close();
    this.#written = 0;
    this.#waitingBytes = 0;
    this.#snapshotId = snapshotId;
    if (this.#mode === "r+") await rm(this.#path, { force: true });
  }

  /** Where the line begins. */
  append(line: string): number {
    if (this.#mode === "r") throw new Error("change a manifest that was opened for reading");
    if (this.size === 0) this.#wait(encodeJournalLine({ kind: "head", snapshotId: this.#snapshotId }));
    const offset = this.size;
    this.#wait(line);
    if (this.#waitingBytes > WAITING_BYTES) this.flush();
    return offset;
  }

  #wait(line: string): void {
    const length = Buffer.byteLength(line) + 1;
    if (this.#waitingBytes + length > this.#waiting.length) {
      const more = Buffer.allocUnsafeSlow(this.#waiting.length * 2 + length);
      this.#waiting.copy(more, 0, 0, this.#waitingBytes);
      this.#waiting = more;
    }
    this.#waitingBytes += this.#waiting.write(`${line}\n`, this.#waitingBytes);
  }

  read(offset: number, length: number): Buffer {
    const waitingAt = offset - this.#written;
    if (waitingAt >= 0) return this.#waiting.subarray(waitingAt, waitingAt + length);
    if (!this.#lines) throw new Error(`read ${this.#path}: it is closed`);
    return this.#lines.read(offset, length);
  }

  /** Written at once, like the journals of the map files: killed afterwards, nothing of it is lost. */
  flush(): void {
    if (this.#waitingBytes === 0) return;
    const fd = this.#fd ?? this.#create();
    if (fstatSync(fd).size !== this.#written) throw this.#conflict();
    try {
      for (let at = 0; at < this.#waitingBytes; ) {
        at += writeSync(fd, this.#waiting, at, this.#waitingBytes - at, this.#written + at);
      }
    } catch (error) {
      ftruncateSync(fd, this.#written);
      throw error;
    }
    this.#written += this.#waitingBytes;
    this.#waitingBytes = 0;
  }

  close(): void {
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = undefined;
    this.#lines = undefined;
  }

  #create(): number {
    mkdirSync(dirname(this.#path), { recursive: true });
    try {
      return this.#use(openSync(this.#path, "wx+"));
    } catch (error) {
      throw isErrno(error, "EEXIST") ? this.#conflict() : error;
    }
  }

  #conflict(): ConflictError {
    return new ConflictError(`${this.#path} was written by somebody else meanwhile.`);
  }

  #use(fd: number): number {
    this.#fd = fd;
    this.#lines = new LineFile(fd);
    return fd;
  }
}
