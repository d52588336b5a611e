import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { type FileHandle, mkdir, open, rm, stat, statfs } from "node:fs/promises";
import { join } from "node:path";

/** Of what is free on the disk when a look begins. */
const SHARE_OF_FREE = 0.25;

/**
 * An object is read to be hashed, and again when it turns out to be new: what was read first waits here, so that it travels once.
 * Nothing here is needed: whatever is not kept is read again.
 */
export class KeptReads {
  readonly #folder: string;
  /** By the key of what was read: where it is, and how long. */
  readonly #kept = new Map<string, { readonly file: string; readonly size: number }>();
  #roomBytes = 0;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Throws away what an earlier look left, and sees how much may be kept. */
  async begin(): Promise<void> {
    await this.end();
    await mkdir(this.#folder, { recursive: true });
    const { bavail, bsize } = await statfs(this.#folder);
    this.#roomBytes = bavail * bsize * SHARE_OF_FREE;
  }

  async end(): Promise<void> {
    this.#kept.clear();
    this.#roomBytes = 0;
    await rm(this.#folder, { recursive: true, force: true });
  }

  /** What is kept under this key, which is given away with it; otherwise what `read` gives, which is kept on the way. */
  async *read(key: string, read: () => AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
    const kept = this.#kept.get(key);
    this.#kept.delete(key);
    if (!kept) return yield* this.#keeping(key, read());
    this.#roomBytes += kept.size;
    try {
      const isWhole = (await stat(kept.file).catch(() => undefined))?.size === kept.size;
      yield* isWhole ? createReadStream(kept.file) : read();
    } finally {
      await rm(kept.file, { force: true });
    }
  }

  async *#keeping(key: string, body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
    const file = join(this.#folder, createHash("sha256").update(key).digest("hex"));
    let copy = await open(file, "w").catch(() => undefined);
    let size = 0;
    let isWhole = false;
    try {
      for await (const chunk of body) {
        size += chunk.byteLength;
        this.#roomBytes -= chunk.byteLength;
        if (copy && (this.#roomBytes < 0 || !(await write(copy, chunk)))) {
          await copy.close();
          copy = undefined;
        }
        yield chunk;
      }
      isWhole = true;
    } finally {
      await copy?.close();
      if (copy && isWhole) this.#kept.set(key, { file, size });
      else {
        this.#roomBytes += size;
        await rm(file, { force: true });
      }
    }
  }
}

/** A full disk is no reason not to read. */
async function write(file: FileHandle, chunk: Uint8Array): Promise<boolean> {
  try {
    await file.writeFile(chunk);
    return true;
  } catch {
    return false;
  }
}
