import { join } from "node:path";
import type { ItemId } from "../../src/contracts/ids.ts";
import { acquireLease } from "../../src/lib/file-lease.ts";
import { entryOf } from "./manifest-fixture.ts";
import { type ManifestPlace, openManifestAt } from "./manifest-place.ts";

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
}

/** Puts, drops and snapshots, from the n-th write on, and says what was flushed: to be killed. */
async function writeWithoutEnd(place: ManifestPlace, n: number): Promise<void> {
  const manifest = await openManifestAt(place);
  for (let i = n; ; i++) {
    manifest.put(entryOf(`doc_${i}`, `folder ${i % 3}/file ${i}.txt`, { size: i }));
    if (i % 5 === 4) manifest.drop(`doc_${i - 2}` as ItemId);
    await manifest.flush();
    process.stdout.write(`${i}\n`);
    if (i % 7 === 6) await manifest.snapshot("now");
  }
}

/** n times, under the lease: adds one to the size of a file, and a file that nobody else has. */
async function count(place: ManifestPlace, n: number): Promise<void> {
  for (let i = 0; i < n; i++) {
    const lease = await acquireLease(join(place.folder, ".lockstep", "turn"), {
      owner: `process ${process.pid}`,
      pollMs: 5,
    });
    const manifest = await openManifestAt(place);
    manifest.put(entryOf("doc_counted", "counted", { size: (manifest.at("counted")?.size ?? 0) + 1 }));
    manifest.put(entryOf(`doc_${process.pid}_${i}`, `${process.pid}/${i}`));
    await manifest.close();
    await lease.release();
  }
}

/** n files, a hundred a folder. */
async function fill(place: ManifestPlace, n: number): Promise<void> {
  const manifest = await openManifestAt(place);
  for (let i = 0; i < n; i++) {
    manifest.put(entryOf(`doc_${i}`, `${Math.floor(i / 100)}/${i}`, { size: i }));
    if (i % 200 === 199) await manifest.flush();
    if (i % 25_000 === 24_999) await manifest.snapshot("now");
  }
  await manifest.close();
}

/** Every entry, in pages, and every folder. Fails unless there are n. */
async function readAll(place: ManifestPlace, n: number): Promise<void> {
  const manifest = await openManifestAt(place, { readOnly: true });
  let [entries, met, sum] = [0, 0, 0];
  for (const page of manifest.entries()) {
    entries += page.length;
    for (const { size } of page) sum += size;
  }
  for (let folder = 0; folder < n / 100; folder++) {
    const known = manifest.inFolder(String(folder));
    for (let i = folder * 100; i < (folder + 1) * 100; i++) known.meet(entryOf("", `${folder}/${i}`));
    met += known.met;
  }
  const found = [entries, met, sum, manifest.find(`doc_${n - 1}` as ItemId)?.size].join();
  const expected = [n, n, (n * (n - 1)) / 2, n - 1].join();
  if (found !== expected) throw new Error(`read ${found} instead of ${expected}`);
  await manifest.close();
}
