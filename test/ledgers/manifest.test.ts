import assert from "node:assert/strict";
import { appendFileSync, copyFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { ConflictError, DamagedError } from "../../src/contracts/errors.ts";
import type { ItemId } from "../../src/contracts/ids.ts";
import type { Manifest, ManifestEntry } from "../../src/contracts/manifest.ts";
import { HashChains } from "../../src/ledgers/manifest/hash-chains.ts";
import { encodeEntry } from "../../src/ledgers/manifest/manifest-codec.ts";
import { ManifestJournal } from "../../src/ledgers/manifest/manifest-journal.ts";
import { matchesEntry } from "../../src/ledgers/manifest/match-entry.ts";
import { openManifest } from "../../src/ledgers/manifest/open-manifest.ts";
import { readLookId } from "../../src/ledgers/manifest/read-look-id.ts";
import { AT, entryOf } from "./manifest-fixture.ts";

const folders: string[] = [];
after(async () => {
  for (const folder of folders) await rm(folder, { recursive: true, force: true });
});

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "lockstep-manifest-"));
  folders.push(folder);
  return folder;
}

const open = (folder: string): Promise<Manifest> => openManifest(folder, { readOnly: false });
const snapshotOf = (folder: string): string => join(folder, "manifest.json");
const journalOf = (folder: string): string => join(folder, ".lockstep", "manifest.journal");
const id = (text: string): ItemId => text as ItemId;
const LATER = "2026-02-01T00:00:00.000000Z";

async function written(...entries: ManifestEntry[]): Promise<string> {
  const folder = await newFolder();
  const manifest = await open(folder);
  for (const entry of entries) manifest.put(entry);
  await manifest.close();
  return folder;
}

test("manifest.json has a line for every file, and no journal is left beside it", async () => {
  const folder = await written(
    entryOf("doc_a", "Reports/Q1.txt"),
    entryOf("doc_old", "b.txt", { status: "missing" }),
    entryOf("doc_b", "b.txt"),
  );
  const text = readFileSync(snapshotOf(folder), "utf8");
  assert.match(JSON.parse(text).snapshot, /^[0-9a-f]{16}$/);
  assert.equal(text.split("\n").length, 7, "head, one displaced, files, two, end, and nothing behind");
  assert.ok(!existsSync(journalOf(folder)));
});

test("paths that no tree has come back as they were, too", async () => {
  const paths = ["nothing\u0000.txt", "lone \ud800 and \udfff.txt"];
  const folder = await newFolder();
  const manifest = await open(folder);
  for (const [i, path] of paths.entries()) manifest.put(entryOf(`doc_${i}`, path));
  await manifest.flush();
  const check = async (): Promise<void> => {
    const reader = await openManifest(folder, { readOnly: true });
    for (const [i, path] of paths.entries()) assert.deepEqual(reader.at(path), entryOf(`doc_${i}`, path));
    await reader.close();
  };
  await check();
  await manifest.close();
  await check();
});

test("a look is one line of the journal, and its id is read without opening the manifest", async () => {
  const folder = await written(entryOf("doc_a", "a"));
  const manifest = await open(folder);
  manifest.noteLook({ root: "1:2", at: LATER, id: "look" });
  await manifest.flush();
  assert.equal(readFileSync(journalOf(folder), "utf8").split("\n").length, 3);
  assert.equal(await readLookId(folder), "look", "from the journal");
  await manifest.close();
  assert.equal(await readLookId(folder), "look", "from the snapshot");
});

