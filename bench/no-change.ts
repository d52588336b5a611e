import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Measured, median, runChild } from "./measure.ts";

const FILES = Number(process.env["BENCH_FILES"] ?? 20_000);
const ROUNDS = 5;

/** A crawl that finds nothing changed, beside the least anybody could do: list the same pages, stat the same files. */
export async function noChangeBench(): Promise<void> {
  const storage = await mkdtemp(join(tmpdir(), "lockstep-bench-"));
  const tenant = await startTenant(join(storage, "sandbox.pem"));
  try {
    const settings = { ...tenant.settings, PERSISTENT_STORAGE_PATH: storage, BENCH_SITE: `${tenant.url}/sites/demo` };
    await fill(tenant.url);
    process.stdout.write(`${FILES} files; first crawl …\n`);
    const first = await runChild("./crawl-once.ts", settings);
    show("first crawl", first);
    const ours: Measured[] = [];
    const floors: Measured[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      floors.push(await runChild("./list-and-stat.ts", settings));
      ours.push(await runChild("./crawl-once.ts", settings));
    }
    for (const floor of floors) show("floor: list and stat", floor);
    for (const run of ours) show("no-change crawl", run);
    const time = median(ours.map(({ ms }) => ms)) / median(floors.map(({ ms }) => ms));
    const memory = median(ours.map(({ peakMb }) => peakMb)) / median(floors.map(({ peakMb }) => peakMb));
    process.stdout.write(
      `no-change crawl of ${FILES} files: ${time.toFixed(2)} times the floor (at most 2), peak memory ` +
        `${median(ours.map(({ peakMb }) => peakMb)).toFixed(0)} MB (${memory.toFixed(2)} times the floor)\n`,
    );
  } finally {
    tenant.stop();
    await rm(storage, { recursive: true, force: true });
  }
}

function show(title: string, { ms, peakMb, counted }: Measured): void {
  process.stdout.write(
    `${title.padEnd(22)} ${ms.toFixed(0).padStart(7)} ms ${peakMb.toFixed(0).padStart(5)} MB  ${JSON.stringify(counted)}\n`,
  );
}

async function fill(url: string): Promise<void> {
  const response = await fetch(`${url}/_sandbox/fill`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ path: "/sites/demo/Shared Documents/Bulk", count: FILES }),
  });
  if (!response.ok) throw new Error(`fill the tenant: ${await response.text()}`);
}

interface RunningTenant {
  readonly url: string;
  readonly settings: Readonly<Record<string, string>>;
  stop(): void;
}

/** In a process of its own, so that neither side pays for the tenant's memory. */
async function startTenant(certificate: string): Promise<RunningTenant> {
  const cli = fileURLToPath(new URL("../bin/lockstep.mjs", import.meta.url));
  const child = spawn(process.execPath, [cli, "sandbox", "--seed", "empty", "--certificate", certificate]);
  let output = "";
  while (!output.includes("docs/sandbox.md")) {
    const [bytes] = (await once(child.stdout, "data")) as [Buffer];
    output += bytes.toString();
  }
  const url = /listens on (\S+)/.exec(output)?.[1] ?? "";
  const settings = Object.fromEntries(
    [...output.matchAll(/^ {2}(CRAWLER_\w+)=(.*)$/gm)].map(([, name, value]) => [name ?? "", value ?? ""]),
  );
  return { url, settings, stop: () => void child.kill() };
}
