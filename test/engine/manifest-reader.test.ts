import assert from "node:assert/strict";
import { mkdtemp, readdir, readlink, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import type { ItemId } from "../../src/contracts/ids.ts";
import type { ManifestEntry } from "../../src/contracts/manifest.ts";
import { ManifestReader } from "../../src/engine/manifest-reader.ts";
import { manifestVersion } from "../../src/ledgers/manifest/manifest-version.ts";
import { openManifest } from "../../src/ledgers/manifest/open-manifest.ts";

const top = await mkdtemp(join(tmpdir(), "lockstep-manifests-"));
after(() => rm(top, { recursive: true, force: true }));

const ENTRY: ManifestEntry = {
  ...{ path: "", docId: "" as ItemId, contentHash: "", size: 1, modifiedAt: "", stamp: "", node: "" },
  ...{ status: "active", lastSeenAt: "", retryCount: 0, error: "", missingSinceAt: "", missingRuns: 0 },
  ...{ deletedAt: "", versions: [], lineage: [] },
};

async function put(folder: string, path: string): Promise<void> {
  const manifest = await openManifest(folder, { readOnly: false });
  manifest.put({ ...ENTRY, path, docId: `doc_${path}` as ItemId });
  await manifest.close();
}

/** A reader, and how often it opened a manifest. */
function openReader(): { readonly reader: ManifestReader; readonly opened: string[] } {
  const opened: string[] = [];
  const reader = new ManifestReader({
    manifestVersion,
    openManifest: (folder, options) => {
      opened.push(folder);
      return openManifest(folder, options);
    },
  });
  return { reader, opened };
}

const pathsIn = (reader: ManifestReader, folder: string): Promise<string[]> =>
  reader.read(folder, async (manifest) => [...manifest.entries()].flat().map(({ path }) => path));

test("many who ask share one open manifest, and see at once what was written since", async () => {
  const folder = join(top, "shared");
  await put(folder, "a");
  const { reader, opened } = openReader();
  const answers = await Promise.all([1, 2, 3].map(() => pathsIn(reader, folder)));
  assert.deepEqual([answers, opened.length], [[["a"], ["a"], ["a"]], 1]);
  await reader.read(folder, async (manifest) => {
    await put(folder, "b");
    assert.deepEqual(await pathsIn(reader, folder), ["a", "b"]);
    assert.deepEqual(manifest.count().active, 1, "who reads sees what there was when it began");
  });
  assert.equal(opened.length, 2);
  await reader.close();
});

test("few stay open, none after it is closed, and one that cannot be opened is tried again", async () => {
  const folders = ["1", "2", "3", "4", "5"].map((name) => join(top, name));
  for (const folder of folders) await put(folder, "a");
  const { reader, opened } = openReader();
  for (const folder of folders) await pathsIn(reader, folder);
  for (const folder of folders.toReversed()) await pathsIn(reader, folder);
  assert.deepEqual(opened.slice(5), [folders[1], folders[0]], "the last three were still open");
  assert.ok((await openFiles()) <= 3);
  await reader.close();
  assert.equal(await openFiles(), 0);

  let fails = true;
  const other = new ManifestReader({
    manifestVersion,
    openManifest: (folder, options) => (fails ? Promise.reject(new Error("not now")) : openManifest(folder, options)),
  });
  await assert.rejects(pathsIn(other, folders[0] ?? ""), /not now/);
  fails = false;
  assert.deepEqual(await pathsIn(other, folders[0] ?? ""), ["a"]);
  await other.close();
});

/** Manifests that this process has open, where the system tells. */
async function openFiles(): Promise<number> {
  if (process.platform !== "linux") return 0;
  const names = await readdir("/proc/self/fd");
  const targets = await Promise.all(names.map((name) => readlink(`/proc/self/fd/${name}`).catch(() => "")));
  return targets.filter((target) => target.startsWith(top)).length;
}
