import { openIfExists } from "./file-system.ts";

const CHUNK_BYTES = 64 * 1024;
/** A longer line was not written by lockstep: it is skipped. */
const MAX_LINE_BYTES = 256 * 1024;
const LINE_END = 10;

/**
 * Yields the lines of a text file from the last to the first, however long the file is. Leaves out empty lines; a missing file has none.
 */
export async function* linesFromEnd(path: string): AsyncGenerator<string, void> {
  await using file = await openIfExists(path);
  if (!file) return;
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
    // Only its end is kept, which does not parse as a line of lockstep.
    if (rest.length > MAX_LINE_BYTES) rest = rest.subarray(rest.length - CHUNK_BYTES);
  }
  if (rest.length > 0) yield rest.toString("utf8");
}