test("a file that is what it was is recognised without parsing its entry, whatever letters it is written with", async (t) => {
  const paths = ["a.txt", "Büro/Übersicht.txt", "日本/計画.txt", "x/\u{1f600}.md"];
  const folder = await written(...paths.map((path, i) => entryOf(`doc_${i}`, path)));
  const manifest = await open(folder);
  const parses = t.mock.method(JSON, "parse").mock;
  for (const path of paths) {
    const met = (more: object) => manifest.inFolder("").meet({ ...entryOf("", path), ...more });
    assert.equal(met({}), "same");
    assert.equal(parses.callCount(), 0);
    for (const other of [{ stamp: "12-1-70" }, { stamp: "12-1-" }, { stamp: "" }, { node: "1:" }, { node: "" }]) {
      assert.notEqual(met(other), "same", JSON.stringify(other));
    }
    for (const other of [`${path}x`, path.slice(0, -1), ""]) assert.equal(met({ path: other }), undefined);
    parses.resetCalls();
  }
  await manifest.close();
});

test("bytes that mean another text match none", () => {
  for (const path of ["a\nb", 'a"b', "a\\b", "a\ud800b"]) {
    const bytes = Buffer.from(encodeEntry(entryOf("doc_a", path)));
    const encoded = { bytes, start: 0, end: bytes.length };
    const written = JSON.stringify(path).slice(1, -1);
    for (const other of [written, `${written}":{"doc_id":"doc_a`]) {
      assert.ok(!matchesEntry({ ...entryOf("", other) }, encoded), other);
    }
    const plain = Buffer.from(encodeEntry(entryOf("doc_a", "a")));
    assert.ok(matchesEntry(entryOf("", "a"), { bytes: plain, start: 0, end: plain.length }));
    assert.ok(!matchesEntry({ ...entryOf("", "a"), stamp: '12-1-7","node":"1:7' }, { ...encoded, bytes: plain }));
  }
});

test("many documents that one path had, or one content has, cost a read each, not one for every other", async (t) => {
  const manifest = await open(await newFolder());
  const many = 500;
  for (let i = 0; i < many; i++) manifest.put(entryOf(`doc_${i}`, "status.md", { status: "deleted" }));
  for (let i = 0; i < many; i++) manifest.put(entryOf(`doc_same_${i}`, `same/${i}`));
  const reads = t.mock.method(ManifestJournal.prototype, "read").mock;
  const steps = t.mock.method(HashChains.prototype, "next").mock;
  assert.equal(manifest.at("status.md")?.docId, `doc_${many - 1}`);
  const [first] = manifest.withContent(entryOf("", "").contentHash);
  assert.match(first?.docId ?? "", /^doc_same_/);
  assert.ok(reads.callCount() < 10, `${reads.callCount()} reads for two questions`);
  assert.ok(steps.callCount() < 10 + many, `${steps.callCount()} steps for two questions`);
  await manifest.snapshot("now");
  assert.ok(reads.callCount() < 5 * many, `${reads.callCount()} reads for a snapshot of ${2 * many} entries`);
  assert.equal(manifest.at("status.md")?.docId, `doc_${many - 1}`);
  assert.equal([...manifest.absent()].length, many);
  await manifest.close();
});

test("killed between the snapshot and the end of its journal, nothing is applied twice", async () => {
  const folder = await written(entryOf("doc_a", "a"), entryOf("doc_b", "b"));
  const manifest = await open(folder);
  manifest.put(entryOf("doc_c", "c"));
  manifest.drop(id("doc_a"));
  await manifest.flush();
  const copy = join(folder, "copy");
  copyFileSync(journalOf(folder), copy);
  await manifest.snapshot();
  manifest.put(entryOf("doc_a", "a", { size: 2 }));
  manifest.drop(id("doc_c"));
  await manifest.close();
  copyFileSync(copy, journalOf(folder));
  for (const readOnly of [true, false]) {
    const reader = await openManifest(folder, { readOnly });
    assert.deepEqual([reader.find(id("doc_a"))?.size, reader.find(id("doc_c"))], [2, undefined]);
    await reader.close();
  }
  assert.ok(!existsSync(journalOf(folder)));
});

