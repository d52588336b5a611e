import { once } from "node:events";
import type { FileHandle } from "node:fs/promises";
import type { Socket } from "node:net";
import { BYTES_REQUEST, CHUNK_BYTES } from "./messages.ts";

/**
 * Gives a reader the bytes it asks for, of this file and no other, until the signal aborts. Rejects when the file cannot be read,
 * and settles in no other way. However much is asked for, one chunk is held.
 */
export function serveBytes(socket: Socket, file: FileHandle, signal: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  let asked = Buffer.alloc(0);
  const answerAll = async (): Promise<void> => {
    for (; asked.length >= BYTES_REQUEST && !signal.aborted; asked = asked.subarray(BYTES_REQUEST)) {
      await sendBytes(socket, file, { offset: asked.readDoubleLE(0), length: asked.readDoubleLE(8) }, signal);
    }
  };
  const onData = (bytes: Buffer): void => {
    asked = Buffer.concat([asked, bytes]);
    socket.pause();
    answerAll().then(
      () => !signal.aborted && socket.resume(),
      (error: unknown) => !signal.aborted && reject(error),
    );
  };
  socket.on("data", onData).resume();
  signal.addEventListener("abort", () => socket.off("data", onData).pause(), { once: true });
  return promise;
}

/** Each chunk after its length; an empty one is the last. */
async function sendBytes(
  socket: Socket,
  file: FileHandle,
  { offset, length }: { readonly offset: number; readonly length: number },
  signal: AbortSignal,
): Promise<void> {
  if (!Number.isSafeInteger(offset) || offset < 0 || !Number.isSafeInteger(length))
    throw new Error("read file: a reader asked for no bytes");
  for (let done = 0; !signal.aborted && socket.writable; ) {
    const chunk = Buffer.allocUnsafe(4 + Math.max(0, Math.min(CHUNK_BYTES, length - done)));
    const { bytesRead } =
      chunk.length > 4 ? await file.read(chunk, 4, chunk.length - 4, offset + done) : { bytesRead: 0 };
    chunk.writeUInt32LE(bytesRead, 0);
    done += bytesRead;
    if (!socket.write(chunk.subarray(0, 4 + bytesRead))) await drained(socket, signal);
    if (bytesRead === 0) return;
  }
}

/** Also when the reader has gone: its end says why. */
async function drained(socket: Socket, signal: AbortSignal): Promise<void> {
  await once(socket, "drain", { signal }).catch(() => undefined);
}
