import assert from "node:assert/strict";
import {
  appendFileSync,
  closeSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, type TestContext, test } from "node:test";
import fc from "fast-check";
import { DamagedError } from "../../src/contracts/errors.ts";
import type { ItemId } from "../../src/contracts/ids.ts";
import type { Manifest, ManifestEntry } from "../../src/contracts/manifest.ts";
import { openManifest as open } from "../../src/ledgers/manifest/open-manifest.ts";
import { SnapshotFile } from "../../src/ledgers/manifest/snapshot-file.ts";
import { entryOf } from "./manifest-fixture.ts";
import {
  fillManifest,
  LARGE_FROM as KILLED_LARGE_FROM,
  killManifestWriters,
  sameWithoutIndex,
} from "./manifest-kills.ts";

let folder: string;
let snapshot: string;
let index: string;
after(() => rm(folder, { recursive: true, force: true }));

const LARGE_FROM = 256 * 1024;
const LONG = `${"x".repeat(20)}/`.repeat(2);
const MANY = 2200;
const pathOf = (i: number): string => (i < 100 ? `short/${i}` : `${LONG}${i % 7}/${i}`);
const hashOf = (i: number): string => String(i % 1500).padStart(64, "0");
const fileOf = (i: number, more: Partial<ManifestEntry> = {}): ManifestEntry =>
  entryOf(`doc_${i}`, pathOf(i), { contentHash: hashOf(i), ...more });

const openManifest = (place: string, options: { readonly readOnly: boolean }): Promise<Manifest> =>
  open(place, { ...options, largeFrom: LARGE_FROM });

/** One for all tests: each compares with what is in it then. */
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "lockstep-manifest-"));
  snapshot = join(folder, "manifest.json");
  index = join(folder, ".lockstep", "manifest.index");
  const manifest = await openManifest(folder, { readOnly: false });
  for (let i = 0; i < MANY; i++) manifest.put(fileOf(i));
  manifest.noteLook({ root: "1:2", at: "2026-01-16T00:00:00.000Z", id: "look" });
  await manifest.close();
  assert.ok(statSync(snapshot).size > LARGE_FROM);
});

/** Everything a manifest answers, with what it took to open it. */
async function answersOf(t: TestContext, { readOnly }: { readonly readOnly: boolean }) {
  const scans = t.mock.method(SnapshotFile.prototype, "scan");
  const manifest = await openManifest(folder, { readOnly });
  const scanned = scans.mock.callCount() > 0;
  scans.mock.restore();
  const answers = allOf(manifest);
  manifest.release();
  return { scanned, answers };
}

function brief(entry: ManifestEntry | undefined): string {
  if (!entry) return "nobody";
  const { docId, path, status, size, contentHash, lastSeenAt } = entry;
  return `${docId} ${path.slice(-12)} ${status} ${size} ${contentHash.slice(-4)} ${lastSeenAt}`;
}

function allOf(manifest: Manifest) {
  const folders = ["short", "none", `${LONG}0`];
  return {
    entries: [...manifest.entries()].flat().map(brief),
    absent: [...manifest.absent()].map(brief),
    unkept: [...manifest.unkept()].length,
    count: manifest.count(),
    look: manifest.look,
    inFolders: folders.map((each) => [...manifest.inFolder(each).unmet()].map(({ docId }) => docId)),
    found: Array.from({ length: 120 }, (_, i) => [
      brief(manifest.find(`doc_${i * 20}` as ItemId)),
      brief(manifest.at(pathOf(i * 20))),
      [...manifest.withContent(hashOf(i * 20))].map(({ docId }) => docId),
    ]),
  };
}

/** Of the manifest as it is, read without an index. */
async function truth(t: TestContext): Promise<unknown> {
  const aside = `${index}.aside`;
  const isThere = existsSync(index);
  if (isThere) renameSync(index, aside);
  const { scanned, answers } = await answersOf(t, { readOnly: true });
  assert.ok(scanned && !existsSync(index), "a reader writes nothing");
  if (isThere) renameSync(aside, index);
  return answers;
}

test("a large manifest is opened without looking through it, by readers and writers", async (t) => {
  const expected = await truth(t);
  for (const readOnly of [true, false]) {
    assert.deepEqual(await answersOf(t, { readOnly }), { scanned: false, answers: expected });
  }
});

test("a small one needs no index", async () => {
  const small = join(folder, "small");
  const manifest = await openManifest(small, { readOnly: false });
  manifest.put(fileOf(0));
  await manifest.close();
  assert.ok(!existsSync(join(small, ".lockstep", "manifest.index")));
});

