// A crawl of what a watch reported judges only that, and keeps mirror and guard right.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { DOCS, FOLDERS, FolderStage } from "./folder-stage.ts";

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
  assert.match(log, /Listed 40 items by what changed since the last crawl/);
  const { added, changed, moved, removed, unchanged } = source.download;
  assert.deepEqual([added, changed, moved, removed, unchanged], [1, 1, 1, 1, FILES - 3]);
  assert.deepEqual(await stage.found("edited0"), ["f0/0.md"]);
  assert.deepEqual(await stage.found("number1"), ["f9/one.md"]);
  assert.deepEqual(await stage.found("number2"), []);
  assert.deepEqual(await stage.found("newcomer"), ["f3/new.md"]);
  const again = await stage.crawl();
  assert.match(
    again.log,
    /Nothing changed since the last crawl, neither at the source nor in the mirror: 40 unchanged/,
  );
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

test("looks at what a watch tells of never compare everything; the next look at everything puts the mirror right", async () => {
  await stage.crawl();
  const lost = join(stage.folder, "02_embedded", "f3/7.md");
  await rm(lost);
  for (let i = 0; i < 12; i++) {
    await stage.write("f0/0.md", `Text watched${i} of many.`);
    const { log } = await stage.crawl({ gathered: true, onlyFolders: new Map([[DOCS, new Set(["f0"])]]) });
    assert.match(log, /Listed 40 items by what changed since the last crawl: 1 changed/);
    assert.deepEqual(await stage.found(`watched${i}`), ["f0/0.md"]);
  }
  assert.ok(!existsSync(lost));
  await stage.crawl();
  assert.ok(existsSync(lost));
});

test("what a watch tells of is found at once; files_metadata.json and the rest of the index wait for the next look at everything", async () => {
  await stage.crawl();
  const metadata = join(stage.storage, "domains", FOLDERS, "files_metadata.json");
  const before = await readFile(metadata, "utf8");
  const lost = (await stage.holdings()).find(({ path }) => path === "f3/11.md") ?? assert.fail("it is not indexed");
  await stage.index(async (index) => {
    const draft = await index.draft(DOCS);
    await draft.remove(lost.itemId);
    await draft.commit(new AbortController().signal);
  });
  await stage.write("f0/heard.md", "Whoever watches finds periwinkles.");
  const watched = { gathered: true, onlyFolders: new Map([[DOCS, new Set(["f0"])]]) };
  const { source } = await stage.crawl(watched);
  assert.deepEqual([source.embed.added, source.embed.unchanged], [1, FILES]);
  assert.deepEqual(await stage.found("periwinkles"), ["f0/heard.md"]);
  assert.equal(await readFile(metadata, "utf8"), before);
  assert.deepEqual(await stage.found("number11"), []);
  await stage.crawl({ gathered: true });
  assert.match(await readFile(metadata, "utf8"), /heard\.md/);
  assert.deepEqual(await stage.found("number11"), ["f3/11.md"]);
  await stage.remove("f0/heard.md");
  await stage.crawl(watched);
  assert.deepEqual(await stage.found("periwinkles"), []);
});

test("a loss is weighed against all that is known, not against what was heard of", async () => {
  await stage.crawl();
  for (let i = 8; i < FILES; i++) await stage.remove(`f${i % 4}/${i}.md`);
  const { log, source } = await stage.tryCrawl();
  assert.match(log, /32 of 40 items would be removed, more than the 25 allowed/);
  assert.deepEqual([source.download.held, source.download.removed, source.download.unchanged], [32, 0, 8]);
  assert.deepEqual(await stage.found("number39"), ["f3/39.md"]);
});
