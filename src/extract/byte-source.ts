import { closeSync, fstatSync, openSync, readSync } from "node:fs";

/** A file's bytes. Synchronous on purpose: it is read where nothing else waits. */
export interface ByteSource {
  readonly size: number;
  /** Fewer bytes than asked for where the file ends. */
  read(offset: number, length: number): Buffer;
  /** The whole, in memory of its own that the caller may give away. */
  all(): Buffer;
}

export function bytesOf(bytes: Buffer): ByteSource {
  return {
    size: bytes.length,
    read: (offset, length) => bytes.subarray(offset, Math.max(offset, offset + length)),
    all: () => bytes,
  };
}

/** Only what is asked for is read: of an archive full of pictures that is little. */
export async function withFile<T>(path: string, use: (source: ByteSource) => Promise<T>): Promise<T> {
  const file = openSync(path, "r");
  try {
    const { size } = fstatSync(file);
    const read = (offset: number, length: number): Buffer => {
      const wanted = Math.max(0, Math.min(length, size - offset));
      const bytes = Buffer.from(new ArrayBuffer(wanted));
      let done = 0;
      while (done < wanted) {
        const count = readSync(file, bytes, done, wanted - done, offset + done);
        if (count === 0) break;
        done += count;
      }
      return done < wanted ? bytes.subarray(0, done) : bytes;
    };
    return await use({ size, read, all: () => read(0, size) });
  } finally {
    closeSync(file);
  }
}
