import assert from "node:assert/strict";
import { copyFileSync, mkdirSync, readFileSync, truncateSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import fc from "fast-check";
import type { ItemId } from "../../src/contracts/ids.ts";
import type { FileStatus, Manifest, ManifestEntry } from "../../src/contracts/manifest.ts";
import { openManifest } from "../../src/ledgers/manifest/open-manifest.ts";
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

const DOCS = ["doc_a", "doc_b", "doc_c", "doc_d"];
const CONTENTS = ["ab", "cd"].map((digits) => digits.repeat(32));
const PATHS = ["a", "b", "x/a", 'x/"b"', "x/y/a"];

/** What a manifest holds, as simply as it can be said: entries in the order they were put, and the last look. */
interface Model {
  readonly entries: readonly ManifestEntry[];
  readonly lookedAt: string;
}

type Operation =
  | { readonly do: "put"; readonly entry: ManifestEntry }
  | { readonly do: "drop"; readonly doc: string }
  | { readonly do: "look" }
  | { readonly do: "flush" | "snapshot" | "close" | "kill" };

const operation: fc.Arbitrary<Operation> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc
      .record({
        doc: fc.constantFrom(...DOCS),
        path: fc.constantFrom(...PATHS),
        status: fc.constantFrom<FileStatus>("active", "active", "error", "missing", "deleted"),
        kept: fc.boolean(),
        size: fc.nat(9),
        contentHash: fc.constantFrom(...CONTENTS),
      })
      .map(({ doc, path, status, kept, size, contentHash }) => {
        const versions = kept ? [{ versionId: "v1", at: AT, hash: contentHash }] : [];
        const more = { status, size, contentHash, versions };
        return { do: "put" as const, entry: entryOf(doc, path, more) };
      }),
  },
  { weight: 1, arbitrary: fc.constantFrom(...DOCS).map((doc) => ({ do: "drop" as const, doc })) },
  { weight: 1, arbitrary: fc.constant({ do: "look" as const }) },
  {
    weight: 4,
    arbitrary: fc.constantFrom("flush", "snapshot", "close", "kill").map((what) => ({ do: what }) as const),
  },
);

const lookAfter = (before: string): string => String(Number(before || 2026) + 1);

function followedBy(model: Model, op: Operation): Model {
  if (op.do === "look") return { ...model, lookedAt: lookAfter(model.lookedAt) };
  const doc = op.do === "put" ? op.entry.docId : op.do === "drop" ? op.doc : "";
  const others = model.entries.filter(({ docId }) => docId !== doc);
  return { ...model, entries: op.do === "put" ? [...others, op.entry] : others };
}

const isPresent = ({ status }: ManifestEntry): boolean => status === "active" || status === "error";
const byDoc = (entries: Iterable<ManifestEntry>): ManifestEntry[] =>
  [...entries].sort((a, b) => (a.docId < b.docId ? -1 : 1));

