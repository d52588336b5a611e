import { open } from "node:fs/promises";
import { isErrno } from "./atomic-file.ts";

const CHUNK_BYTES = 64 * 1024;
/** A longer line is none that we wrote: it is passed over. */
const MAX_LINE_BYTES = 256 * 1024;
const LINE_END = 10;

/** The lines of a text file, the last one first, however long the file is. Empty lines are left out; no file is no lines. */
export async function* linesFromEnd(path: string): AsyncGenerator<string, void> {
  const file = await open(path).catch((error: unknown) => {
    if (isErrno(error, "ENOENT")) return undefined;
    throw error;
  });
  if (!file) return;
  try {
    let end = (await file.stat()).size;
    let rest: Buffer = Buffer.alloc(0);
    while (end > 0) {
      const start = Math.max(0, end - CHUNK_BYTES);
      const chunk = Buffer.allocUnsafe(end - start);
      const { bytesRead } = await file.read(chunk, 0, chunk.length, start);
      rest = Buffer.concat([chunk.subarray(0, bytesRead), rest]);
      end = start;
      for (let at = rest.lastIndexOf(LINE_END); at >= 0; at = rest.lastIndexOf(LINE_END)) {
        if (at + 1 < rest.length) yield rest.toString("utf8", at + 1);
        rest = rest.subarray(0, at);
      }
      // Only the end of it is kept, which will not be taken for a line of ours.
      if (rest.length > MAX_LINE_BYTES) rest = rest.subarray(rest.length - CHUNK_BYTES);
    }
    if (rest.length > 0) yield rest.toString("utf8");
  } finally {
    await file.close();
  }
}
