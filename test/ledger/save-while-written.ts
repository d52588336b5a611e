import assert from "node:assert/strict";
import { readdir, rename, writeFile } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { setImmediate as nextRound } from "node:timers/promises";

/** Somebody saves a file that is to take the place of an export, just when `write` has begun to write that beside it. */
export async function saveWhileWritten(path: string, text: string, write: () => Promise<unknown>): Promise<void> {
  const theirs = `${path}.theirs`;
  await writeFile(theirs, text);
  const isWriting = async (): Promise<boolean> =>
    (await readdir(dirname(path))).some((name) => name.startsWith(`${basename(path)}.`) && name.endsWith(".tmp"));
  let isOver = false;
  const writing = write().finally(() => {
    isOver = true;
  });
  while (!isOver && !(await isWriting())) await nextRound();
  assert.ok(!isOver, `${basename(path)} was not written`);
  await rename(theirs, path);
  await writing;
}
