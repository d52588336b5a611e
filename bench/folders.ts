import assert from "node:assert/strict";
import { mkdtemp, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bulkText, textPath, writeBelow, writeBulkFolder } from "./bulk-folder.ts";
import { editNotes, NO_NOTES } from "./edit-notes.ts";
import { type Measured, median, runChild, show } from "./measure.ts";
import { runTool, versionOf } from "./run-tool.ts";

const FILES = Number(process.env["BENCH_FILES"] ?? 200_000);
const CHANGES = Number(process.env["BENCH_CHANGES"] ?? Math.min(1_000, FILES / 10));
const ROUNDS = Number(process.env["BENCH_ROUNDS"] ?? 3);
/** The whole crawl embeds every file once before it can be measured, which takes a quarter of an hour. */
const WHOLE = process.env["BENCH_WHOLE"] === "true";

/**
 * A folder in which nothing changed, and one in which a thousand files did, beside rclone and rsync keeping a copy of the same
 * folder. The download step is what they do: it sees what changed and brings a copy up to date; ours tells renames from new
 * files as well. The whole crawl keeps texts, versions and an index in step, too.
 */
export async function foldersBench(): Promise<void> {
  const place = await mkdtemp(join(tmpdir(), "lockstep-bench-"));
  const root = join(place, "root");
  try {
    await writeBulkFolder(root, FILES);
    const contestants = contestantsFor(place, root);
    for (const [title, run] of contestants) show(`first: ${title}`, await run());
    // What was written a moment ago is read again by the next look, in case it was written in the same tick of the clock.
    for (const [, run] of contestants) await run();
    await measure(root, contestants);
    for (const storage of WHOLE ? ["download", "whole"] : ["download"])
      await measureHealing(place, storage, contestants);
  } finally {
    await rm(place, { recursive: true, force: true });
  }
}

type Contestants = ReadonlyMap<string, () => Promise<Measured>>;

function contestantsFor(place: string, root: string): Contestants {
  const ours = (storage: string, steps: string): (() => Promise<Measured>) => {
    // As the command line does.
    const NODE_COMPILE_CACHE = join(import.meta.dirname, "../node_modules/.cache/node");
    const places = { PERSISTENT_STORAGE_PATH: join(place, storage), BENCH_ROOT: root, NODE_COMPILE_CACHE };
    const settings = { ...places, BENCH_STEPS: steps };
    return () => runChild("./folders-crawl.ts", settings);
  };
  const all = new Map<string, () => Promise<Measured>>([
    ["floor: find", () => runTool("find", [root, "-printf", "%p %s %T@ %i\n"])],
    ["floor: readdir, lstat", () => runChild("./folders-walk.ts", { BENCH_ROOT: root })],
    ["download", ours("download", "download")],
  ]);
  const tools: readonly [string, readonly string[], string?][] = [
    ["rclone", ["sync", root, join(place, "rclone")], "version"],
    ["rsync", ["-a", "--delete", `${root}/`, join(place, "rsync")]],
  ];
  for (const [tool, options, argument] of tools) {
    const version = versionOf(tool, argument);
    process.stdout.write(version ? `${version}\n` : `${tool} is not installed, so nothing is compared with it.\n`);
    if (version) all.set(tool, () => runTool(tool, options));
  }
  if (WHOLE) all.set("whole crawl", ours("whole", "download,process,embed"));
  else process.stdout.write("BENCH_WHOLE=true measures whole crawls as well, after embedding everything once.\n");
  return all;
}

async function measure(root: string, contestants: Contestants): Promise<void> {
  const runs: Record<string, Measured[]> = {};
  const runAll = async (what: string): Promise<void> => {
    for (const [title, run] of contestants) {
      const measured = await run();
      show(`${what}: ${title}`, measured);
      runs[`${what}: ${title}`] = [...(runs[`${what}: ${title}`] ?? []), measured];
    }
  };
  for (let round = 0; round < ROUNDS; round++) {
    await runAll("no change");
    await change(root, round);
    await runAll("changes");
    for (const [, run] of contestants) await run();
  }
  for (const [what, ours] of [
    ["no change", "download"],
    ["no change", "whole crawl"],
    ["changes", "download"],
    ["changes", "whole crawl"],
  ] as const) {
    compare(runs, what, ours, [...contestants.keys()]);
  }
}

async function measureHealing(place: string, storage: string, contestants: Contestants): Promise<void> {
  const title = storage === "whole" ? "whole crawl" : "download";
  const run = contestants.get(title) ?? assert.fail(`nobody is called ${title}`);
  const runs: Measured[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    editNotes(join(place, storage), NO_NOTES);
    const measured = await run();
    show(`all compared: ${title}`, measured);
    runs.push(measured);
  }
  const seconds = median(runs.map(({ ms }) => ms)) / 1000;
  const peakMb = Math.max(...runs.map((run) => run.peakMb));
  process.stdout.write(
    `everything compared in ${FILES} files, ${title}: ${seconds.toFixed(2)} s; peak memory ${peakMb.toFixed(0)} MB\n`,
  );
}

function compare(runs: Readonly<Record<string, Measured[]>>, what: string, ours: string, all: readonly string[]): void {
  const mine = runs[`${what}: ${ours}`];
  if (!mine) return;
  const ms = (title: string): number => median((runs[`${what}: ${title}`] ?? []).map((run) => run.ms));
  const startMs = median(mine.map((run) => run.startMs ?? 0));
  const others = all.filter((title) => title !== ours && title !== "download" && title !== "whole crawl");
  const ratios = others.map((title) => `${(ms(ours) / ms(title)).toFixed(2)} times ${title.replace("floor: ", "")}`);
  const peakMb = Math.max(...mine.map((run) => run.peakMb));
  const subject = what === "changes" ? `${CHANGES} changes among ${FILES} files` : `no change in ${FILES} files`;
  process.stdout.write(
    `${subject}, ${ours}: ${(ms(ours) / 1000).toFixed(2)} s (and ${(startMs / 1000).toFixed(2)} s to start), ${ratios.join(", ")}; ` +
      `peak memory ${peakMb.toFixed(0)} MB (at most as long as rclone, under 300 MB)\n`,
  );
}

/** Half are edited; the others are renamed, removed or new, in equal parts. Each round takes other files. */
async function change(root: string, round: number): Promise<void> {
  const spread = Math.floor(FILES / CHANGES);
  for (let i = 0; i < CHANGES; i++) {
    const at = (i * spread + round) % FILES;
    const path = textPath(at);
    const kind = i % 6;
    if (kind < 3) await writeBelow(root, path, bulkText(at, `round${round}`));
    if (kind === 3) await rename(join(root, path), join(root, `${path}.renamed${round}.txt`));
    if (kind === 4) await rm(join(root, path));
    if (kind === 5) await writeBelow(root, `new${round}/${i}.txt`, bulkText(FILES * (round + 1) + i, "new"));
  }
}
