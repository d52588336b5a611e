// The mirror of a folder is compared with the ledger in every run, and put right.
import assert from "node:assert/strict";
import { existsSync, rmSync } from "node:fs";
import { cp, mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, type TestContext, test } from "node:test";
import { Mirror } from "../../src/mirror/mirror.ts";
import { FOLDERS, FolderStage } from "./folder-stage.ts";

const FILES = 8;
const NOTHING_CHANGED = /Nothing changed since the last crawl, neither at the source nor in the mirror/;

/** Somebody is at the mirror just when a file comes to its place. */
function whilePlacing(t: TestContext, deed: () => void): void {
  const { place } = Mirror.prototype;
  t.mock.method(Mirror.prototype, "place", function (this: Mirror, ...args: Parameters<typeof place>) {
    deed();
    return place.apply(this, args);
  });
}

let stage: FolderStage;

describe("the mirror of a folder is compared with the ledger in every run:", () => {
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
    assert.match(log, /by what changed since the last crawl: 2 moved, 1 removed/);
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

  test("a file that nobody knows is deleted, and one that somebody touched is fetched again", async () => {
    await writeFile(join(stage.folder, "02_embedded/stranger.md"), "Nobody knows me.");
    await writeFile(join(stage.folder, "02_embedded/f0/0.md"), "Somebody wrote here.");
    const { log, source } = await stage.crawl();
    assert.match(log, /Integrity check corrected: 1 missing, 1 orphans deleted/);
    assert.equal(source.download.changed, 1);
    assert.ok(!existsSync(join(stage.folder, "02_embedded/stranger.md")));
    assert.match((await stage.crawl()).log, NOTHING_CHANGED);
  });

  test("a dry run finds the bytes of a file that a killed run left between its two places", async () => {
    await stage.rename("f1/1.md", "elsewhere/uno.md");
    const { docId } = await stage.document("f1/1.md");
    const moving = join(stage.folder, ".lockstep/moving");
    await mkdir(moving, { recursive: true });
    await rename(join(stage.folder, "02_embedded/f1/1.md"), join(moving, docId));
    const plan = await stage.tryCrawl({}, { dryRun: true });
    assert.deepEqual([plan.source.download.moved, plan.source.download.changed], [1, 0], plan.log);
    assert.ok(existsSync(join(moving, docId)), "a dry run moves nothing");
    const { source } = await stage.crawl();
    assert.deepEqual(source.download, plan.source.download);
    assert.deepEqual(await stage.found("number1"), ["elsewhere/uno.md"]);
  });

  test("a lost ledger that is built again from exports older than the mirror leaves no text under another's name", async () => {
    await stage.write("a.md", "The zebra is alpha.");
    await stage.write("b.md", "The zebra is bravo, which is longer.");
    await stage.crawl();
    const [manifest, reports] = [join(stage.folder, "manifest.json"), join(stage.storage, "reports")];
    const aside = join(stage.storage, "aside");
    await cp(reports, join(aside, "reports"), { recursive: true });
    await cp(manifest, join(aside, "manifest.json"));
    for (const [from, to] of [
      ["a.md", "t.md"],
      ["b.md", "a.md"],
      ["t.md", "b.md"],
    ] as const) {
      await stage.rename(from, to);
    }
    await stage.crawl();
    await rm(reports, { recursive: true });
    await cp(join(aside, "reports"), reports, { recursive: true });
    await cp(join(aside, "manifest.json"), manifest);
    for (const end of ["", "-wal", "-shm"]) {
      await rm(join(stage.storage, "crawler", FOLDERS, `ledger.sqlite${end}`), { force: true });
    }
    const { log } = await stage.crawl();
    for (const word of ["alpha", "bravo"]) {
      const path = word === "alpha" ? "b.md" : "a.md";
      assert.deepEqual(await stage.found(word), [path], log);
      assert.match(await readFile(join(stage.folder, "02_embedded", path), "utf8"), new RegExp(word));
    }
  });
});
