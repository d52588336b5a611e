import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { forEachConcurrent } from "../src/lib/concurrency.ts";
import { makeDocx, paragraph, styled } from "../test/extract/make-docx.ts";
import { textPath, writeBulkFolder } from "./bulk-folder.ts";
import { SOURCE_FOLDER } from "./folder-app.ts";
import { type Measured, median, runChild, show } from "./measure.ts";
import { runTool, versionOf } from "./run-tool.ts";
import { zipfText } from "./zipf-text.ts";

const FILES = Number(process.env["BENCH_FILES"] ?? 100_000);
const DOCUMENTS = Number(process.env["BENCH_DOCUMENTS"] ?? 2_000);
const ROUNDS = Number(process.env["BENCH_ROUNDS"] ?? 3);
const PARAGRAPHS = 40;

/**
 * Listing and hashing a folder and its mirror, beside `rclone check`, which hashes both, too; and extracting documents anew, beside
 * what the first crawl took to extract them.
 */
export async function verifyBench(): Promise<void> {
  const place = await mkdtemp(join(tmpdir(), "lockstep-bench-"));
  try {
    await benchHashing(place);
    await benchExtraction(place);
  } finally {
    await rm(place, { recursive: true, force: true });
  }
}

type Run = (BENCH_DO: string, BENCH_STEPS?: string) => Promise<Measured>;

function runIn(place: string, name: string, root: string): Run {
  const places = { PERSISTENT_STORAGE_PATH: join(place, name), BENCH_ROOT: root };
  return (BENCH_DO, BENCH_STEPS = "download,process,embed") =>
    runChild("./verify-run.ts", { ...places, BENCH_DO, BENCH_STEPS });
}

/** Only downloaded: without an index, listing and hashing is all that a verification does. */
async function benchHashing(place: string): Promise<void> {
  const root = join(place, "files");
  await writeBulkFolder(root, FILES);
  const run = runIn(place, "hashing", root);
  show("download", await run("crawl", "download"));
  const mirror = join(place, "hashing", SOURCE_FOLDER, "02_embedded");
  const version = versionOf("rclone", "version");
  process.stdout.write(
    version ? `${version}\n` : "rclone is not installed (Debian package rclone), so nothing is compared with it.\n",
  );
  const contestants: [string, () => Promise<Measured>][] = [
    ["list, hash mirror", () => run("verify")],
    ["list, hash both", () => run("download")],
    ...(version
      ? [["rclone check", () => runTool("rclone", ["check", "-q", root, mirror])] as [string, () => Promise<Measured>]]
      : []),
  ];
  const runs = new Map<string, Measured[]>();
  for (let round = 0; round < ROUNDS; round++) {
    for (const [title, measure] of contestants) {
      const measured = await measure();
      show(title, measured);
      runs.set(title, [...(runs.get(title) ?? []), measured]);
    }
  }
  const ms = (title: string): number => median((runs.get(title) ?? []).map((each) => each.ms));
  for (const title of ["list, hash mirror", "list, hash both"]) {
    const peakMb = Math.max(...(runs.get(title) ?? []).map((each) => each.peakMb));
    const cpu = (one: string): number => median((runs.get(one) ?? []).map((each) => each.cpuMs ?? Number.NaN));
    const beside = version
      ? `, ${(ms(title) / ms("rclone check")).toFixed(2)} times rclone check (at most 1.5), ${(cpu(title) / cpu("rclone check")).toFixed(2)} times its processor time`
      : "";
    process.stdout.write(
      `${title}, ${FILES} files: ${(ms(title) / 1000).toFixed(1)} s${beside}; peak memory ${peakMb.toFixed(0)} MB\n`,
    );
  }
}

/** The process step of a folder extracts the texts and keeps them; verify extracts them once more and compares them with the index. */
async function benchExtraction(place: string): Promise<void> {
  const root = join(place, "documents");
  await writeDocuments(root);
  const run = runIn(place, "extraction", root);
  show("download", await run("crawl", "download"));
  const [listing, whole, quick]: Measured[][] = [[], [], []];
  for (let round = 0; round < ROUNDS; round++) listing?.push(await run("verify"));
  const extracted = await run("crawl", "process");
  show("extract and keep", extracted);
  show("embed", await run("crawl", "embed"));
  for (let round = 0; round < ROUNDS; round++) {
    for (const [title, to] of [
      ["verify", whole],
      ["quick", quick],
    ] as const) {
      const measured = await run(title);
      show(title, measured);
      to?.push(measured);
    }
  }
  const ms = (runs: readonly Measured[] = []): number => median(runs.map((each) => each.ms));
  const compareMs = (runs: readonly Measured[] = []): number =>
    median(runs.map(({ counted }) => counted["compareMs"] ?? 0));
  const again = compareMs(whole) - compareMs(listing);
  const searchMs = median((whole ?? []).map(({ counted }) => counted["searchMs"] ?? 0));
  const peakMb = Math.max(...(whole ?? []).map((each) => each.familyMb ?? each.peakMb));
  process.stdout.write(
    `extracting ${DOCUMENTS} documents anew and comparing them: ${(again / 1000).toFixed(1)} s, ${(again / extracted.ms).toFixed(2)} times their first extraction (at most 1.1); ` +
      `searching for a sample ${(searchMs / 1000).toFixed(1)} s, whole verification ${(ms(whole) / 1000).toFixed(1)} s, quick ${(ms(quick) / 1000).toFixed(1)} s; peak memory ${peakMb.toFixed(0)} MB with its readers\n`,
  );
}

async function writeDocuments(root: string): Promise<void> {
  process.stdout.write(`${DOCUMENTS} documents of ${PARAGRAPHS} paragraphs …\n`);
  const { words } = zipfText(20_000, 7);
  await forEachConcurrent([...Array(DOCUMENTS).keys()], 16, async (i) => {
    const body = Array.from({ length: PARAGRAPHS }, (_, at) =>
      at % 10 === 0 ? styled("berschrift1", `Part ${at} of ${i}`) : paragraph(`${words(30).join(" ")}.`),
    );
    const file = join(root, textPath(i).replace(/txt$/, "docx"));
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, makeDocx({ body: body.join("") }));
  });
}
