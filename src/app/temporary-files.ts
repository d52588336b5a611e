import { opendir, stat } from "node:fs/promises";
import { join } from "node:path";
import { isErrno, isTemporary } from "../lib/atomic-file.ts";
import { EMBEDDED_FOLDER, FAILED_FOLDER, ORIGINALS_FOLDER } from "../mirror/layout.ts";

/** Whoever writes a file beside its place is done, or dead, long before. */
const OLD_MS = 24 * 3600_000;
/** Here files have the names that others gave them, which may look like ours. */
const OTHERS_NAMES = new Set([ORIGINALS_FOLDER, EMBEDDED_FOLDER, FAILED_FOLDER, "knowledge_base", "backup"]);

/** Files that were to take the place of others, and whose writers were killed before. */
export async function* findTemporaryFiles(
  folder: string,
  now: Date,
): AsyncGenerator<{ readonly path: string; readonly bytes: number }> {
  for await (const entry of entriesOf(folder)) {
    const path = join(folder, entry.name);
    if (entry.isDirectory() && !OTHERS_NAMES.has(entry.name)) yield* findTemporaryFiles(path, now);
    if (!entry.isFile() || !isTemporary(entry.name)) continue;
    const facts = await stat(path).catch(() => undefined);
    if (facts && now.getTime() - facts.mtimeMs > OLD_MS) yield { path, bytes: facts.size };
  }
}

async function* entriesOf(folder: string) {
  try {
    yield* await opendir(folder);
  } catch (error) {
    if (!isErrno(error, "ENOENT")) throw error;
  }
}
