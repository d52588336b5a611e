import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import fc from "fast-check";
import { ConflictError, DamagedError } from "../../src/contracts/errors.ts";
import type { ItemId } from "../../src/contracts/ids.ts";
import type { Manifest, ManifestEntry } from "../../src/contracts/manifest.ts";
import type { ManifestTask } from "../ledgers/manifest-child.ts";
import { AT, entryOf } from "../ledgers/manifest-fixture.ts";
import { killManifestWriters } from "../ledgers/manifest-kills.ts";
import { assertSame, followedBy, type Model, operation } from "../ledgers/manifest-model.ts";
import { type ManifestPlace, openManifestAt } from "../ledgers/manifest-place.ts";

const CHILD = join(import.meta.dirname, "../ledgers/manifest-child.ts");
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
  "",
  "/",
  "a,",
];

type NewPlace = (t: TestContext) => Promise<ManifestPlace>;

/** What every manifest promises; `newPlace` gives one with nothing in it, and `many` entries are more than the heap may hold. */
export function manifestSuite(
  name: string,
  newPlace: NewPlace,
  { many = 5000 }: { readonly many?: number } = {},
): void {
  describe(`the manifest in ${name}`, () => {
    describe("entries", () => entriesCases(newPlace));
    describe("manifest.json", () => exportCases(newPlace));
    describe("runs that are killed, and runs side by side", () => processCases(newPlace, many));
  });
}

