import assert from "node:assert/strict";
import fc from "fast-check";
import type { ItemId } from "../../src/contracts/ids.ts";
import type { FileStatus, Manifest, ManifestEntry } from "../../src/contracts/manifest.ts";
import { AT, entryOf } from "./manifest-fixture.ts";
import { entriesOf } from "./manifest-place.ts";

const DOCS = ["doc_a", "doc_b", "doc_c", "doc_d"];
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
  | { readonly do: "flush" | "export" | "close" | "kill" };

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
    arbitrary: fc.constantFrom("flush", "export", "close", "kill").map((what) => ({ do: what }) as const),
  },
);

const lookAfter = (before: string): string => String(Number(before || 2026) + 1);

export function followedBy(model: Model, op: Operation): Model {
  if (op.do === "look") return { ...model, lookedAt: lookAfter(model.lookedAt) };
  const doc = op.do === "put" ? op.entry.docId : op.do === "drop" ? op.doc : "";
  const others = model.entries.filter(({ docId }) => docId !== doc);
  return { ...model, entries: op.do === "put" ? [...others, op.entry] : others };
}

const isPresent = ({ status }: ManifestEntry): boolean => status === "active" || status === "error";
const byDoc = <T extends Pick<ManifestEntry, "docId">>(entries: Iterable<T>): T[] =>
  [...entries].sort((a, b) => (a.docId < b.docId ? -1 : 1));

export async function assertSame(manifest: Manifest, model: Model): Promise<void> {
  const told = model.entries.map((entry) => {
    const seenLater = entry.status === "active" && model.lookedAt > entry.lastSeenAt;
    return seenLater ? { ...entry, lastSeenAt: model.lookedAt } : entry;
  });
  const where = (fits: (entry: ManifestEntry) => boolean): ManifestEntry[] => byDoc(told.filter(fits));
  const same = async (
    pages: AsyncIterable<readonly Pick<ManifestEntry, "docId">[]>,
    fits: (entry: ManifestEntry) => boolean,
  ): Promise<void> => {
    const found: ItemId[] = [];
    for await (const page of pages) found.push(...page.map(({ docId }) => docId));
    assert.deepEqual(
      found.sort(),
      where(fits).map(({ docId }) => docId),
    );
  };
  assert.deepEqual(byDoc(await entriesOf(manifest)), byDoc(told));
  await same(manifest.active(), ({ status }) => status === "active");
  await same(manifest.withStatus("missing", "deleted"), (entry) => !isPresent(entry));
  await same(manifest.withStatus("missing"), ({ status }) => status === "missing");
  await same(manifest.withStatus("error", "deleted"), ({ status }) => status === "error" || status === "deleted");
  await same(manifest.withoutText(), ({ status, versions }) => status === "active" && !versions.length);
  const found = await manifest.find([...DOCS, "doc_none"] as ItemId[]);
  assert.deepEqual(byDoc(found.values()), byDoc(told));
  const lacking = new Set(await manifest.lacking([...DOCS, "doc_none"] as ItemId[]));
  assert.deepEqual([...DOCS, "doc_none"].filter((doc) => !lacking.has(doc as ItemId)).sort(), [...found.keys()].sort());
  for (const doc of DOCS) assert.equal((await manifest.file(doc as ItemId))?.path, found.get(doc as ItemId)?.path);
  const [at, knownAt] = [await manifest.at([...PATHS, "none"]), await manifest.knownAt([...PATHS, "none"])];
  for (const path of PATHS) {
    // Of several that were written together, any may have it.
    const here = told.filter((entry) => entry.path === path);
    const present = here.filter(isPresent);
    const owner = at.get(path);
    assert.ok(present.length > 1 ? present.some(({ docId }) => docId === owner?.docId) : here.length === 0 || owner);
    if (here.length === 1 || present.length === 1) assert.deepEqual(owner, present[0] ?? here[0], `at ${path}`);
    assert.equal(knownAt.get(path)?.docId, present.length > 0 ? owner?.docId : undefined);
  }
  const inside = (folder: string): ManifestEntry[] =>
    where((entry) => isPresent(entry) && (entry.path.match(/^(.*)\//)?.[1] ?? "") === folder);
  const folders = ["", "x", "x/y", "z"];
  const known = await manifest.inFolders(folders);
  for (const folder of folders) {
    const files = [...(known.get(folder)?.values() ?? [])].flat();
    assert.deepEqual(
      byDoc(files).map(({ docId, path, stamp, node, status }) => ({ docId, path, stamp, node, status })),
      inside(folder).map(({ docId, path, stamp, node, status }) => ({ docId, path, stamp, node, status })),
    );
    for (const [path, [first]] of known.get(folder) ?? []) assert.equal(first?.docId, knownAt.get(path)?.docId);
  }
  for (const folder of folders) {
    const files = inside(folder).sort((a, b) => (a.path < b.path ? -1 : 1));
    const differences = async (those: readonly ManifestEntry[]): Promise<readonly string[] | undefined> => {
      const paths = (await manifest.differences([{ folder, files: those }])).get(folder);
      return paths && [...paths].sort();
    };
    // A tree has a path once, whatever a manifest has.
    const once = [...new Map(files.map((file) => [file.path, file])).values()];
    const isPlain = files.every(({ status }) => status === "active") && once.length === files.length;
    const expectDifferences = async (those: readonly ManifestEntry[], expected: readonly string[]): Promise<void> => {
      const unstamped = those.flatMap(({ path, stamp }) => (stamp === "" ? [path] : []));
      const told = await differences(those);
      if (told) assert.deepEqual(told, [...new Set([...expected, ...unstamped])].sort());
      assert.ok(isPlain || !told);
    };
    await expectDifferences(once, []);
    const [first, ...rest] = files;
    if (!first) continue;
    await expectDifferences(rest, [first.path]);
    for (const other of [{ stamp: `${first.stamp}1` }, { stamp: "" }, { node: "9:9" }]) {
      await expectDifferences([{ ...first, ...other }, ...rest], [first.path]);
    }
    const renamed = { ...first, path: `${first.path}1` };
    await expectDifferences(
      [renamed, ...rest].sort((a, b) => (a.path < b.path ? -1 : 1)),
      [first.path, renamed.path],
    );
    const unsorted = await differences([...rest.toReversed(), renamed]);
    assert.ok(!unsorted || [first.path, renamed.path].every((path) => unsorted.includes(path)));
  }
  const named: string[] = [];
  for await (const page of manifest.folders()) named.push(...page);
  for (const folder of folders) assert.ok(inside(folder).length === 0 || named.includes(folder), `folder ${folder}`);
  assert.equal(new Set(named).size, named.length);
  const below: string[] = [];
  for await (const page of manifest.folders("x")) below.push(...page);
  for (const folder of ["x", "x/y"]) assert.ok(inside(folder).length === 0 || below.includes(folder));
  assert.ok(below.every((folder) => folder === "x" || folder === "x/y"));
  const counts = await manifest.countContent(CONTENTS);
  for (const hash of CONTENTS) {
    const having = where((entry) => isPresent(entry) && entry.contentHash === hash);
    assert.equal(counts.get(hash) ?? 0, having.length);
    assert.deepEqual(byDoc(await manifest.withNodes([{ contentHash: hash, node: "1:7" }])), having);
  }
  const count = { active: 0, error: 0, missing: 0, deleted: 0 };
  for (const { status } of told) count[status] += 1;
  assert.deepEqual(await manifest.count(), count);
  const [present, absent] = [count.active + count.error, count.missing + count.deleted];
  assert.deepEqual(await manifest.countPresent(), { present, absent });
}
