import { type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import { isErrno } from "../../lib/atomic-file.ts";
import { scanLines } from "./line-file.ts";
import { decodeHead, decodeJournalLine, type SnapshotHead } from "./manifest-codec.ts";

/** The first line names little more than a path. */
const HEAD_BYTES = 64 * 1024;
const TELLING = ['{"journal_of":', '{"look":'];

/** TreeLook.id of the manifest in this folder, without reading an entry; "" when there is none. */
export async function readLookId(folder: string): Promise<string> {
  const head = await withFile(join(folder, "manifest.json"), readHead);
  const journalled = await withFile(join(folder, ".lockstep", "manifest.journal"), async ({ fd }) => {
    let id: string | undefined;
    let isOfSnapshot = false;
    await scanLines(fd, (bytes, start, end) => {
      if (!TELLING.some((begin) => bytes.toString("latin1", start, start + begin.length) === begin)) return;
      const line = decodeJournalLine(bytes.toString("utf8", start, end));
      if (line?.kind === "head") isOfSnapshot = line.snapshotId === (head?.snapshotId ?? "");
      if (line?.kind === "look" && isOfSnapshot) id = line.look.id;
    });
    return id;
  });
  return journalled ?? head?.look?.id ?? "";
}

async function readHead(file: FileHandle): Promise<SnapshotHead | undefined> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
  const [line = ""] = buffer.toString("utf8", 0, bytesRead).split("\n", 1);
  return decodeHead(line);
}

async function withFile<T>(path: string, read: (file: FileHandle) => Promise<T>): Promise<T | undefined> {
  try {
    await using file = await open(path, "r");
    return await read(file);
  } catch (error) {
    if (isErrno(error, "ENOENT")) return undefined;
    throw error;
  }
}