function entriesCases(newPlace: NewPlace): void {
  test("whatever happens to a manifest, it is what was put, and after a kill what was flushed", async (t) => {
    await fc.assert(
      fc.asyncProperty(fc.array(operation, { minLength: 10, maxLength: 40, size: "max" }), async (operations) => {
        const place = await newPlace(t);
        let manifest = await openManifestAt(place);
        let model: Model = { entries: [], lookedAt: "" };
        let flushed = model;
        for (const op of operations) {
          model = followedBy(model, op);
          if (op.do === "put") manifest.put(op.entry);
          else if (op.do === "drop") manifest.drop(op.doc as ItemId);
          else if (op.do === "look") manifest.noteLook({ root: "1:1", at: model.lookedAt, id: "look" });
          else if (op.do === "kill") model = flushed;
          else {
            await manifest[op.do]();
            flushed = model;
          }
          if (op.do === "kill") manifest.release();
          if (op.do === "close" || op.do === "kill") manifest = await openManifestAt(place);
          assertSame(manifest, model);
        }
        await manifest.close();
      }),
      { numRuns: 60 },
    );
  });

  test("hostile paths come back as they were, flushed and written out", async (t) => {
    const place = await newPlace(t);
    const manifest = await openManifestAt(place);
    for (const [i, path] of PATHS.entries()) manifest.put(entryOf(`doc_${i}`, path));
    await manifest.flush();
    const check = async (where: string): Promise<void> => {
      const reader = await openManifestAt(place, { readOnly: true });
      for (const [i, path] of PATHS.entries()) {
        const folder = path.slice(0, Math.max(0, path.lastIndexOf("/")));
        assert.deepEqual(reader.at(path), entryOf(`doc_${i}`, path), `${where}: ${JSON.stringify(path)}`);
        const siblings = [...reader.inFolder(folder).unmet()];
        assert.ok(
          siblings.some(({ docId }) => docId === `doc_${i}`),
          `${where}, in its folder: ${JSON.stringify(path)}`,
        );
        assert.ok(reader.inFolder(folder).meet(entryOf("", path)), `${where}: met ${path}`);
        const other = reader.inFolder(folder).meet({ ...entryOf("", path), stamp: "12-1-70" });
        assert.deepEqual(other, entryOf(`doc_${i}`, path), `${where}: changed ${path}`);
      }
      assert.deepEqual(reader.count(), { active: PATHS.length, error: 0, missing: 0, deleted: 0 });
      await reader.close();
    };
    await check("flushed");
    await manifest.close();
    await check("written out");
    assert.equal(Object.keys((await read(place)).files).length, PATHS.length);
  });

  test("a look says of all that are active that they were seen", async (t) => {
    const place = await filled(t, newPlace, entryOf("doc_a", "a"), entryOf("doc_e", "e", { status: "error" }));
    const look = { root: "1:2", at: LATER, id: "look" };
    const manifest = await openManifestAt(place);
    assert.equal(manifest.look, undefined);
    manifest.noteLook(look);
    const seen = (from: Manifest): unknown => [from.at("a")?.lastSeenAt, from.at("e")?.lastSeenAt, from.look];
    assert.deepEqual(seen(manifest), [LATER, AT, look]);
    await manifest.flush();
    await reading(place, (reader) => assert.deepEqual(seen(reader), [LATER, AT, look]));
    await manifest.close();
    await reading(place, (reader) => assert.deepEqual(seen(reader), [LATER, AT, look]));
    assert.equal((await read(place)).files["a"]?.["last_seen"], LATER);
  });

  test("an entry that loses its path to another file is kept, and gets it back when that one leaves", async (t) => {
    const missing = { status: "missing" } as const;
    const place = await filled(t, newPlace, entryOf("doc_old", "a", missing), entryOf("doc_new", "a"));
    const manifest = await openManifestAt(place);
    assert.equal(manifest.at("a")?.docId, "doc_new");
    manifest.put(entryOf("doc_old", "a", { ...missing, missingRuns: 2 }));
    assert.equal(manifest.at("a")?.docId, "doc_new", "one that is missing takes no path away");
    await manifest.close();
    const next = await openManifestAt(place);
    assert.equal(next.at("a")?.docId, "doc_new");
    assert.equal(next.find(id("doc_old"))?.missingRuns, 2);
    next.put(entryOf("doc_new", "b"));
    assert.equal(next.at("a")?.docId, "doc_old");
    await next.close();
    assert.deepEqual((await read(place)).displaced, {});
  });

  test("two files swap their names", async (t) => {
    const place = await filled(t, newPlace, entryOf("doc_a", "a"), entryOf("doc_b", "b"));
    const manifest = await openManifestAt(place);
    manifest.put(entryOf("doc_a", "b"));
    await manifest.flush();
    manifest.release();
    const half = await openManifestAt(place);
    assert.deepEqual(docsAt(half, "a", "b"), [undefined, "doc_a"]);
    assert.equal(half.find(id("doc_b"))?.path, "b", "killed in between, nobody is lost");
    half.put(entryOf("doc_b", "a"));
    await half.close();
    await reading(place, (reader) => assert.deepEqual(docsAt(reader, "a", "b"), ["doc_b", "doc_a"]));
  });

  test("pages go on while entries are put, moved and dropped: each that stays comes once, as it is by then", async (t) => {
    const count = 5000;
    const all = Array.from({ length: count }, (_, i) => entryOf(`doc_${i}`, `folder ${i % 9}/${i}`));
    const place = await filled(t, newPlace, ...all);
    const manifest = await openManifestAt(place);
    const met = new Map<string, ManifestEntry>();
    let pages = 0;
    for (const page of manifest.entries()) {
      pages += 1;
      for (const entry of page) {
        assert.ok(!met.has(entry.docId), `${entry.docId} comes twice`);
        met.set(entry.docId, entry);
      }
      for (let i = 0; i < count; i += 50) manifest.put(entryOf(`doc_${i}`, `moved/${i}`, { size: pages }));
      manifest.drop(id(`doc_${pages}`));
      manifest.put(entryOf(`doc_new_${pages}`, `new/${pages}`));
      await manifest.flush();
    }
    assert.ok(pages > 1, "more than one page");
    for (let i = count / 2; i < count; i++) assert.ok(met.has(`doc_${i}`), `doc_${i} is left out`);
    assert.equal(met.get(`doc_${count - 50}`)?.size, pages - 1);
    await manifest.close();
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

  test("it is not written when there is nothing to say", async (t) => {
    const place = await filled(t, newPlace, entryOf("doc_a", "a"));
    const before = await text(place);
    const manifest = await openManifestAt(place);
    await manifest.snapshot();
    await manifest.close();
    assert.equal(await text(place), before);
  });

  test("an entry that somebody edited, removed or added between runs counts, and goes on to count", async (t) => {
    const place = await filled(t, newPlace, ...["a", "b", "c"].map((name) => entryOf(`doc_${name}`, name)));
    const lines = (await text(place)).split("\n");
    const at = (name: string): number => lines.findIndex((line) => line.startsWith(`"${name}":`));
    const added = (lines[at("a")] ?? "").replace('"a":', '"d":').replace("doc_a", "doc_d");
    lines[at("a")] = `${(lines[at("a")] ?? "").replace('"size":12', '"size":99')}\n${added}`;
    lines.splice(at("b"), 1);
    await writeFile(pathOf(place), lines.join("\n"));
    const expected = [entryOf("doc_a", "a", { size: 99 }), entryOf("doc_c", "c"), entryOf("doc_d", "d")];
    await reading(place, (reader) => assert.deepEqual(byDoc(reader), expected));
    const manifest = await openManifestAt(place);
    manifest.put(entryOf("doc_e", "e"));
    await manifest.close();
    await reading(place, (reader) => assert.deepEqual(byDoc(reader), [...expected, entryOf("doc_e", "e")]));
  });

  test("restored from a backup, it says what it said then; taken away, nothing is known", async (t) => {
    const place = await filled(t, newPlace, entryOf("doc_a", "a"), entryOf("doc_b", "b"));
    const backup = await text(place);
    const manifest = await openManifestAt(place);
    manifest.put(entryOf("doc_a", "moved"));
    manifest.drop(id("doc_b"));
    manifest.put(entryOf("doc_c", "c"));
    await manifest.snapshot("now");
    await manifest.close();
    await writeFile(pathOf(place), backup);
    await reading(place, (reader) => assert.deepEqual(byDoc(reader), [entryOf("doc_a", "a"), entryOf("doc_b", "b")]));
    await rm(pathOf(place));
    await reading(place, (reader) => assert.deepEqual([byDoc(reader), reader.look], [[], undefined]));
  });

  for (const [what, spoil, reason] of [
    ["an empty file", () => "", /no JSON.*backup.*delete manifest.json/],
    ["something else", () => "[1]", /no manifest/],
    ["a manifest that is cut in an entry", (good: string) => good.slice(0, good.indexOf('"lineage"')), /cut/],
    ["a manifest that is cut behind an entry", (good: string) => good.slice(0, good.lastIndexOf("}}")), /cut/],
    ["a doc_id that leads out of its folder", (good: string) => good.replace("doc_a", "../a"), /no doc_id/],
    ["one document twice", (good: string) => good.replace("doc_a", "doc_b"), /two entries/],
  ] as const) {
    test(`refused with a reason, and left as it is: ${what}`, async (t) => {
      const place = await filled(t, newPlace, entryOf("doc_a", "a"), entryOf("doc_b", "b"));
      const spoiled = spoil(await text(place));
      await writeFile(pathOf(place), spoiled);
      const fails = (error: unknown): boolean => error instanceof DamagedError && reason.test(error.message);
      for (const readOnly of [true, false]) {
        await assert.rejects(async () => (await openManifestAt(place, { readOnly })).find(id("../a")), fails);
      }
      assert.equal(await text(place), spoiled);
    });
  }

  test("a dry run writes nothing, and leaves nothing where there was nothing", async (t) => {
    const place = await newPlace(t);
    const absent = { ...place, folder: join(place.folder, "not", "there") };
    const manifest = await openManifestAt(absent, { readOnly: true });
    assert.deepEqual([...manifest.entries()], []);
    assert.throws(() => manifest.put(entryOf("doc_a", "a")), /opened for reading/);
    assert.throws(() => manifest.noteLook({ root: "", at: LATER, id: "" }), /opened for reading/);
    await manifest.close();
    assert.ok(!existsSync(absent.folder));
  });
}

function processCases(newPlace: NewPlace, many: number): void {
  test("killed at any moment, whatever was flushed is there", async (t) => {
    await killManifestWriters(await newPlace(t), [0, 5, 6, 13, 40]);
  });

  test("whoever reads beside a writer sees what was flushed when it came, also when more is written out", async (t) => {
    const place = await filled(t, newPlace, entryOf("doc_a", "a"));
    const writer = await openManifestAt(place);
    writer.put(entryOf("doc_b", "b"));
    await writer.flush();
    const reader = await openManifestAt(place, { readOnly: true });
    writer.put(entryOf("doc_a", "moved"));
    await writer.snapshot("now");
    writer.put(entryOf("doc_b", "moved too"));
    await writer.close();
    assert.deepEqual([reader.at("a"), reader.at("b")], [entryOf("doc_a", "a"), entryOf("doc_b", "b")]);
    await reader.close();
  });

  test("somebody else's writing is noticed, not written over", async (t) => {
    const place = await filled(t, newPlace, entryOf("doc_a", "a"));
    const [suspended, successor] = [await openManifestAt(place), await openManifestAt(place)];
    suspended.put(entryOf("doc_b", "b"));
    successor.put(entryOf("doc_c", "c"));
    await successor.flush();
    await assert.rejects(suspended.flush(), ConflictError);
    await successor.close();
    await assert.rejects(suspended.close(), ConflictError);
    await reading(place, (reader) => assert.deepEqual(docsAt(reader, "a", "b", "c"), ["doc_a", undefined, "doc_c"]));
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
    await reading(place, (reader) => {
      assert.equal(reader.at("counted")?.size, 3 * times);
      assert.equal(reader.count().active, 1 + 3 * times);
      for (const { pid } of children) assert.equal([...reader.inFolder(`${pid}`).unmet()].length, times);
    });
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
const docsAt = (manifest: Manifest, ...paths: string[]): (string | undefined)[] =>
  paths.map((path) => manifest.at(path)?.docId);

interface WrittenManifest {
  readonly layout: number;
  readonly updated_at: string;
  readonly files: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly displaced: WrittenManifest["files"];
}

async function read(place: ManifestPlace): Promise<WrittenManifest> {
  return JSON.parse(await text(place)) as WrittenManifest;
}

/** A place with these entries, written out and closed. */
async function filled(t: TestContext, newPlace: NewPlace, ...entries: ManifestEntry[]): Promise<ManifestPlace> {
  const place = await newPlace(t);
  const manifest = await openManifestAt(place);
  for (const entry of entries) manifest.put(entry);
  await manifest.snapshot("now");
  await manifest.close();
  return place;
}

async function reading(place: ManifestPlace, look: (manifest: Manifest) => void): Promise<void> {
  const manifest = await openManifestAt(place, { readOnly: true });
  look(manifest);
  await manifest.close();
}

function byDoc(manifest: Manifest): ManifestEntry[] {
  return [...manifest.entries()].flat().sort((a, b) => (a.docId < b.docId ? -1 : 1));
}
