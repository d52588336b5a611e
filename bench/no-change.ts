import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { editNotes, NO_HASHES, NO_MARK, NO_NOTES } from "./edit-notes.ts";
import { type Measured, median, runChild, show } from "./measure.ts";
import { type RunningTenant, startTenant } from "./tenant.ts";

const FILES = Number(process.env["BENCH_FILES"] ?? 100_000);
const SOURCE_FOLDER = "crawler/BENCH/01_files/bulk";
const ROUNDS = Number(process.env["BENCH_ROUNDS"] ?? 5);

/**
 * Crawls that find nothing changed, beside the least anybody could do: by full enumeration, list the same pages and stat
 * the same files; by change token, stat the files. Ours compare the maps with the vector store as well.
 */
export async function noChangeBench(): Promise<void> {
  const storage = await mkdtemp(join(tmpdir(), "lockstep-bench-"));
  const tenant = await startTenant(join(storage, "sandbox.pem"));
  try {
    const settings = { ...tenant.settings, PERSISTENT_STORAGE_PATH: storage, BENCH_SITE: tenant.siteUrl };
    await tenant.control("POST", "fill", { path: "/sites/demo/Shared Documents/Bulk", count: FILES });
    process.stdout.write(`${FILES} files; first crawl …\n`);
    show("first crawl", await runChild("./crawl-once.ts", settings));
    await runChild("./crawl-once.ts", settings);
    await measure(tenant, storage, settings);
  } finally {
    tenant.stop();
    await rm(storage, { recursive: true, force: true });
  }
}

async function measure(tenant: RunningTenant, storage: string, settings: Record<string, string>): Promise<void> {
  const runs: Record<string, Measured[]> = {};
  const run = async (title: string, script: string): Promise<void> => {
    await tenant.control("DELETE", "log");
    const measured = await runChild(script, settings);
    const { requests } = (await tenant.control("GET", "log")) as { requests: { url: string }[] };
    const asked = requests.filter(({ url }) => !url.startsWith("/_sandbox")).length;
    const counted = { ...measured.counted, requests: asked };
    show(title, { ...measured, counted });
    runs[title] = [...(runs[title] ?? []), { ...measured, counted }];
  };
  for (let round = 0; round < ROUNDS; round++) {
    await run("floor: list and stat", "./list-and-stat.ts");
    editNotes(storage, NO_MARK, NO_HASHES);
    await run("full enumeration", "./crawl-once.ts");
    await run("floor: stat", "./stat-only.ts");
    editNotes(storage, NO_HASHES);
    await run("change token", "./crawl-once.ts");
  }
  editNotes(storage, NO_NOTES);
  await run("everything compared", "./crawl-once.ts");
  for (const map of ["files_map.csv", "vectorstore_map.csv", "sharepoint_map.csv"]) {
    await rm(join(storage, SOURCE_FOLDER, map));
    await run(`${map} lost`, "./crawl-once.ts");
  }
  compare(runs, "full enumeration", "floor: list and stat", "at most 1.5, under 400 MB");
  compare(runs, "change token", "floor: stat", "at most 1.5, under 20 requests");
}

function compare(runs: Readonly<Record<string, Measured[]>>, ours: string, floor: string, limit: string): void {
  const of = (title: string, figure: (run: Measured) => number): number => median((runs[title] ?? []).map(figure));
  const ratio = of(ours, ({ ms }) => ms) / of(floor, ({ ms }) => ms);
  const memory = of(ours, ({ peakMb }) => peakMb);
  const requests = of(ours, ({ counted }) => counted["requests"] ?? Number.NaN);
  process.stdout.write(
    `no-change crawl of ${FILES} files by ${ours}: ${ratio.toFixed(2)} times the ${floor}, ` +
      `peak memory ${memory.toFixed(0)} MB, ${requests} requests (${limit})\n`,
  );
}
