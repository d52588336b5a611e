// Names that differ by case, or change between file and folder, get places that do not collide.
import assert from "node:assert/strict";
import { readFile, rm, utimes } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { LedgerEntry } from "../../src/contracts/ledger.ts";
import { openTestLedgers } from "../ledger/open-test-ledgers.ts";
import { FOLDERS, FolderStage } from "./folder-stage.ts";

const NOTES =
  "The aardvark has notes of its own, and keeps them in a folder with a capital letter, where nobody else writes.";
const BY_FEED = /by what changed since the last crawl/;

let stage: FolderStage;
before(async () => {
  stage = await FolderStage.open();
  for (let i = 0; i < 20; i++) await stage.write(`f/${i}.md`, `Text number${i} of many.`);
  await stage.write("Docs/Notes.md", NOTES);
  await stage.crawl();
});
after(() => stage.close());

function marked(path: string): string {
  return path.replace(/~[0-9a-f]{8}/, "~id");
}

/** Of a document that search finds, where it lies, without its mark. */
async function found(word: string): Promise<string[]> {
  return (await stage.found(word)).map((path) => marked(path).replace("~id", ""));
}

/** What the mirror has, by the names its files have there. */
async function mirrored(pattern: RegExp): Promise<Map<string, string>> {
  const texts = new Map<string, string>();
  for (const path of (await stage.below("02_embedded")).filter((each) => pattern.test(each))) {
    texts.set(marked(path), await readFile(join(stage.folder, "02_embedded", path), "utf8"));
  }
  return texts;
}

test("a file that differs by case alone from one that nothing was heard of gets a place of its own", async () => {
  await stage.write("docs/notes.md", "The bobolink wrote in small letters.");
  await stage.rename("f/1.md", "DOCS/NOTES.md");
  const { log, source } = await stage.crawl();
  assert.match(log, BY_FEED);
  assert.deepEqual([source.download.added, source.download.moved, source.download.failed], [1, 1, 0]);
  const expected = [
    ["DOCS/NOTES~id.md", "Text number1 of many."],
    ["Docs/Notes.md", NOTES],
    ["docs/notes~id.md", "The bobolink wrote in small letters."],
  ];
  assert.deepEqual([...(await mirrored(/notes/i))].sort(), expected);
  assert.deepEqual(await found("aardvark"), ["Docs/Notes.md"]);
  assert.deepEqual(await found("bobolink"), ["docs/notes.md"]);
});

test("of two that were in the way of each other's name, one gets the plain one when it is free, and both are there", async () => {
  await stage.write("docs/notes.md", "The bobolink wrote in small letters again.");
  await stage.write("DOCS/NOTES.md", "The capybara writes in capitals.");
  // Fetched after the two, so that its place is free when they have others.
  await stage.rename("Docs/Notes.md", "z/elsewhere.md");
  await stage.write("z/elsewhere.md", `${NOTES} And it adds to them.`);
  const { log, source } = await stage.crawl();
  assert.match(log, BY_FEED);
  assert.deepEqual([source.download.changed, source.download.added, source.download.failed], [3, 0, 0]);
  const texts = await mirrored(/notes|elsewhere/i);
  assert.equal(texts.size, 3);
  assert.deepEqual([...texts.values()].sort(), [
    `${NOTES} And it adds to them.`,
    "The bobolink wrote in small letters again.",
    "The capybara writes in capitals.",
  ]);
  const names = [...texts.keys()].filter((path) => /notes/i.test(path));
  assert.equal(names.filter((path) => path.includes("~id")).length, 1, names.join());
  assert.deepEqual(await found("bobolink"), ["docs/notes.md"]);
  assert.deepEqual(await found("capybara"), ["DOCS/NOTES.md"]);
  const again = await stage.crawl();
  assert.match(again.log, /Nothing changed since the last crawl/);
});

