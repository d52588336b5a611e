import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { textPath, writeBulkFolder } from "./bulk-folder.ts";
import { type Measured, median, runChild, show } from "./measure.ts";
import { zipfText } from "./zipf-text.ts";

const FILES = Number(process.env["BENCH_MARKDOWN_FILES"] ?? 20_000);
const ROUNDS = Number(process.env["BENCH_ROUNDS"] ?? 2);
const WORDS = 40;

/**
 * The first crawl of a folder of small Markdown files, in seconds by step, beside the least that each step has to do: read and
 * hash, copy, write a text and what is known of it, insert into a full-text index.
 */
export async function firstFolderBench(): Promise<void> {
  const place = await mkdtemp(join(tmpdir(), "lockstep-bench-"));
  const root = join(place, "root");
  try {
    const { words } = zipfText(20_000, 7);
    await writeBulkFolder(root, FILES, {
      pathOf: (i) => textPath(i).replace(/txt$/, "md"),
      textOf: (i) => `# Report ${i}\n\n${words(WORDS).join(" ")}.\n`,
    });
    const runs: Record<string, Measured[]> = { floor: [], ours: [] };
    for (let round = 0; round < ROUNDS; round++) {
      for (const [title, script] of [
        ["floor", "./first-folder-floor.ts"],
        ["ours", "./first-folder-run.ts"],
      ] as const) {
        // Nothing is deleted in between: that makes writing slow for a while.
        const PERSISTENT_STORAGE_PATH = join(place, `${title}-${round}`);
        const measured = await runChild(script, { PERSISTENT_STORAGE_PATH, BENCH_ROOT: root });
        show(title === "floor" ? "floor" : "first crawl", measured);
        runs[title]?.push(measured);
      }
    }
    compare(runs["ours"] ?? [], runs["floor"] ?? []);
  } finally {
    await rm(place, { recursive: true, force: true });
  }
}

function compare(ours: readonly Measured[], floors: readonly Measured[]): void {
  const seconds = (runs: readonly Measured[], step: string): number =>
    median(runs.map(({ counted }) => counted[step] ?? 0));
  const whole = median(ours.map(({ ms }) => ms)) / 1000;
  const floor = median(floors.map(({ ms }) => ms)) / 1000;
  const steps = Object.keys(ours[0]?.counted ?? {}).filter((step) => step !== "files");
  const parts = steps.map((step) => {
    const [mine, least] = [seconds(ours, step), seconds(floors, step)];
    return `${step} ${mine.toFixed(1)} s${least > 0 ? ` (${(mine / least).toFixed(1)} times the floor)` : ""}`;
  });
  const peakMb = Math.max(...ours.map((run) => run.peakMb));
  const familyMb = Math.max(...ours.map((run) => run.familyMb ?? Number.NaN));
  process.stdout.write(
    `first crawl of ${FILES} Markdown files: ${whole.toFixed(1)} s, ${(whole / floor).toFixed(1)} times the floor; ` +
      `${parts.join(", ")}; peak memory ${peakMb.toFixed(0)} MB, ${familyMb.toFixed(0)} MB with its readers\n`,
  );
}
