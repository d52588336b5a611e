import { mkdir, mkdtemp, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { bulkText, writeBulkFolder } from "./bulk-folder.ts";
import { SOURCE_FOLDER } from "./folder-app.ts";
import { runChild, show } from "./measure.ts";

const MISPLACED = Number(process.env["BENCH_MISPLACED"] ?? 400);
/** Files that stay where they are. */
const OTHERS = 200;
/** Coprime to every number of files that anybody would ask for. */
const STEP = 7919;

/** Files of the mirror that somebody moved away, all of one size and in another order: twice as many may take twice as long. */
export async function healingBench(): Promise<void> {
  const seconds: number[] = [];
  for (const count of [MISPLACED, 2 * MISPLACED]) seconds.push(await heal(count));
  const [once = Number.NaN, twice = Number.NaN] = seconds;
  process.stdout.write(
    `healing ${2 * MISPLACED} misplaced files: ${twice.toFixed(1)} s, ${(twice / once).toFixed(2)} times ${MISPLACED} (at most 2)\n`,
  );
}

async function heal(count: number): Promise<number> {
  const place = await mkdtemp(join(tmpdir(), "lockstep-bench-"));
  const [root, storage] = [join(place, "root"), join(place, "storage")];
  try {
    const name = (i: number): string => `file${String(i).padStart(7, "0")}.txt`;
    await writeBulkFolder(root, count + OTHERS, {
      pathOf: (i) => `${i < count ? "moved" : "others"}/${name(i)}`,
      textOf: (i) => bulkText(i, "first").padEnd(200, "."),
    });
    const settings = { PERSISTENT_STORAGE_PATH: storage, BENCH_ROOT: root, BENCH_STEPS: "download" };
    for (const title of ["first", "again"]) show(title, await runChild("./folders-crawl.ts", settings));
    const mirror = join(storage, SOURCE_FOLDER, "02_embedded");
    for (let i = 0; i < count; i++) {
      const away = join(mirror, "elsewhere", name((i * STEP) % count));
      await mkdir(dirname(away), { recursive: true });
      await rename(join(mirror, "moved", name(i)), away);
    }
    const healed = await runChild("./folders-crawl.ts", settings);
    show(`${count} misplaced`, healed);
    return healed.ms / 1000;
  } finally {
    await rm(place, { recursive: true, force: true });
  }
}
