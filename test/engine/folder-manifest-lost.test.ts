// Documents of a folder keep their identity when ledger, manifest or reports are lost or old.
import assert from "node:assert/strict";
import { copyFile, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { FolderStage } from "./folder-stage.ts";

const FILES = 12;

let stage: FolderStage;
let aside: string;
before(async () => {
  stage = await FolderStage.open();
  aside = await mkdtemp(join(tmpdir(), "lockstep-aside-"));
  for (let i = 0; i < FILES; i++) await stage.write(`f${i % 3}/${i}.md`, `Text number${i} of many.`);
  await stage.crawl();
});
after(async () => {
  await stage.close();
  await rm(aside, { recursive: true, force: true });
});

/** By path; fails when one path has two documents. */
async function documents(): Promise<Map<string, string>> {
  const present = (await stage.manifest()).filter(({ status }) => status === "active");
  const shown = (await stage.holdings()).map(({ path }) => path ?? "");
  assert.deepEqual(shown.sort(), present.map(({ path }) => path).sort(), "the index and the manifest tell the same");
  assert.equal(new Set(shown).size, shown.length);
  return new Map(present.map(({ path, docId }) => [path, docId]));
}

test("with manifest.json lost, nothing is, and it is written again", async () => {
  await rm(join(stage.folder, "manifest.json"));
  const { log } = await stage.crawl();
  assert.match(log, /Nothing changed since the last crawl/);
  const written = JSON.parse(await readFile(join(stage.folder, "manifest.json"), "utf8")) as { files: object };
  assert.equal(Object.keys(written.files).length, FILES);
});

test("with the ledger lost and nothing else changed, every file is the document it was, with its versions", async () => {
  const was = await stage.manifest();
  await stage.loseLedger();
  const dry = await stage.tryCrawl({}, { dryRun: true });
  assert.equal(dry.source.download.removed, 0);
  const { source } = await stage.crawl();
  assert.equal(source.download.removed, 0);
  assert.equal(source.embed.added, 0);
  const facts = (entries: typeof was) => entries.map(({ path, docId, versions }) => ({ path, docId, versions }));
  assert.deepEqual(facts(await stage.manifest()), facts(was));
  const { log } = await stage.crawl();
  assert.match(log, /Nothing changed since the last crawl/);
  assert.doesNotMatch(log, /Change feed unusable/);
});

test("with the ledger lost, what was edited, moved, added and removed meanwhile is told apart, and search says what the folder says", async () => {
  const was = await documents();
  await stage.loseLedger();
  await stage.write("f0/0.md", "Text edited0 of many.");
  await stage.rename("f1/1.md", "g/one.md");
  await stage.remove("f2/2.md");
  await stage.write("f2/new.md", "Nobody has written anything like this newcomer before.");
  await stage.crawl();
  const now = await documents();
  assert.equal(now.size, FILES);
  assert.equal(now.get("f0/0.md"), was.get("f0/0.md"));
  assert.equal(now.get("g/one.md"), was.get("f1/1.md"));
  assert.deepEqual(await stage.found("edited0"), ["f0/0.md"]);
  assert.deepEqual(await stage.found("number0"), []);
  assert.deepEqual(await stage.found("number1"), ["g/one.md"]);
  assert.deepEqual(await stage.found("number2"), []);
  assert.deepEqual(await stage.found("newcomer"), ["f2/new.md"]);
  assert.equal((await stage.document("f2/2.md")).status, "missing");
});

test("with an earlier manifest put back from a backup, everything is compared, and nobody loses the document that was given since", async () => {
  const manifest = join(stage.folder, "manifest.json");
  await stage.crawl();
  await copyFile(manifest, join(aside, "manifest.json"));
  await stage.write("later.md", "Written after the backup, with afterthoughts.");
  await stage.rename("f0/3.md", "f1/three.md");
  await stage.crawl();
  const was = await documents();
  await copyFile(join(aside, "manifest.json"), manifest);
  const { source } = await stage.crawl();
  assert.equal(source.download.unchanged, was.size);
  assert.deepEqual(await documents(), was);
});

/** As watching leaves it: neither report nor manifest.json tell of what it brought. */
async function loseAllRecords(): Promise<void> {
  await rm(join(stage.storage, "reports"), { recursive: true, force: true });
  await rm(join(stage.folder, "manifest.json"), { force: true });
  await stage.loseLedger();
}

test("with ledger, reports and manifest.json lost, the knowledge base tells which document is which", async () => {
  await stage.write("twin/a.md", "Two files say the same, alike as peas.");
  await stage.write("twin/b.md", "Two files say the same, alike as peas.");
  await stage.write("f2/2.md", "Text second2 takes the place of one that is missing.");
  await stage.crawl();
  const was = await documents();
  await loseAllRecords();
  await stage.rename("f1/7.md", "g/seven.md");
  await stage.write("f1/4.md", "Text edited4 of many.");
  const { source, log } = await stage.crawl();
  const { added, removed, held } = source.embed;
  assert.deepEqual(
    { added, removed, held },
    { added: 1, removed: 0, held: 0 },
    `only the edited one is embedded: ${log}`,
  );
  assert.match(log, /WARNING: The ledger knew nothing of source 'docs', and was built again from knowledge_base/);
  const now = await documents();
  assert.equal(now.get("g/seven.md"), was.get("f1/7.md"));
  was.set("g/seven.md", was.get("f1/7.md") ?? "").delete("f1/7.md");
  assert.deepEqual(new Map([...now].sort()), new Map([...was].sort()));
  assert.deepEqual(await stage.found("edited4"), ["f1/4.md"]);
  assert.deepEqual(await stage.found("number4"), []);
  assert.deepEqual(await stage.found("second2"), ["f2/2.md"]);
});

test("with the ledger lost and a manifest.json that is older, what came since keeps its document", async () => {
  const manifest = join(stage.folder, "manifest.json");
  await stage.crawl();
  await copyFile(manifest, join(aside, "manifest.json"));
  for (let i = 0; i < 30; i++) await stage.write(`since/${i}.md`, `Text since${i} the last report.`);
  await stage.remove("f0/6.md");
  await stage.crawl();
  await stage.write("f0/6.md", "Another text6 where one was deleted.");
  await stage.crawl();
  const was = await documents();
  await loseAllRecords();
  await copyFile(join(aside, "manifest.json"), manifest);
  const { source, log } = await stage.crawl();
  const { added, removed, held } = source.embed;
  assert.deepEqual({ added, removed, held }, { added: 0, removed: 0, held: 0 }, log);
  assert.deepEqual(new Map([...(await documents())].sort()), new Map([...was].sort()), log);
});
