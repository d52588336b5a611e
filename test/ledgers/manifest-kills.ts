import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { ItemId } from "../../src/contracts/ids.ts";
import type { ManifestEntry } from "../../src/contracts/manifest.ts";
import type { ManifestTask } from "./manifest-child.ts";
import { entryOf } from "./manifest-fixture.ts";
import { type ManifestPlace, openManifestAt } from "./manifest-place.ts";

/** From here on the manifests that are killed count as large. */
export const LARGE_FROM = 128 * 1024;

/**
 * Kills a writer after each of these many flushes, again and again on the same manifest; what it said was flushed must be there.
 * `check` gets what is read then.
 */
export async function killManifestWriters(
  place: ManifestPlace,
  flushes: readonly number[],
  check: (entries: readonly ManifestEntry[]) => Promise<void> = async () => undefined,
): Promise<void> {
  let first = 0;
  for (const count of flushes) {
    const last = await killAfter(place, first, count);
    const manifest = await openManifestAt(place, { readOnly: true });
    for (let i = 0; i <= last; i++) {
      const dropped = i % 5 === 2 && i + 2 <= last;
      const entry = manifest.find(`doc_${i}` as ItemId);
      // The drop may have been written without the word of it having come through.
      if (dropped) assert.equal(entry, undefined, `doc_${i} came back`);
      else if (entry || i % 5 !== 2 || i + 2 > last + 1) assert.equal(entry?.size, i, `doc_${i} is lost`);
      if (entry) assert.equal(manifest.at(entry.path)?.docId, entry.docId);
    }
    const { active } = manifest.count();
    const entries = [...manifest.entries()].flat();
    assert.equal(entries.length, active);
    await manifest.close();
    await check(entries);
    first = last + 1;
  }
}

/** The same is read when there is no index. */
export async function sameWithoutIndex(place: ManifestPlace, entries: readonly ManifestEntry[]): Promise<void> {
  await rm(join(place.folder, ".lockstep", "manifest.index"), { force: true });
  const scanned = await openManifestAt(place, { readOnly: true });
  assert.deepEqual([...scanned.entries()].flat(), entries, "the same without its index");
  await scanned.close();
}

/** So many files that the manifest counts as large. */
export async function fillManifest(place: ManifestPlace): Promise<void> {
  const manifest = await openManifestAt(place);
  for (let i = 0; i < 1000; i++) manifest.put(entryOf(`doc_before_${i}`, `before/${i}`));
  await manifest.close();
}

/** The number of the last flush that was heard of. */
async function killAfter(place: ManifestPlace, first: number, count: number): Promise<number> {
  const task: ManifestTask = { verb: "writeWithoutEnd", place, n: first };
  const child = spawn(process.execPath, [join(import.meta.dirname, "manifest-child.ts"), JSON.stringify(task)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(child, "close");
  let last = first - 1;
  for await (const line of createInterface({ input: child.stdout })) {
    last = Number(line);
    if (last >= first + count) child.kill("SIGKILL");
  }
  await ended;
  return last;
}
