import assert from "node:assert/strict";
import { existsSync, rmSync } from "node:fs";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Mirror } from "../../src/mirror/mirror.ts";
import { FolderStage } from "./folder-stage.ts";

const FILES = 40;

let stage: FolderStage;
before(async () => {
  stage = await FolderStage.open();
  for (let i = 0; i < FILES; i++) await stage.write(`f${i % 4}/${i}.md`, `Text number${i} of many.`);
  await stage.crawl();
});
after(() => stage.close());

test("what was heard of is judged, everything else is known to be in order, and so it is afterwards", async () => {
  await stage.write("f0/0.md", "Text edited0 of many.");
  await stage.rename("f1/1.md", "f9/one.md");
  await stage.remove("f2/2.md");
  await stage.write("f3/new.md", "Nobody has written anything like this newcomer before.");
  const { log, source } = await stage.crawl();
  assert.match(log, /Listed 40 items by what changed since the last look/);
  const { added, changed, moved, removed, unchanged } = source.download;
  assert.deepEqual([added, changed, moved, removed, unchanged], [1, 1, 1, 1, FILES - 3]);
  assert.deepEqual(await stage.found("edited0"), ["f0/0.md"]);
  assert.deepEqual(await stage.found("number1"), ["f9/one.md"]);
  assert.deepEqual(await stage.found("number2"), []);
  assert.deepEqual(await stage.found("newcomer"), ["f3/new.md"]);
  const again = await stage.crawl();
  assert.match(again.log, /Nothing changed since the last look, neither at the source nor in the mirror: 40 unchanged/);
  assert.match(again.log, /Integrity check passed: 40 files verified/);
});

test("a mirror that somebody meddled with is put right in a run that has something to do as well", async () => {
  const mirrored = join(stage.folder, "02_embedded");
  await rm(join(mirrored, "f3/3.md"));
  await stage.write("f0/4.md", "Text edited4 of many.");
  const { source } = await stage.crawl();
  assert.deepEqual([source.download.added, source.download.changed, source.download.unchanged], [1, 1, FILES - 2]);
  assert.ok((await readdir(join(mirrored, "f3"))).includes("3.md"));
});

test("a file that leaves the mirror while others are fetched is not said to be there, and the next run brings it back", async (t) => {
  await stage.crawl();
  const victim = join(stage.folder, "02_embedded/f3/3.md");
  const { place } = Mirror.prototype;
  const hook = t.mock.method(Mirror.prototype, "place", function (this: Mirror, ...args: Parameters<typeof place>) {
    rmSync(victim, { force: true });
    return place.apply(this, args);
  });
  await stage.write("f0/4.md", "Text edited again4 of many.");
  const { log } = await stage.crawl();
  hook.mock.restore();
  assert.match(log, /Listed 40 items by what changed/);
  assert.match(log, /WARNING: the mirror has 39 files where 40 were expected/);
  assert.doesNotMatch(log, /Integrity check passed/);
  await stage.crawl();
  assert.ok(existsSync(victim));
});

test("a loss is weighed against all that is known, not against what was heard of", async () => {
  for (let i = 8; i < FILES; i++) await stage.remove(`f${i % 4}/${i}.md`);
  const { log, source } = await stage.tryCrawl();
  assert.match(log, /32 of 40 items would be removed, more than the 25 allowed/);
  assert.deepEqual([source.download.held, source.download.removed, source.download.unchanged], [32, 0, 8]);
  assert.deepEqual(await stage.found("number39"), ["f3/39.md"]);
});
