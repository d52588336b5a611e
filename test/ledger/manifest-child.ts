import { join } from "node:path";
import type { ItemId } from "../../src/contracts/ids.ts";
import { acquireLease } from "../../src/lib/file-lease.ts";
import { entryOf } from "./manifest-fixture.ts";
import { closeManifests, exportManifestAt, type ManifestPlace, openTree } from "./manifest-place.ts";

export interface ManifestTask {
  readonly verb: keyof typeof VERBS;
  readonly place: ManifestPlace;
  /** What the verb makes of it. */
  readonly n: number;
}

const VERBS = { writeWithoutEnd, count, fill, readAll };

if (import.meta.main) {
  const { verb, place, n } = JSON.parse(process.argv[2] ?? "") as ManifestTask;
  await VERBS[verb](place, n);
  await closeManifests();
}

/** Puts, drops and exports, from the n-th write on, and says what was flushed: to be killed. */
async function writeWithoutEnd(place: ManifestPlace, n: number): Promise<void> {
  const { manifest } = await openTree(place);
  for (let i = n; ; i++) {
    manifest.put(entryOf(`doc_${i}`, `folder ${i % 3}/file ${i}.txt`, { size: i }));
    if (i % 5 === 4) manifest.drop(`doc_${i - 2}` as ItemId);
    await manifest.flush();
    process.stdout.write(`${i}\n`);
    if (i % 7 === 6) await exportManifestAt(place);
  }
}

/** n times, under the lease: adds one to the size of a file, and a file that nobody else has. */
async function count(place: ManifestPlace, n: number): Promise<void> {
  for (let i = 0; i < n; i++) {
    const lease = await acquireLease(join(place.folder, ".lockstep", "turn"), {
      owner: `process ${process.pid}`,
      pollMs: 5,
    });
    const ledger = await openTree(place);
    const { manifest } = ledger;
    const counted = (await manifest.at(["counted"])).get("counted");
    manifest.put(entryOf("doc_counted", "counted", { size: (counted?.size ?? 0) + 1 }));
    manifest.put(entryOf(`doc_${process.pid}_${i}`, `${process.pid}/${i}`));
    await ledger.close();
    await exportManifestAt(place);
    await lease.release();
  }
}

/** n files, a hundred a folder. */
async function fill(place: ManifestPlace, n: number): Promise<void> {
  const ledger = await openTree(place);
  for (let i = 0; i < n; i++) {
    ledger.manifest.put(entryOf(`doc_${i}`, `${Math.floor(i / 100)}/${i}`, { size: i }));
    if (i % 2000 === 1999) await ledger.manifest.flush();
  }
  await ledger.close();
  await exportManifestAt(place);
}

/** Every entry, in pages, and every folder. Fails unless there are n. */
async function readAll(place: ManifestPlace, n: number): Promise<void> {
  const { manifest } = await openTree(place, { readOnly: true });
  let [entries, sum, known] = [0, 0, 0];
  for await (const page of manifest.entries()) {
    entries += page.length;
    for (const { size } of page) sum += size;
  }
  for await (const folders of manifest.folders()) {
    for (const folder of folders) known += (await manifest.inFolders([folder])).get(folder)?.size ?? 0;
  }
  const last = `doc_${n - 1}` as ItemId;
  const found = [entries, known, sum, (await manifest.find([last])).get(last)?.size].join();
  const expected = [n, n, (n * (n - 1)) / 2, n - 1].join();
  if (found !== expected) throw new Error(`read ${found} instead of ${expected}`);
}
