import { open } from "node:fs/promises";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { crc32, createDeflateRaw } from "node:zlib";
import { Zip, type ZipInputFile } from "fflate";

/** Offsets and sizes of the plain zip format have 32 bits. */
const MAX_BYTES = 0xffffffff;
/** The format has no time before 1980 or after 2099. */
const OLDEST_MS = Date.UTC(1980, 0, 2);

type Content = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

/** The sequential output of an archive. */
interface ZipSink {
  write(chunk: Uint8Array): Promise<void>;
  /** The archive is complete. */
  finish(): Promise<void>;
  close(): Promise<void>;
}

/** Yields an archive while it is read, and no faster. A reader that stops early ends it. */
export async function* streamZip(
  entries: readonly { readonly name: string; content(): Content }[],
  modifiedMs: number,
): AsyncGenerator<Uint8Array, void> {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const sink = writable.getWriter();
  const zip = new ZipWriter({
    write: (chunk) => sink.write(chunk),
    finish: () => sink.close(),
    close: async () => undefined,
  });
  const fill = async (): Promise<void> => {
    try {
      for (const { name, content } of entries) await zip.add(name, modifiedMs, content());
      await zip.finish();
    } catch (error) {
      // The reader gets the error, unless it has left.
      await sink.abort(error).catch(() => undefined);
    }
  };
  const filled = fill();
  try {
    yield* readable;
  } finally {
    await filled;
  }
}

/**
 * Writes an archive entry by entry; memory holds one chunk. fflate handles the format, zlib compresses in its own thread. Until `finish`
 * has returned there is no archive.
 */
export class ZipWriter {
  readonly #sink: ZipSink;
  readonly #zip: Zip;
  #pending: Uint8Array[] = [];
  #written = 0;

  constructor(sink: ZipSink) {
    this.#sink = sink;
    this.#zip = new Zip((error, chunk) => {
      if (error) throw error;
      this.#pending.push(chunk);
    });
  }

  /** The file must not exist yet; once finished, it survives a crash. */
  static async create(path: string): Promise<ZipWriter> {
    const file = await open(path, "wx");
    return new ZipWriter({
      write: (chunk) => file.writeFile(chunk),
      finish: () => file.sync(),
      close: () => file.close(),
    });
  }

  /** Returns its size in bytes. */
  async add(name: string, modifiedMs: number, content: Content): Promise<number> {
    const mtime = new Date(Math.max(OLDEST_MS, modifiedMs));
    const entry: ZipInputFile = { filename: name, size: 0, crc: 0, compression: 8, mtime };
    this.#zip.add(entry);
    const count = async function* (): AsyncGenerator<Uint8Array> {
      for await (const chunk of content) {
        entry.size += chunk.length;
        entry.crc = crc32(chunk, entry.crc);
        yield chunk;
      }
    };
    await pipeline(Readable.from(count()), createDeflateRaw(), async (packed: AsyncIterable<Buffer<ArrayBuffer>>) => {
      for await (const chunk of packed) {
        entry.ondata?.(null, chunk, false);
        await this.#drain();
      }
    });
    if (entry.size > MAX_BYTES) throw new Error(`add ${name}: a zip takes no more than 4 GB`);
    entry.ondata?.(null, new Uint8Array(0), true);
    await this.#drain();
    return entry.size;
  }

  /** Adds an entry that was compressed for another archive; `sizes` come from that archive's directory. */
  async addPacked(
    name: string,
    modifiedMs: number,
    sizes: { readonly size: number; readonly crc32: number },
    packed: AsyncIterable<Uint8Array<ArrayBuffer>>,
  ): Promise<void> {
    const mtime = new Date(Math.max(OLDEST_MS, modifiedMs));
    const entry: ZipInputFile = { filename: name, size: sizes.size, crc: sizes.crc32, compression: 8, mtime };
    this.#zip.add(entry);
    for await (const chunk of packed) {
      entry.ondata?.(null, chunk, false);
      await this.#drain();
    }
    entry.ondata?.(null, new Uint8Array(0), true);
    await this.#drain();
  }

  /** Writes the directory. */
  async finish(): Promise<void> {
    this.#zip.end();
    await this.#drain();
    await this.#sink.finish();
  }

  close(): Promise<void> {
    return this.#sink.close();
  }

  async #drain(): Promise<void> {
    const chunks = this.#pending;
    this.#pending = [];
    for (const chunk of chunks) {
      this.#written += chunk.length;
      if (this.#written > MAX_BYTES) throw new Error("write archive: a zip takes no more than 4 GB");
      await this.#sink.write(chunk);
    }
  }
}
