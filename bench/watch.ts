import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { writeBulkFolder } from "./bulk-folder.ts";
import { runChild, show } from "./measure.ts";

const FILES = Number(process.env["BENCH_FILES"] ?? 200_000);

/** How long it takes from a change of one file until search finds what it says, while the folder is watched. */
export async function watchBench(): Promise<void> {
  const place = await mkdtemp(join(tmpdir(), "lockstep-bench-"));
  const root = join(place, "root");
  try {
    await writeBulkFolder(root, FILES);
    const settings = { PERSISTENT_STORAGE_PATH: join(place, "storage"), BENCH_ROOT: root, BENCH_FILES: String(FILES) };
    show("first crawl", await runChild("./folders-crawl.ts", settings));
    const watched = await runChild("./watch-run.ts", settings);
    show("watch", watched);
    const { median, slowest } = watched.counted;
    process.stdout.write(
      `a change among ${FILES} watched files is searchable after ${median} ms, at most ${slowest} ms; ` +
        `peak memory ${watched.peakMb.toFixed(0)} MB (within 2 s on a quiet machine)\n`,
    );
  } finally {
    await rm(place, { recursive: true, force: true });
  }
}
