// Files of the mirror that somebody moved away return to their places.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { mkdir, readdir, readFile, rename } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { FolderStage } from "./folder-stage.ts";

const FILES = 40;
const FILE_BYTES = 200_000;

const name = (i: number): string => `${String(i).padStart(2, "0")}.txt`;
const textOf = (i: number): string => `number ${i} `.padEnd(FILE_BYTES, "abcdefg ");

/** What this process has asked the system to read so far, in bytes. */
function bytesRead(): number {
  return Number(/^rchar: (\d+)$/m.exec(readFileSync("/proc/self/io", "utf8"))?.[1]);
}

test("files of the mirror that somebody moved away return to their places, each read once or twice", {
  skip: process.platform !== "linux",
}, async (t) => {
  const stage = await FolderStage.open();
  t.after(() => stage.close());
  for (let i = 0; i < FILES; i++) await stage.write(`moved/${name(i)}`, textOf(i));
  await stage.write("other.txt", "stays where it is");
  await stage.crawl({ steps: ["download"] });
  const mirror = join(stage.folder, "02_embedded");
  await mkdir(join(mirror, "elsewhere"));
  for (let i = 0; i < FILES; i++) {
    await rename(join(mirror, "moved", name(i)), join(mirror, "elsewhere", name(FILES - 1 - i)));
  }
  const before = bytesRead();
  const { source } = await stage.crawl({ steps: ["download"] });
  const read = bytesRead() - before;
  assert.deepEqual([source.download.unchanged, source.download.added + source.download.changed], [FILES + 1, 0]);
  assert.deepEqual((await readdir(mirror)).sort(), ["moved", "other.txt"]);
  for (let i = 0; i < FILES; i++) assert.equal(await readFile(join(mirror, "moved", name(i)), "utf8"), textOf(i));
  assert.ok(read < 3 * FILES * FILE_BYTES, `${read} bytes for ${FILES} files of ${FILE_BYTES}`);
});