function assertSame(manifest: Manifest, model: Model): void {
  const told = model.entries.map((entry) => {
    const seenLater = entry.status === "active" && model.lookedAt > entry.lastSeenAt;
    return seenLater ? { ...entry, lastSeenAt: model.lookedAt } : entry;
  });
  const where = (fits: (entry: ManifestEntry) => boolean): ManifestEntry[] => byDoc(told.filter(fits));
  assert.deepEqual(byDoc([...manifest.entries()].flat()), byDoc(told));
  assert.deepEqual(
    byDoc(manifest.absent()),
    where((entry) => !isPresent(entry)),
  );
  assert.deepEqual(
    byDoc(manifest.unkept()),
    where(({ status, versions }) => status === "active" && !versions.length),
  );
  for (const doc of DOCS) assert.deepEqual(manifest.find(doc as ItemId), where(({ docId }) => docId === doc)[0]);
  for (const path of PATHS) {
    const here = told.filter((entry) => entry.path === path);
    assert.deepEqual(manifest.at(path), here.findLast(isPresent) ?? here.at(-1), `at ${path}`);
  }
  for (const folder of ["", "x", "x/y", "z"]) {
    const inside = ({ path }: ManifestEntry): boolean => (path.match(/^(.*)\//)?.[1] ?? "") === folder;
    assert.deepEqual(
      byDoc(manifest.inFolder(folder).unmet()),
      where((entry) => isPresent(entry) && inside(entry)),
    );
    meetAll(manifest, folder, told.filter(inside));
  }
  for (const hash of CONTENTS) {
    assert.deepEqual(
      byDoc(manifest.withContent(hash)),
      where((entry) => isPresent(entry) && entry.contentHash === hash),
    );
  }
  const count = { active: 0, error: 0, missing: 0, deleted: 0 };
  for (const { status } of told) count[status] += 1;
  assert.deepEqual(manifest.count(), count);
}

/** Every path is found as it was, and then again with another stamp. */
function meetAll(manifest: Manifest, folder: string, inside: readonly ManifestEntry[]): void {
  for (const change of [{}, { stamp: "other" }, { node: "2:2" }]) {
    const known = manifest.inFolder(folder);
    const owners = new Set<ManifestEntry>();
    for (const path of PATHS) {
      const owner = inside.findLast((entry) => entry.path === path && isPresent(entry));
      const { stamp, node } = { ...entryOf("", path), ...change };
      const isSame = owner?.status === "active" && owner.stamp === stamp && owner.node === node;
      const met = inside.some((entry) => entry.path === path) ? known.meet({ path, stamp, node }) : undefined;
      // It may always be read instead.
      assert.deepEqual(met, met === "same" && isSame ? "same" : owner);
      if (owner) owners.add(owner);
    }
    assert.equal(known.met, owners.size);
    assert.deepEqual(byDoc(known.unmet()), byDoc(inside.filter((entry) => isPresent(entry) && !owners.has(entry))));
  }
}

test("whatever happens to a manifest, it is what was put, and after a kill what was flushed", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(operation, { minLength: 10, maxLength: 40, size: "max" }), async (operations) => {
      const folder = await newFolder();
      let manifest = await openManifest(folder, { readOnly: false });
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
        if (op.do === "close" || op.do === "kill") manifest = await openManifest(folder, { readOnly: false });
        assertSame(manifest, model);
      }
      await manifest.close();
    }),
    { numRuns: 60 },
  );
});

test("a journal that is cut anywhere gives the lines that are whole, and goes on from there", async () => {
  const folder = await newFolder();
  const manifest = await openManifest(folder, { readOnly: false });
  for (const doc of DOCS) manifest.put(entryOf(doc, `x/${doc}`));
  await manifest.snapshot();
  const operations: readonly Operation[] = [
    { do: "put", entry: entryOf("doc_a", "moved", { versions: [] }) },
    { do: "drop", doc: "doc_b" },
    { do: "look" },
    { do: "put", entry: entryOf("doc_e", 'n"\n€w', { versions: [], lineage: [] }) },
  ];
  let model: Model = { entries: DOCS.map((doc) => entryOf(doc, `x/${doc}`)), lookedAt: "" };
  const states = [model];
  for (const op of operations) {
    if (op.do === "put") manifest.put(op.entry);
    if (op.do === "drop") manifest.drop(op.doc as ItemId);
    if (op.do === "look") manifest.noteLook({ root: "1:1", at: lookAfter(""), id: "look" });
    model = followedBy(model, op);
    states.push(model);
  }
  await manifest.flush();
  const journal = join(folder, ".lockstep", "manifest.journal");
  const bytes = readFileSync(journal);
  const cut = await newFolder();
  mkdirSync(join(cut, ".lockstep"));
  const lastTwo = bytes.lastIndexOf("\n", bytes.lastIndexOf("\n", -2) - 1);
  for (let length = lastTwo; length <= bytes.length; length++) {
    copyFileSync(join(folder, "manifest.json"), join(cut, "manifest.json"));
    copyFileSync(journal, join(cut, ".lockstep", "manifest.journal"));
    truncateSync(join(cut, ".lockstep", "manifest.journal"), length);
    const lines = bytes.subarray(0, length).toString("latin1").split("\n").length - 1;
    const state = states[lines - 1] ?? assert.fail();
    await read(cut, (manifest) => assertSame(manifest, state));
    if (length % 16 !== 0) continue;
    const next = await openManifest(cut, { readOnly: false });
    const more: Operation = { do: "put", entry: entryOf("doc_d", "x/later") };
    next.put(more.entry);
    await next.flush();
    await read(cut, (manifest) => assertSame(manifest, followedBy(state, more)));
    await next.close();
  }
});

async function read(folder: string, look: (manifest: Manifest) => void): Promise<void> {
  const manifest = await openManifest(folder, { readOnly: true });
  look(manifest);
  await manifest.close();
}
