import assert from "node:assert/strict";
import fc from "fast-check";
import type { ItemId } from "../../src/contracts/ids.ts";
import type { FileStatus, Manifest, ManifestEntry } from "../../src/contracts/manifest.ts";
import { AT, entryOf } from "./manifest-fixture.ts";

export const DOCS = ["doc_a", "doc_b", "doc_c", "doc_d"];
const CONTENTS = ["ab", "cd"].map((digits) => digits.repeat(32));
const PATHS = ["a", "b", "x/a", 'x/"b"', "x/y/a"];

/** What a manifest holds, as simply as it can be said: entries in the order they were put, and the last look. */
export interface Model {
  readonly entries: readonly ManifestEntry[];
  readonly lookedAt: string;
}

export type Operation =
  | { readonly do: "put"; readonly entry: ManifestEntry }
  | { readonly do: "drop"; readonly doc: string }
  | { readonly do: "look" }
  | { readonly do: "flush" | "snapshot" | "close" | "kill" };

export const operation: fc.Arbitrary<Operation> = fc.oneof(
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

export const lookAfter = (before: string): string => String(Number(before || 2026) + 1);

export function followedBy(model: Model, op: Operation): Model {
  if (op.do === "look") return { ...model, lookedAt: lookAfter(model.lookedAt) };
  const doc = op.do === "put" ? op.entry.docId : op.do === "drop" ? op.doc : "";
  const others = model.entries.filter(({ docId }) => docId !== doc);
  return { ...model, entries: op.do === "put" ? [...others, op.entry] : others };
}

const isPresent = ({ status }: ManifestEntry): boolean => status === "active" || status === "error";
const byDoc = (entries: Iterable<ManifestEntry>): ManifestEntry[] =>
  [...entries].sort((a, b) => (a.docId < b.docId ? -1 : 1));

export function assertSame(manifest: Manifest, model: Model): void {
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
