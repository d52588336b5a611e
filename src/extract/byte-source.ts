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

/** Bytes that `fetch` brings, which waits for them. Only what is asked for is read: of an archive full of pictures that is little. */
export function bytesFetched(size: number, fetch: (offset: number, length: number) => Buffer): ByteSource {
  const read = (offset: number, length: number): Buffer => fetch(offset, Math.max(0, Math.min(length, size - offset)));
  return { size, read, all: () => read(0, size) };
}
