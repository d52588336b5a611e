import { appendFile, mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { FileId } from "../../contracts/ids.ts";
import { readFileIfExists, writeFileAtomic } from "../../lib/atomic-file.ts";
import { withFileLock } from "../../lib/file-lease.ts";

/**
 * Uploads of ours that were taken out of a vector store, an id a line: nothing at the service says whose a file is that no
 * store holds. Written down before they are detached, so it may also name one that a store still holds.
 */
export async function noteDetached(folder: string, fileIds: readonly FileId[]): Promise<void> {
  if (fileIds.length === 0) return;
  const path = pathIn(folder);
  await mkdir(dirname(path), { recursive: true });
  // Begins a line of its own: a crash may have cut off the last one.
  await locked(path, () => appendFile(path, ["", ...fileIds, ""].join("\n")));
}

export async function detachedUploads(folder: string): Promise<ReadonlySet<FileId>> {
  return readIds(pathIn(folder));
}

/** They do not exist any more. */
export async function forgetDetached(folder: string, gone: ReadonlySet<FileId>): Promise<void> {
  if (gone.size === 0) return;
  const path = pathIn(folder);
  await locked(path, async () => {
    const left = [...(await readIds(path))].filter((id) => !gone.has(id));
    await writeFileAtomic(path, left.map((id) => `${id}\n`).join(""));
  });
}

function pathIn(folder: string): string {
  return join(folder, "detached-uploads.txt");
}

function locked<T>(path: string, work: () => Promise<T>): Promise<T> {
  return withFileLock(`${path}.lock`, work);
}

/** A line that a crash cut off is no id of anything: whoever asks for it hears that it does not exist. */
async function readIds(path: string): Promise<Set<FileId>> {
  const text = (await readFileIfExists(path))?.toString("utf8") ?? "";
  return new Set(text.split("\n").filter((line) => line !== "") as FileId[]);
}
