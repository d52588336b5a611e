import { fstatSync, readSync } from "node:fs";
import { setImmediate } from "node:timers/promises";

const LINE_END = 10;
const SCAN_BYTES = 1024 * 1024;
/** Read at once for one line: its neighbours are often asked for next. */
const BLOCK_BYTES = 16 * 1024;

/** Hears of a line from `start` up to `end` of bytes that are gone with the next one; `offset` is where it begins in the file. */
export type LineListener = (bytes: Buffer, start: number, end: number, offset: number) => void;

/** Every line that has an end; returns how many bytes they have together. */
export async function scanLines(fd: number, listen: LineListener): Promise<number> {
  let bytes = Buffer.allocUnsafeSlow(Math.min(SCAN_BYTES, fstatSync(fd).size + 1));
  let offset = 0;
  let held = 0;
  for (;;) {
    if (held === bytes.length) bytes = Buffer.concat([bytes, Buffer.allocUnsafeSlow(bytes.length)]);
    const read = readSync(fd, bytes, held, bytes.length - held, offset + held);
    if (read === 0) return offset;
    const known = bytes.subarray(0, held + read);
    let start = 0;
    for (let end = known.indexOf(LINE_END, held); end >= 0; end = known.indexOf(LINE_END, start)) {
      listen(known, start, end, offset + start);
      start = end + 1;
    }
    known.copyWithin(0, start);
    offset += start;
    held = known.length - start;
    // Others get their turn.
    await setImmediate();
  }
}

/** Parts of a file that does not change where it was written, by their place. */
export class LineFile {
  readonly #fd: number;
  readonly #block: Buffer;
  #from = 0;
  #to = 0;

  constructor(fd: number, blockBytes = BLOCK_BYTES) {
    this.#fd = fd;
    this.#block = Buffer.allocUnsafeSlow(blockBytes);
  }

  /** The bytes are those of the file until the next part is read. Throws when the file is shorter. */
  read(offset: number, length: number): Buffer {
    if (length > this.#block.length) return this.#fill(Buffer.allocUnsafeSlow(length), offset, length);
    if (offset < this.#from || offset + length > this.#to) {
      this.#to = 0;
      const bytes = this.#fill(this.#block, offset, length);
      this.#from = offset;
      this.#to = offset + bytes.length;
    }
    return this.#block.subarray(offset - this.#from, offset - this.#from + length);
  }

  #fill(target: Buffer, offset: number, atLeast: number): Buffer {
    let filled = 0;
    while (filled < atLeast) {
      const read = readSync(this.#fd, target, filled, target.length - filled, offset + filled);
      if (read === 0) throw new Error(`read at ${offset}: the file ends`);
      filled += read;
    }
    return target.subarray(0, filled);
  }
}