test("a few changes of a large manifest stay in the journal, until it is told to write all", async () => {
  const folder = await newFolder();
  const manifest = await open(folder);
  for (let i = 0; i < 16_000; i++) manifest.put(entryOf(`doc_${i}`, `${"folder/".repeat(30)}${i}`));
  await manifest.close();
  const before = readFileSync(snapshotOf(folder));
  const next = await open(folder);
  next.put(entryOf("doc_0", "moved"));
  await next.close();
  assert.ok(before.equals(readFileSync(snapshotOf(folder))));
  const last = await open(folder);
  assert.equal(last.at("moved")?.docId, "doc_0");
  await last.snapshot("now");
  assert.equal(last.at("moved")?.docId, "doc_0");
  assert.ok(!existsSync(journalOf(folder)));
  assert.equal([...last.inFolder("folder/".repeat(30).slice(0, -1)).unmet()].length, 15_999);
  assert.equal(last.count().active, 16_000);
  await last.close();
});

const LINE =
  '"a":{"doc_id":"doc_a","status":"active","content_hash":"","last_seen":"","size":1,"modified_time":"","retry_count":0,"lineage":[],"versions":[]}';
const HEAD = '{"layout":2,"snapshot":"s","updated_at":"","displaced":{';
const REFUSED: readonly [string, string, RegExp][] = [
  ["two manifests", `${HEAD}\n},"files":{\n${LINE}\n}}\n${HEAD}\n`, /follows its end/],
  ["a line that is no entry", `${HEAD}\n},"files":{\n"a":{"doc_id":"doc_a"}\n}}\n`, /'content_hash' is wrong.*byte/],
  ["one that was formatted", `{\n "layout": 2, "snapshot": "s", "displaced": {}, "files": {}\n}\n`, /one entry a line/],
];
for (const [what, text, reason] of REFUSED) {
  test(`refused, and left as it is: ${what}`, async () => {
    const folder = await newFolder();
    writeFileSync(snapshotOf(folder), text);
    const fails = (error: unknown): boolean => error instanceof DamagedError && reason.test(error.message);
    await assert.rejects(async () => (await open(folder)).find(id("../a")), fails);
    assert.equal(readFileSync(snapshotOf(folder), "utf8"), text);
  });
}

test("an earlier layout is refused with the command that upgrades it, a later one with the release it needs", async () => {
  const folder = await newFolder();
  writeFileSync(snapshotOf(folder), JSON.stringify({ files: { "/a": { path: "/a" } }, updated_at: AT }));
  const fails =
    (text: RegExp) =>
    (error: unknown): boolean =>
      error instanceof ConflictError && text.test(error.message);
  await assert.rejects(open(folder), fails(/lockstep migrate/));
  writeFileSync(snapshotOf(folder), JSON.stringify({ layout: 3, files: {} }));
  await assert.rejects(open(folder), fails(/later release/));
});

test("what a power cut left at the end of a journal is written over", async () => {
  const folder = await written(entryOf("doc_a", "a"));
  const manifest = await open(folder);
  manifest.put(entryOf("doc_b", "b"));
  await manifest.flush();
  appendFileSync(journalOf(folder), '\0\0\0\n{"put":\n\0');
  const next = await open(folder);
  next.put(entryOf("doc_c", "c"));
  await next.flush();
  const reader = await openManifest(folder, { readOnly: true });
  assert.deepEqual(
    ["a", "b", "c"].map((path) => reader.at(path)?.docId),
    ["doc_a", "doc_b", "doc_c"],
  );
  await reader.close();
});

test("a journal without its snapshot, or with a hole, is refused", async () => {
  const folder = await written(entryOf("doc_a", "a"));
  const manifest = await open(folder);
  for (const name of ["b", "c"]) manifest.put(entryOf(`doc_${name}`, name));
  await manifest.flush();
  const lines = readFileSync(journalOf(folder), "utf8").split("\n");
  const refuses = (reason: RegExp): Promise<void> => assert.rejects(open(folder), reason);
  for (const broken of [0, 1]) {
    writeFileSync(journalOf(folder), lines.with(broken, "\0\0\0").join("\n"));
    await refuses(/hole/);
  }
  writeFileSync(journalOf(folder), lines.join("\n"));
  await rm(snapshotOf(folder));
  await refuses(/only its journal/);
});
