import type { ItemId } from "../../src/contracts/ids.ts";
import { openManifest } from "../../src/ledgers/manifest/open-manifest.ts";
import { entryOf } from "./manifest-fixture.ts";

export const LARGE_FROM = 128 * 1024;

if (import.meta.main) await writeWithoutEnd();

/** Puts, drops and snapshots, from the number it is given, and says what was flushed: to be killed. */
async function writeWithoutEnd(): Promise<void> {
  const [folder = "", first = "0"] = process.argv.slice(2);
  const manifest = await openManifest(folder, { readOnly: false, largeFrom: LARGE_FROM });
  for (let i = Number(first); ; i++) {
    manifest.put(entryOf(`doc_${i}`, `folder ${i % 3}/file ${i}.txt`, { size: i }));
    if (i % 5 === 4) manifest.drop(`doc_${i - 2}` as ItemId);
    await manifest.flush();
    process.stdout.write(`${i}\n`);
    if (i % 7 === 6) await manifest.snapshot("now");
  }
}
