import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { ItemId } from "../../src/contracts/ids.ts";
import type { ManifestTask } from "./manifest-child.ts";
import { entriesOf, type ManifestPlace, openTree } from "./manifest-place.ts";

/**
 * Kills a writer after each of these many flushes, again and again on the same manifest; what it said was flushed must be there,
 * and `manifest.json` that it was killed at is no edit.
 */
export async function killManifestWriters(place: ManifestPlace, flushes: readonly number[]): Promise<void> {
  let first = 0;
  for (const count of flushes) {
    const last = await killAfter(place, first, count);
    const ledger = await openTree(place);
    const { manifest } = ledger;
    assert.deepEqual(ledger.problems, []);
    for (let i = 0; i <= last; i++) {
      const dropped = i % 5 === 2 && i + 2 <= last;
      const docId = `doc_${i}` as ItemId;
      const entry = (await manifest.find([docId])).get(docId);
      // The drop may have been written without the word of it having come through.
      if (dropped) assert.equal(entry, undefined, `doc_${i} came back`);
      else if (entry || i % 5 !== 2 || i + 2 > last + 1) assert.equal(entry?.size, i, `doc_${i} is lost`);
      if (entry) assert.equal((await manifest.at([entry.path])).get(entry.path)?.docId, entry.docId);
    }
    assert.equal((await entriesOf(manifest)).length, (await manifest.count()).active);
    await ledger.close();
    first = last + 1;
  }
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
