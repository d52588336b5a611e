import { createReadStream } from "node:fs";
import { isErrno } from "../../../lib/atomic-file.ts";

export interface JsonLine {
  readonly text: string;
  readonly offset: number;
  /** In bytes, without the line's end. */
  readonly length: number;
}

const LINE_END = 10;
/** Many small pieces of a file are read in one go. */
const CHUNK_BYTES = 256 * 1024;

/** The whole lines of a file with their places; the last one, when it was cut off, is not among them. No file is no lines. */
export async function* jsonLines(path: string): AsyncGenerator<JsonLine, void> {
  let rest: Buffer = Buffer.alloc(0);
  let offset = 0;
  try {
    for await (const chunk of createReadStream(path, { highWaterMark: CHUNK_BYTES })) {
      rest = rest.length === 0 ? (chunk as Buffer) : Buffer.concat([rest, chunk as Buffer]);
      let start = 0;
      for (let end = rest.indexOf(LINE_END); end >= 0; end = rest.indexOf(LINE_END, start)) {
        yield { text: rest.toString("utf8", start, end), offset: offset + start, length: end - start };
        start = end + 1;
      }
      rest = rest.subarray(start);
      offset += start;
    }
  } catch (error) {
    if (!isErrno(error, "ENOENT")) throw error;
  }
}