const DOUBTFUL: readonly [string, () => void | Promise<void>][] = [
  ["missing", () => rmSync(index)],
  ["empty", () => truncateSync(index)],
  ["cut", () => truncateSync(index, statSync(index).size - 1)],
  ["longer than it was", () => appendFileSync(index, "\0")],
  ["of another file", () => flip(100)],
  ["with another seed", () => flip(readFileSync(index).indexOf('"seed":') + '"seed":'.length)],
  ["with a flipped bit in the middle", () => flip(Math.floor(statSync(index).size / 2))],
  ["with a flipped bit at the end", () => flip(statSync(index).size - 1)],
  ["no index at all", () => writeFileSync(index, "{}".padEnd(4096))],
  ["of an earlier snapshot", earlierIndex],
  ["of a copy", copySnapshot],
];
for (const [what, spoil] of DOUBTFUL) {
  test(`an index that is ${what} counts for nothing, and the next writer makes it anew`, async (t) => {
    await spoil();
    const { scanned, answers } = await answersOf(t, { readOnly: true });
    assert.ok(scanned);
    assert.deepEqual(await answersOf(t, { readOnly: false }), { scanned: true, answers });
    assert.deepEqual(await answersOf(t, { readOnly: true }), { scanned: false, answers });
  });
}

/** One bit of one byte. */
function flip(at: number): void {
  const byte = readFileSync(index)[at] ?? assert.fail("there is no such byte");
  const fd = openSync(index, "r+");
  writeSync(fd, Buffer.from([byte ^ 1]), 0, 1, at);
  closeSync(fd);
}

/** As a kill between the two leaves it. */
async function earlierIndex(): Promise<void> {
  copyFileSync(index, `${index}.before`);
  const manifest = await openManifest(folder, { readOnly: false });
  manifest.put(fileOf(3, { status: "missing" }));
  manifest.drop("doc_5" as ItemId);
  await manifest.snapshot("now");
  manifest.release();
  renameSync(`${index}.before`, index);
}

function copySnapshot(): void {
  copyFileSync(snapshot, `${snapshot}.copy`);
  renameSync(`${snapshot}.copy`, snapshot);
}

test("a manifest that was edited by hand is never read with the index of what it was", async (t) => {
  const original = readFileSync(snapshot);
  utimesSync(snapshot, 1_700_000_000, 1_700_000_000);
  (await openManifest(folder, { readOnly: false })).release();
  assert.equal((await answersOf(t, { readOnly: true })).scanned, false);
  const { ctimeNs } = statSync(snapshot, { bigint: true });
  const text = Buffer.from(original);
  text.write('"doc_X"', text.indexOf('"doc_7"'));
  writeFileSync(snapshot, text);
  // As long as it was, and with its time put back.
  do utimesSync(snapshot, 1_700_000_000, 1_700_000_000);
  while (statSync(snapshot, { bigint: true }).ctimeNs === ctimeNs);
  const { scanned, answers } = await answersOf(t, { readOnly: false });
  assert.ok(scanned);
  const docs = new Set(answers.entries.map((entry) => entry.split(" ", 1)[0]));
  assert.deepEqual([docs.has("doc_X"), docs.has("doc_7")], [true, false]);
  text.write('"doc_8"', text.indexOf('"doc_X"'));
  writeFileSync(snapshot, text);
  await assert.rejects(openManifest(folder, { readOnly: true }), DamagedError, "two entries have one doc_id");
  writeFileSync(snapshot, original);
});

test("where the index cannot be written, everything else is done", async (t) => {
  rmSync(index);
  mkdirSync(index);
  const manifest = await openManifest(folder, { readOnly: false });
  manifest.put(fileOf(9, { size: 99 }));
  await manifest.snapshot("now");
  await manifest.close();
  const { scanned, answers } = await answersOf(t, { readOnly: true });
  assert.ok(scanned && answers.entries.some((entry) => entry.startsWith("doc_9 short/9 active 99 ")));
  rmSync(index, { recursive: true });
});

test("killed at any moment, also while a large one is written, whatever was flushed is there", async () => {
  const place = { folder: join(folder, "killed"), largeFrom: KILLED_LARGE_FROM };
  await fillManifest(place);
  await killManifestWriters(place, [6, 13, 2], (entries) => sameWithoutIndex(place, entries));
});

type Change = { readonly i: number; readonly do: "put" | "move" | "drop" | "miss" | "snapshot" };
const change: fc.Arbitrary<Change> = fc.record({
  i: fc.nat(MANY + 20),
  do: fc.constantFrom("put", "put", "move", "drop", "miss", "snapshot"),
});

test("whatever is put, with and without the index the answers are the same", async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.array(change, { minLength: 5, maxLength: 40, size: "max" }), async (changes) => {
      const manifest = await openManifest(folder, { readOnly: false });
      for (const { i, do: what } of changes) {
        if (what === "put") manifest.put(fileOf(i, { size: i, versions: [] }));
        if (what === "move") manifest.put({ ...fileOf(i), path: pathOf((i * 7) % MANY) });
        if (what === "drop") manifest.drop(`doc_${i}` as ItemId);
        if (what === "miss") manifest.put(fileOf(i, { status: "missing" }));
        if (what === "snapshot") await manifest.snapshot("now");
      }
      await manifest.flush();
      const mine = allOf(manifest);
      manifest.release();
      const expected = await truth(t);
      assert.deepEqual(mine, expected);
      assert.deepEqual(await answersOf(t, { readOnly: true }), { scanned: false, answers: expected });
    }),
    { numRuns: 6 },
  );
});
