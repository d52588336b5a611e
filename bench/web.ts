import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Measured, median, runChild, show } from "./measure.ts";

const PAGES = Number(process.env["BENCH_PAGES"] ?? 10_000);
const ROUNDS = Number(process.env["BENCH_ROUNDS"] ?? 3);
const AT_ONCE = 16;

/** A site crawled by the web source and by Crawlee's CheerioCrawler in turn; and by the web source again, when it knows it. */
export async function webBench(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "lockstep-bench-"));
  const site = await startSiteProcess();
  const settings = { BENCH_SITE: site.origin, BENCH_AT_ONCE: String(AT_ONCE) };
  const runs: Record<string, Measured[]> = {};
  const run = async (title: string, script: string, storage: string): Promise<void> => {
    const measured = await runChild(script, { ...settings, PERSISTENT_STORAGE_PATH: storage });
    show(title, measured);
    if (measured.counted["pages"] !== PAGES) throw new Error(`${title} did not find every page of ${PAGES}.`);
    runs[title] = [...(runs[title] ?? []), measured];
  };
  try {
    for (let round = 0; round < ROUNDS; round++) {
      const storage = await mkdtemp(join(folder, "storage-"));
      await run("CheerioCrawler", "./web-crawlee.ts", storage);
      await run("web source", "./web-ours.ts", storage);
      await run("web source, again", "./web-ours.ts", storage);
      await rm(storage, { recursive: true, force: true });
    }
    compare(runs);
  } finally {
    site.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

function compare(runs: Readonly<Record<string, readonly Measured[]>>): void {
  const of = (title: string, figure: (run: Measured) => number): number => median((runs[title] ?? []).map(figure));
  const speed = (title: string): number => PAGES / (of(title, ({ ms }) => ms) / 1000);
  const memory = (title: string): number => of(title, ({ peakMb }) => peakMb);
  const [ours, theirs] = ["web source", "CheerioCrawler"];
  process.stdout.write(
    `first crawl of ${PAGES} pages, ${AT_ONCE} at once: ${speed(ours).toFixed(0)} pages/s beside ${speed(theirs).toFixed(0)} of CheerioCrawler, ` +
      `${(speed(ours) / speed(theirs)).toFixed(2)} times as fast (at least 1), with ${(memory(ours) / memory(theirs)).toFixed(2)} times the memory (less than 1); ` +
      `again, nothing changed: ${speed("web source, again").toFixed(0)} pages/s\n`,
  );
}

async function startSiteProcess(): Promise<{ readonly origin: string; stop(): void }> {
  const script = fileURLToPath(new URL("./web-site.ts", import.meta.url));
  const child = spawn(process.execPath, [script], { env: { ...process.env, BENCH_PAGES: String(PAGES) } });
  const [bytes] = (await once(child.stdout, "data")) as [Buffer];
  return { origin: /listens on (\S+)/.exec(bytes.toString())?.[1] ?? "", stop: () => void child.kill() };
}
