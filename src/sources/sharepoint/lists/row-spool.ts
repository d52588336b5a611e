import { close, open, read, write } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const openFile = promisify(open);
const readFile = promisify(read);
const writeFile = promisify(write);
const closeFile = promisify(close);
const PIECE_BYTES = 256 * 1024;

/**
 * Rows on their way from a listing to its export, on disk because they may be many. The file has no name any more once
 * it is open, so that it is gone with the process, however that ends. A spool nobody closes is closed when it is
 * forgotten: a dry run lists and never exports.
 */
export class RowSpool {
  readonly #file: number;
  readonly #ids = new Set<number>();
  #length = 0;
  #closed = false;

  private constructor(file: number) {
    this.#file = file;
    forgotten.register(this, file, this);
  }

  static async open(): Promise<RowSpool> {
    const folder = await mkdtemp(join(tmpdir(), "lockstep-list-"));
    try {
      return new RowSpool(await openFile(join(folder, "rows"), "wx+", 0o600));
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }

  /** Encoded rows, and the items they are of. */
  async append(rows: string, ids: Iterable<number>): Promise<void> {
    for (const id of ids) this.#ids.add(id);
    const bytes = Buffer.from(rows);
    for (let at = 0; at < bytes.length; ) {
      const { bytesWritten } = await writeFile(this.#file, bytes, at, bytes.length - at, this.#length);
      at += bytesWritten;
      this.#length += bytesWritten;
    }
  }

  has(id: number): boolean {
    return this.#ids.has(id);
  }

  /** Everything appended so far, as it was. */
  async *read(): AsyncGenerator<Uint8Array, void> {
    for (let at = 0; at < this.#length; ) {
      const piece = Buffer.allocUnsafe(Math.min(PIECE_BYTES, this.#length - at));
      const { bytesRead } = await readFile(this.#file, piece, 0, piece.length, at);
      if (bytesRead === 0) throw new Error(`read listed rows: the file ends after ${at} of ${this.#length} bytes`);
      at += bytesRead;
      yield piece.subarray(0, bytesRead);
    }
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    forgotten.unregister(this);
    await closeFile(this.#file);
  }
}

const forgotten = new FinalizationRegistry((file: number) => close(file));
