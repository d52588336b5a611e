import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { readdir, readFile, rm, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import fc from "fast-check";
import { ConflictError } from "../../src/contracts/errors.ts";
import type { ItemId } from "../../src/contracts/ids.ts";
import type { Manifest, ManifestEntry } from "../../src/contracts/manifest.ts";
import type { ManifestTask } from "../ledger/manifest-child.ts";
import { AT, entryOf } from "../ledger/manifest-fixture.ts";
import { killManifestWriters } from "../ledger/manifest-kills.ts";
import { assertSame, followedBy, type Model, operation } from "../ledger/manifest-model.ts";
import { entriesOf, exportManifestAt, type ManifestPlace, openTree } from "../ledger/manifest-place.ts";
import { saveWhileWritten } from "../ledger/save-while-written.ts";

const CHILD = join(import.meta.dirname, "../ledger/manifest-child.ts");
const LATER = "2026-02-01T00:00:00.000000Z";
/** As objects, 50,000 entries take more. */
const HEAP_MB = 32;

const PATHS: readonly string[] = [
  'say "hello"\\n.txt',
  "line\nbreak\r\n\u2028\u2029.txt",
  "__proto__",
  "constructor/toString",
  "é".normalize("NFC"),
  "é".normalize("NFD"),
  "readme.md",
  "README.MD",
  "Büro/Übersicht.txt",
  "日本/計画.txt",
  "x/\u{1f600}.md",
  "=1+1",
  `${"x".repeat(200)}/`.repeat(20),
  '","status":"deleted","content_hash":"',
  '":{"doc_id":"doc_0","status":"missing"}',
  "},",
  "a,",
];

type NewPlace = (t: TestContext) => Promise<ManifestPlace>;

/** What every manifest promises; `newPlace` gives one with nothing in it, and `many` entries are more than the heap may hold. */
export function manifestSuite(
  name: string,
  newPlace: NewPlace,
  { many = 5000, runs = 15 }: { readonly many?: number; readonly runs?: number } = {},
): void {
  describe(`the manifest in ${name}`, () => {
    describe("entries", () => entriesCases(newPlace, runs));
    describe("manifest.json", () => exportCases(newPlace));
    describe("runs that are killed, and runs side by side", () => processCases(newPlace, many));
  });
}

function entriesCases(newPlace: NewPlace, numRuns: number): void {
  test("whatever happens to a manifest, it is what was put, and after a kill what was flushed", async (t) => {
    await fc.assert(
      fc.asyncProperty(fc.array(operation, { minLength: 10, maxLength: 40, size: "max" }), async (operations) => {
        const place = await newPlace(t);
        let ledger = await openTree(place);
        let model: Model = { entries: [], lookedAt: "" };
        let flushed = model;
        for (const op of operations) {
          model = followedBy(model, op);
          const { manifest } = ledger;
          if (op.do === "put") manifest.put(op.entry);
          else if (op.do === "drop") manifest.drop(op.doc as ItemId);
          else if (op.do === "look") manifest.recordScan({ root: "1:1", at: model.lookedAt, id: "look", turn: 3 });
          else if (op.do === "kill") model = flushed;
          else if (op.do === "export") await exportManifestAt(place);
          else {
            await ledger[op.do]();
            flushed = model;
          }
          if (op.do === "close" || op.do === "kill") ledger = await openTree(place);
          // To iterate is to flush: what is only put is compared in a dry run.
          if (op.do !== "put" && op.do !== "drop" && op.do !== "look") {
            await assertSame(ledger.manifest, model);
            flushed = model;
          }
        }
        await ledger.close();
      }),
      { numRuns },
    );
  });

  test("what is put into a dry run is seen there, and nowhere else", async (t) => {
    await fc.assert(
      fc.asyncProperty(fc.array(operation, { minLength: 10, maxLength: 20, size: "max" }), async (operations) => {
        const place = await newPlace(t);
        const before = [entryOf("doc_a", "a"), entryOf("doc_b", "x/a", { status: "missing" })];
        await put(place, ...before);
        let model: Model = { entries: before, lookedAt: "" };
        const ledger = await openTree(place, { readOnly: true, isSnapshot: true });
        for (const op of operations) {
          if (op.do !== "put" && op.do !== "drop" && op.do !== "look") continue;
          model = followedBy(model, op);
          if (op.do === "put") ledger.manifest.put(op.entry);
          else if (op.do === "drop") ledger.manifest.drop(op.doc as ItemId);
          else ledger.manifest.recordScan({ root: "1:1", at: model.lookedAt, id: "look", turn: 3 });
          await assertSame(ledger.manifest, model);
        }
        await ledger.flush();
        await ledger.close();
        await reading(place, (reader) => assertSame(reader, { entries: before, lookedAt: "" }));
      }),
      { numRuns },
    );
  });

  test("hostile paths come back as they were, flushed and written out", async (t) => {
    const place = await newPlace(t);
    await put(place, ...PATHS.map((path, i) => entryOf(`doc_${i}`, path)));
    const check = async (manifest: Manifest, where: string): Promise<void> => {
      const at = await manifest.at(PATHS);
      for (const [i, path] of PATHS.entries()) {
        const folder = path.slice(0, Math.max(0, path.lastIndexOf("/")));
        assert.deepEqual(at.get(path), entryOf(`doc_${i}`, path), `${where}: ${JSON.stringify(path)}`);
        const [known] = (await manifest.inFolders([folder])).get(folder)?.get(path) ?? [];
        assert.equal(known?.docId, `doc_${i}`, `${where}, in its folder: ${JSON.stringify(path)}`);
      }
      assert.deepEqual(await manifest.count(), { active: PATHS.length, error: 0, missing: 0, deleted: 0 });
    };
    await reading(place, (reader) => check(reader, "flushed"));
    await exportManifestAt(place);
    assert.equal(Object.keys((await read(place)).files).length, PATHS.length);
    await edit(place, (text) => `${text}\n`);
    const ledger = await openTree(place);
    await check(ledger.manifest, "read back");
    assert.deepEqual(ledger.problems, []);
    await ledger.close();
  });

  test("a look says of all that are active that they were seen", async (t) => {
    const place = await filled(t, newPlace, entryOf("doc_a", "a"), entryOf("doc_e", "e", { status: "error" }));
    const look = { root: "1:2", at: LATER, id: "look", turn: 3 };
    const ledger = await openTree(place);
    const { manifest } = ledger;
    assert.equal(manifest.lastScan, undefined);
    manifest.recordScan(look);
    const seen = async (from: Manifest): Promise<unknown> => {
      const at = await from.at(["a", "e"]);
      return [at.get("a")?.lastSeenAt, at.get("e")?.lastSeenAt, from.lastScan];
    };
    assert.deepEqual(await seen(manifest), [LATER, AT, look]);
    await manifest.flush();
    await reading(place, async (reader) => assert.deepEqual(await seen(reader), [LATER, AT, look]));
    await ledger.close();
    await exportManifestAt(place);
    assert.equal((await read(place)).files["a"]?.["last_seen"], LATER);
  });

  test("an entry that loses its path to another file is kept, and gets it back when that one leaves", async (t) => {
    const missing = { status: "missing" } as const;
    const place = await filled(t, newPlace, entryOf("doc_old", "a", missing), entryOf("doc_new", "a"));
    const ledger = await openTree(place);
    assert.deepEqual(await docsAt(ledger.manifest, "a"), ["doc_new"]);
    ledger.manifest.put(entryOf("doc_old", "a", { ...missing, missingRuns: 2 }));
    assert.deepEqual(await docsAt(ledger.manifest, "a"), ["doc_new"], "one that is missing takes no path away");
    await ledger.close();
    const next = await openTree(place);
    assert.deepEqual(await docsAt(next.manifest, "a"), ["doc_new"]);
    assert.equal((await next.manifest.find([id("doc_old")])).get(id("doc_old"))?.missingRuns, 2);
    next.manifest.put(entryOf("doc_new", "b"));
    assert.deepEqual(await docsAt(next.manifest, "a"), ["doc_old"]);
    await next.close();
    await exportManifestAt(place);
    assert.deepEqual((await read(place)).displaced, {});
  });

  test("two files swap their names", async (t) => {
    const place = await filled(t, newPlace, entryOf("doc_a", "a"), entryOf("doc_b", "b"));
    const { manifest } = await openTree(place);
    manifest.put(entryOf("doc_a", "b"));
    await manifest.flush();
    const half = await openTree(place);
    assert.deepEqual(await docsAt(half.manifest, "a", "b"), [undefined, "doc_a"]);
    const files = (await half.manifest.inFolders([""])).get("")?.get("b") ?? [];
    assert.deepEqual(
      files.map(({ docId }) => docId),
      ["doc_a", "doc_b"],
      "killed in between, nobody is lost, and the one that was put last has the path",
    );
    half.manifest.put(entryOf("doc_b", "a"));
    await half.close();
    await reading(place, async (reader) => assert.deepEqual(await docsAt(reader, "a", "b"), ["doc_b", "doc_a"]));
  });

  test("pages go on while entries are put, moved and dropped: each that stays comes once, as it is by then", async (t) => {
    const count = 5000;
    const all = Array.from({ length: count }, (_, i) => entryOf(`doc_${i}`, `folder ${i % 9}/${i}`));
    const place = await newPlace(t);
    await put(place, ...all);
    const ledger = await openTree(place);
    const { manifest } = ledger;
    const met = new Map<string, ManifestEntry>();
    let pages = 0;
    for await (const page of manifest.entries()) {
      pages += 1;
      for (const entry of page) {
        assert.ok(!met.has(entry.docId), `${entry.docId} comes twice`);
        met.set(entry.docId, entry);
      }
      if (pages > 5) continue;
      for (let i = 0; i < count; i += 50) manifest.put(entryOf(`doc_${i}`, `moved/${i}`, { size: pages }));
      manifest.drop(id(`doc_${pages}`));
      manifest.put(entryOf(`doc_new_${pages}`, `new/${pages}`));
      if (pages % 2 === 0) await manifest.flush();
    }
    assert.ok(pages > 1, "more than one page");
    for (let i = count / 2; i < count; i++) assert.ok(met.has(`doc_${i}`), `doc_${i} is left out`);
    assert.equal(met.get(`doc_${count - 50}`)?.size, 4);
    await ledger.close();
  });
}

function exportCases(newPlace: NewPlace): void {
  test("it has the words of the specification", async (t) => {
    const missing = { status: "missing", missingSinceAt: AT, missingRuns: 2 } as const;
    const place = await filled(
      ...([t, newPlace] as const),
      entryOf("doc_a", "Reports/Q1.txt"),
      entryOf("doc_old", "b.txt", missing),
      entryOf("doc_b", "b.txt", { status: "error", error: "EACCES", retryCount: 3, versions: [], lineage: [] }),
    );
    const { layout, displaced, files, updated_at } = await read(place);
    assert.ok(Date.parse(updated_at) > 0);
    const hash = "ab".repeat(32);
    const known = { content_hash: hash, last_seen: AT, size: 12, modified_time: AT, stamp: "12-1-7", node: "1:7" };
    const kept = {
      lineage: [{ event: "found", certainty: 1, date: AT }],
      versions: [{ version_id: "v1", date: AT, hash }],
    };
    const old = { doc_id: "doc_old", path: "b.txt", status: "missing", missing_since: AT, missing_runs: 2 };
    const b = { doc_id: "doc_b", status: "error", error: "EACCES", retry_count: 3, lineage: [], versions: [] };
    assert.deepEqual([layout, displaced], [2, { doc_old: { ...old, retry_count: 0, ...known, ...kept } }]);
    assert.deepEqual(files, {
      "Reports/Q1.txt": { doc_id: "doc_a", status: "active", retry_count: 0, ...known, ...kept },
      "b.txt": { ...known, ...b },
    });
  });

  test("it is not written when there is nothing to say, nor when it was only touched", async (t) => {
    const place = await filled(t, newPlace, entryOf("doc_a", "a"));
    const before = await text(place);
    for (const touch of [async () => undefined, () => utimes(pathOf(place), 1, 1)]) {
      await touch();
      await (await openTree(place)).close();
      await exportManifestAt(place);
      assert.equal(await text(place), before);
    }
  });

  test("an entry that somebody edited, removed or added between runs counts, and goes on to count", async (t) => {
    const place = await filled(t, newPlace, ...["a", "b", "c"].map((name) => entryOf(`doc_${name}`, name)));
    await edit(place, (written) => {
      const lines = written.split("\n");
      const at = (name: string): number => lines.findIndex((line) => line.startsWith(`"${name}":`));
      const added = (lines[at("a")] ?? "").replace('"a":', '"d":').replace("doc_a", "doc_d");
      lines[at("a")] = `${(lines[at("a")] ?? "").replace('"size":12', '"size":99')}\n${added}`;
      lines.splice(at("b"), 1);
      return lines.join("\n");
    });
    const expected = [entryOf("doc_a", "a", { size: 99 }), entryOf("doc_c", "c"), entryOf("doc_d", "d")];
    const dryRun = await openTree(place, { readOnly: true, isSnapshot: true });
    assert.deepEqual(await byDoc(dryRun.manifest), expected, "in a dry run, too");
    await dryRun.close();
    const ledger = await openTree(place);
    assert.deepEqual(await byDoc(ledger.manifest), expected);
    ledger.manifest.put(entryOf("doc_e", "e"));
    await ledger.close();
    await exportManifestAt(place);
    await (await openTree(place)).close();
    await reading(place, async (reader) => assert.deepEqual(await byDoc(reader), [...expected, entryOf("doc_e", "e")]));
  });

  test("an entry that somebody edited while it was being written counts", async (t) => {
    const entries = Array.from({ length: 2000 }, (_, n) => entryOf(`doc_${n}`, `${n}`));
    const place = await filled(t, newPlace, ...entries);
    const edited = (await text(place)).replace(/^"7":.*$/m, (line) => line.replace('"size":12', '"size":99'));
    await put(place, entryOf("doc_1", "1", { size: 5 }));
    await saveWhileWritten(pathOf(place), edited, () => exportManifestAt(place));
    const ledger = await openTree(place);
    const at = await ledger.manifest.at(["1", "7"]);
    assert.deepEqual([at.get("1")?.size, at.get("7")?.size], [5, 99]);
    await ledger.close();
    const again = (await text(place)).replace(/^"7":.*$/m, (line) => line.replace('"size":99', '"size":98'));
    const more = again.replace(/^"8":.*$/m, (line) => line.replace('"size":12', '"size":97'));
    await writeFile(pathOf(place), again);
    await saveWhileWritten(pathOf(place), more, async () => (await openTree(place)).close());
    const files = (await read(place)).files;
    assert.deepEqual(
      ["1", "7", "8"].map((path) => files[path]?.["size"]),
      [5, 98, 97],
    );
  });

  test("formatted by an editor, it says what it said", async (t) => {
    const place = await filled(t, newPlace, entryOf("doc_a", "a"), entryOf("doc_b", "b"));
    await edit(place, (written) => JSON.stringify(JSON.parse(written.replace('"size":12', '"size":99')), null, 2));
    const ledger = await openTree(place);
    assert.deepEqual([ledger.problems, (await docsAt(ledger.manifest, "a", "b")).length], [[], 2]);
    assert.equal((await ledger.manifest.at(["a"])).get("a")?.size, 99);
    await ledger.close();
  });

  test("restored from a backup, it wins where nothing newer is known; taken away, it is written again", async (t) => {
    const place = await filled(t, newPlace, entryOf("doc_a", "a"), entryOf("doc_b", "b"));
    const backup = await text(place);
    await put(place, entryOf("doc_a", "moved"), entryOf("doc_c", "c"));
    await exportManifestAt(place);
    await put(place, entryOf("doc_b", "b", { size: 2 }));
    await writeFile(pathOf(place), backup);
    await (await openTree(place)).close();
    const restored = [entryOf("doc_a", "a"), entryOf("doc_b", "b", { size: 2 })];
    await reading(place, async (reader) => assert.deepEqual(await byDoc(reader), restored));
    await rm(pathOf(place));
    await (await openTree(place)).close();
    await exportManifestAt(place);
    assert.deepEqual(Object.keys((await read(place)).files).sort(), ["a", "b"]);
    await reading(place, async (reader) => assert.deepEqual(await byDoc(reader), restored));
  });

  for (const [what, spoil, reason] of [
    ["an empty file", () => "", /no JSON/],
    ["something else", () => "[1]", /no manifest/],
    ["a manifest that is cut in an entry", (good: string) => good.slice(0, good.indexOf('"lineage"')), /cut/],
    ["a manifest that is cut behind an entry", (good: string) => good.slice(0, good.lastIndexOf("}}")), /cut/],
    ["a doc_id that leads out of its folder", (good: string) => good.replace("doc_a", "../a"), /no doc_id/],
    ["one document twice", (good: string) => good.replace("doc_a", "doc_b"), /two entries/],
  ] as const) {
    test(`set aside with a reason, and written again: ${what}`, async (t) => {
      const entries = [entryOf("doc_a", "a"), entryOf("doc_b", "b")];
      const place = await filled(t, newPlace, ...entries);
      const good = await text(place);
      await edit(place, spoil);
      const ledger = await openTree(place);
      assert.match(ledger.problems.join(), reason);
      assert.deepEqual(await byDoc(ledger.manifest), entries);
      await ledger.close();
      const [aside = ""] = (await readdir(place.folder)).filter((name) => name.includes("corrupt"));
      assert.equal(await readFile(join(place.folder, aside), "utf8"), spoil(good));
      assert.deepEqual(Object.keys((await read(place)).files).sort(), ["a", "b"]);
    });
  }

  test("one of an earlier layout, or of a later one, is refused and left as it is", async (t) => {
    const place = await filled(t, newPlace, entryOf("doc_a", "a"));
    for (const other of ['{"files":{}}', '{"layout":3,"files":{}}']) {
      await writeFile(pathOf(place), other);
      await assert.rejects(openTree(place), ConflictError);
      await assert.rejects(openTree(place, { readOnly: true, isSnapshot: true }), ConflictError);
      assert.equal(await text(place), other);
    }
  });

  test("a reader writes nothing, and leaves nothing where there was nothing", async (t) => {
    const place = await newPlace(t);
    const absent = { ...place, domainId: "NOBODY", folder: place.folder.replace(place.domainId, "NOBODY") };
    const { manifest } = await openTree(absent, { readOnly: true });
    assert.deepEqual([await entriesOf(manifest), manifest.isKnown], [[], false]);
    assert.throws(() => manifest.put(entryOf("doc_a", "a")), /opened for reading/);
    assert.throws(() => manifest.recordScan({ root: "", at: LATER, id: "", turn: 0 }), /opened for reading/);
    assert.ok(!existsSync(absent.folder));
  });
}

function processCases(newPlace: NewPlace, many: number): void {
  test("killed at any moment, whatever was flushed is there", async (t) => {
    await killManifestWriters(await newPlace(t), [0, 5, 6, 13, 40]);
  });

  test("a dry run beside a writer sees what was flushed when it came", async (t) => {
    const place = await filled(t, newPlace, entryOf("doc_a", "a"));
    const writer = await openTree(place);
    writer.manifest.put(entryOf("doc_b", "b"));
    await writer.flush();
    const reader = await openTree(place, { readOnly: true, isSnapshot: true });
    writer.manifest.put(entryOf("doc_a", "moved"));
    await writer.close();
    await exportManifestAt(place);
    assert.deepEqual(await docsAt(reader.manifest, "a", "b", "moved"), ["doc_a", "doc_b", undefined]);
    await reader.close();
  });

  test("somebody else's writing is noticed, not written over", async (t) => {
    const place = await filled(t, newPlace, entryOf("doc_a", "a"));
    const [suspended, successor] = [await openTree(place), await openTree(place)];
    suspended.manifest.put(entryOf("doc_b", "b"));
    successor.manifest.put(entryOf("doc_c", "c"));
    await successor.flush();
    await assert.rejects(suspended.flush(), ConflictError);
    await successor.close();
    await assert.rejects(suspended.close(), ConflictError);
    const there = ["doc_a", undefined, "doc_c"];
    await reading(place, async (reader) => assert.deepEqual(await docsAt(reader, "a", "b", "c"), there));
  });

  test("three processes at once, under the lease of the tree: nothing is lost", async (t) => {
    const place = await newPlace(t);
    const times = 6;
    const children = [1, 2, 3].map(() => fork(CHILD, [taskOf({ verb: "count", place, n: times })]));
    t.after(() => children.forEach((one) => void one.kill("SIGKILL")));
    const exits = await Promise.all(children.map((one) => once(one, "exit")));
    assert.deepEqual(
      exits.map(([code]) => code),
      [0, 0, 0],
    );
    await reading(place, async (reader) => {
      assert.equal((await reader.at(["counted"])).get("counted")?.size, 3 * times);
      assert.equal((await reader.count()).active, 1 + 3 * times);
      for (const { pid } of children) assert.equal((await reader.inFolders([`${pid}`])).get(`${pid}`)?.size, times);
    });
    assert.equal(Object.keys((await read(place)).files).length, 1 + 3 * times);
  });

  test(`${many} entries are written and read in a heap of ${HEAP_MB} MB`, async (t) => {
    const place = await newPlace(t);
    for (const verb of ["fill", "readAll"] as const) {
      const execArgv = [`--max-old-space-size=${HEAP_MB}`];
      const child = fork(CHILD, [taskOf({ verb, place, n: many })], { execArgv });
      t.after(() => void child.kill("SIGKILL"));
      assert.deepEqual(await once(child, "exit"), [0, null], verb);
    }
  });
}

const id = (docId: string): ItemId => docId as ItemId;
const taskOf = (task: ManifestTask): string => JSON.stringify(task);
const pathOf = ({ folder }: ManifestPlace): string => join(folder, "manifest.json");
const text = (place: ManifestPlace): Promise<string> => readFile(pathOf(place), "utf8");

async function docsAt(manifest: Manifest, ...paths: string[]): Promise<(string | undefined)[]> {
  const at = await manifest.at(paths);
  return paths.map((path) => at.get(path)?.docId);
}

interface WrittenManifest {
  readonly layout: number;
  readonly updated_at: string;
  readonly files: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly displaced: WrittenManifest["files"];
}

async function read(place: ManifestPlace): Promise<WrittenManifest> {
  return JSON.parse(await text(place)) as WrittenManifest;
}

async function edit(place: ManifestPlace, change: (text: string) => string): Promise<void> {
  await writeFile(pathOf(place), change(await text(place)));
}

async function put(place: ManifestPlace, ...entries: ManifestEntry[]): Promise<void> {
  const ledger = await openTree(place);
  for (const entry of entries) ledger.manifest.put(entry);
  await ledger.close();
}

/** A place with these entries, written out. */
async function filled(t: TestContext, newPlace: NewPlace, ...entries: ManifestEntry[]): Promise<ManifestPlace> {
  const place = await newPlace(t);
  await put(place, ...entries);
  await exportManifestAt(place);
  return place;
}

async function reading(place: ManifestPlace, look: (manifest: Manifest) => Promise<void>): Promise<void> {
  await look((await openTree(place, { readOnly: true })).manifest);
}

async function byDoc(manifest: Manifest): Promise<ManifestEntry[]> {
  return (await entriesOf(manifest)).sort((a, b) => (a.docId < b.docId ? -1 : 1));
}
