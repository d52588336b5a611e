import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Measured, median, runChild, show } from "./measure.ts";
import { startTenant } from "./tenant.ts";

const FILES = Number(process.env["BENCH_FIRST_FILES"] ?? 3000);
const BYTES = 20_000;
const ROUNDS = Number(process.env["BENCH_ROUNDS"] ?? 5);

/**
 * The download of a first crawl beside a bare downloader with as many requests at once, which lists the same pages and
 * writes the same bytes to disk, and does nothing else: no hash, no map, no rename, no check. How full is the pipe?
 */
export async function firstCrawlBench(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "lockstep-bench-"));
  const tenant = await startTenant(join(folder, "sandbox.pem"));
  try {
    await tenant.control("POST", "fill", { path: "/sites/demo/Shared Documents/Bulk", count: FILES, bytes: BYTES });
    const runs: Record<string, Measured[]> = { bare: [], ours: [] };
    for (let round = 0; round < ROUNDS; round++) {
      for (const [title, script] of [
        ["bare", "./download-bare.ts"],
        ["ours", "./crawl-once.ts"],
      ] as const) {
        const storage = await mkdtemp(join(folder, "storage-"));
        const settings = { ...tenant.settings, PERSISTENT_STORAGE_PATH: storage, BENCH_SITE: tenant.siteUrl };
        const measured = await runChild(script, { ...settings, BENCH_STEPS: "download" });
        show(title === "bare" ? "bare downloader" : "download of a crawl", measured);
        runs[title]?.push(measured);
        await rm(storage, { recursive: true, force: true });
      }
    }
    const of = (title: string): number => median((runs[title] ?? []).map(({ ms }) => ms));
    process.stdout.write(
      `first crawl of ${FILES} files of ${BYTES} bytes: the pipe is ${((100 * of("bare")) / of("ours")).toFixed(0)} % as full ` +
        `as that of a bare parallel downloader (at least 80)\n`,
    );
  } finally {
    tenant.stop();
    await rm(folder, { recursive: true, force: true });
  }
}
