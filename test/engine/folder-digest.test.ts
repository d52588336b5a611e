import assert from "node:assert/strict";
import { existsSync, rmSync } from "node:fs";
import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, type TestContext, test } from "node:test";
import type { Worker } from "node:worker_threads";
import type { LastLook } from "../../src/engine/last-look.ts";
import { Mirror } from "../../src/mirror/mirror.ts";
import { FolderStage } from "./folder-stage.ts";

const FILES = 8;
const NOTHING_CHANGED = /Nothing changed since the last look, neither at the source nor in the mirror/;

/** Somebody is at the mirror just when a file comes to its place. */
function whilePlacing(t: TestContext, deed: () => void): void {
  const { place } = Mirror.prototype;
  t.mock.method(Mirror.prototype, "place", function (this: Mirror, ...args: Parameters<typeof place>) {
    deed();
    return place.apply(this, args);
  });
}

/** Makes the mirror as large in memory as would take long to make on disk. */
async function rememberFiles(files: number): Promise<void> {
  const path = join(stage.folder, ".lockstep/last-look.json");
  const look = JSON.parse(await readFile(path, "utf8")) as LastLook;
  assert.ok(look.settled);
  await writeFile(path, JSON.stringify({ ...look, settled: { ...look.settled, files } }));
}

let stage: FolderStage;

describe("the mirror of a folder is recognised by its digest:", () => {
  beforeEach(async () => {
    stage = await FolderStage.open();
    for (let i = 0; i < FILES; i++) await stage.write(`f${i % 4}/${i}.md`, `Text number${i} of many.`);
    await stage.crawl();
  });
  afterEach(() => stage.close());

  test("folders that come and go leave a mirror that the next run recognises", async () => {
    await stage.write("here/for/now.md", "Text passing through.");
    await stage.crawl();
    assert.ok(existsSync(join(stage.folder, "02_embedded/here/for/now.md")));
    await stage.rename("f1", "f10");
    await stage.remove("here/for/now.md");
    const { log } = await stage.crawl();
    assert.match(log, /by what changed since the last look: 2 moved, 1 removed/);
    assert.deepEqual((await readdir(join(stage.folder, "02_embedded"))).sort(), ["f0", "f10", "f2", "f3"]);
    assert.match((await stage.crawl()).log, NOTHING_CHANGED);
  });

  test("a file that leaves the mirror while others are fetched is missed by the next run, which brings it back", async (t) => {
    const victim = join(stage.folder, "02_embedded/f3/3.md");
    whilePlacing(t, () => rmSync(victim, { force: true }));
    await stage.write("f0/4.md", "Text edited again4 of many.");
    assert.match((await stage.crawl()).log, /Listed 8 items by what changed/);
    t.mock.restoreAll();
    assert.ok(!existsSync(victim));
    const { log } = await stage.crawl();
    assert.doesNotMatch(log, NOTHING_CHANGED);
    assert.ok(existsSync(victim));
    assert.match((await stage.crawl()).log, NOTHING_CHANGED);
  });

  test("files that do not add up are said to, and the next run compares every one", async (t) => {
    whilePlacing(t, () => rmSync(join(stage.folder, "02_embedded/f0/4.md"), { force: true }));
    await stage.write("f0/4.md", "Text edited once more4 of many.");
    const { log } = await stage.crawl();
    t.mock.restoreAll();
    assert.match(log, /WARNING: the mirror has 9 files where 8 were expected/);
    assert.doesNotMatch(log, /Integrity check passed/);
    assert.doesNotMatch((await stage.crawl()).log, NOTHING_CHANGED);
    assert.match((await stage.crawl()).log, NOTHING_CHANGED);
  });

  test("a large mirror is looked through by another thread; when that dies, here", async (t) => {
    const threads: Worker[] = [];
    let isDeadly = false;
    const note = (worker: Worker): void => {
      threads.push(worker);
      if (isDeadly) void worker.terminate();
    };
    process.on("worker", note);
    t.after(() => process.off("worker", note));
    assert.match((await stage.crawl()).log, NOTHING_CHANGED);
    assert.equal(threads.length, 0, "a small one is not worth it");
    await rememberFiles(20_000);
    assert.match((await stage.crawl()).log, /Integrity check passed: 20000 files verified/);
    assert.equal(threads.length, 1);
    isDeadly = true;
    assert.match((await stage.crawl()).log, NOTHING_CHANGED);
    assert.equal(threads.length, 2);
    await rm(join(stage.folder, "02_embedded/f3/3.md"));
    isDeadly = false;
    assert.equal((await stage.crawl()).source.download.added, 1, "what the thread finds counts");
  });
});