test("a file and a folder that differ by case alone are both there", async () => {
  await stage.write("F.md", "The dugong is a file.");
  await stage.crawl();
  await stage.write("f.MD/inner.md", "The echidna is in a folder.");
  const { log } = await stage.crawl();
  assert.match(log, BY_FEED);
  assert.deepEqual(await found("dugong"), ["F.md"]);
  assert.deepEqual(await found("echidna"), ["f.MD/inner.md"]);
  assert.equal((await mirrored(/^f(~[0-9a-f]{8})?\.md/i)).size, 2);
});

test("a file that was renamed by case alone, and is newer, leaves nothing behind under its old spelling", async () => {
  await stage.rename("f/2.md", "f/2.MD");
  await utimes(join(stage.root, "f/2.MD"), new Date(), new Date("2026-02-02T02:02:02Z"));
  const { log } = await stage.crawl();
  assert.match(log, BY_FEED);
  assert.deepEqual([...(await mirrored(/^f\/2\.md$/i))], [["f/2.MD", "Text number2 of many."]]);
  assert.deepEqual(await found("number2"), ["f/2.MD"]);
});

test("a place that was left and taken by a name of other case has one file afterwards", async () => {
  const text = await readFile(join(stage.root, "f/5.md"), "utf8");
  await stage.remove("f/5.md");
  await stage.write("f/5.MD", "Another text altogether: of the okapi.");
  await stage.write("elsewhere/5.md", text);
  const { log } = await stage.crawl();
  assert.match(log, BY_FEED);
  assert.doesNotMatch(log, /WARNING/);
  assert.deepEqual([...(await mirrored(/^f\/5\.md$/i))], [["f/5.MD", "Another text altogether: of the okapi."]]);
  assert.deepEqual(await found("okapi"), ["f/5.MD"]);
});

test("a file that became a folder of its name, and the reverse, arrive, also when they were edited on the way", async () => {
  await stage.rename("f/3.md", "f/aside");
  await stage.write("f/keep.txt", "Text that keeps the folder.");
  await stage.rename("f/aside", "f/3.md/inner.md");
  await stage.write("f/3.md/inner.md", "Text number3 of many. Edited springbok.");
  const { log } = await stage.crawl();
  assert.match(log, BY_FEED);
  assert.deepEqual(await found("springbok"), ["f/3.md/inner.md"]);
  await stage.rename("f/3.md/inner.md", "f/aside");
  await rm(join(stage.root, "f/3.md"), { recursive: true });
  await stage.rename("f/aside", "f/3.md");
  await stage.write("f/3.md", "Text number3 of many. Edited tapir.");
  await stage.crawl();
  assert.deepEqual(await found("tapir"), ["f/3.md"]);
  assert.deepEqual(await found("springbok"), []);
  assert.deepEqual([...(await mirrored(/^f\/3\.md/))], [["f/3.md", "Text number3 of many. Edited tapir."]]);
});

test("of a file whose place a folder has, nothing is there to be removed", async (t) => {
  await stage.write("g/4.md", "Text about the gecko.");
  await stage.crawl();
  const ledgers = openTestLedgers(join(stage.storage, "crawler"));
  t.after(() => ledgers.close());
  const source = { domainId: FOLDERS, config: stage.config };
  const before: LedgerEntry[] = [];
  for await (const page of (await ledgers.open(source, { readOnly: true })).entries()) before.push(...page);
  await rm(join(stage.root, "g/4.md"));
  await stage.write("g/4.md/inner.md", "Nobody ever wrote of the hedgehog here.");
  await stage.crawl();
  const ledger = await ledgers.open(source, { readOnly: false });
  for (const { itemId, seen, mirrored } of before) ledger.put(itemId, { seen, mirrored });
  ledger.noteListing({ ...(ledger.listing ?? assert.fail()), cursor: "" });
  await ledger.close();
  await stage.crawl();
  assert.deepEqual(await found("gecko"), []);
  assert.deepEqual(await found("hedgehog"), ["g/4.md/inner.md"]);
});
