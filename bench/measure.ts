import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

export interface Measured {
  readonly ms: number;
  /** Of all its threads: what a busy machine cannot make longer by much. */
  readonly cpuMs?: number;
  /** What the process took to start and to end. */
  readonly startMs?: number;
  readonly peakMb: number;
  /** With the processes it started; where the system tells. What they share is counted in each. */
  readonly familyMb?: number;
  /** What the child counted, to show that both did the same work. */
  readonly counted: Readonly<Record<string, number>>;
}

/** As `bin/lockstep.mjs` and `npm start` run the product. */
const FLAGS = ["--max-semi-space-size=16", "--heap-growing-percent=30"];

const LOOK_EVERY_MS = 200;

/** Runs a script of this folder in a process of its own; it reports its time, without start-up, and its peak memory. */
export function runChild(script: string, settings: Readonly<Record<string, string>>): Promise<Measured> {
  const path = fileURLToPath(new URL(script, import.meta.url));
  const startedAt = performance.now();
  const child = spawn(process.execPath, [...FLAGS, path], {
    env: { ...process.env, ...settings },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let [output, familyMb] = ["", 0];
  const look = setInterval(() => {
    familyMb = Math.max(familyMb, familyOf(child.pid ?? 0));
  }, LOOK_EVERY_MS);
  child.stdout.on("data", (bytes: Buffer) => {
    output += bytes.toString();
  });
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("exit", (code) => {
      clearInterval(look);
      const line = output.trim().split("\n").at(-1) ?? "";
      if (code === 0) resolve({ ...withStart(JSON.parse(line) as Measured, performance.now() - startedAt), familyMb });
      else reject(new Error(`${script} ended with ${code}: ${output}`));
    });
  });
}

/** What a process and those below it take now, in MB. */
function familyOf(pid: number): number {
  try {
    const kilobytes = Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0);
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ").filter(Boolean);
    return kilobytes / 1024 + children.reduce((sum, child) => sum + familyOf(Number(child)), 0);
  } catch {
    return 0;
  }
}

function withStart(measured: Measured, wholeMs: number): Measured {
  return { ...measured, startMs: wholeMs - measured.ms };
}

/** The other half: called by such a script around its work. */
export async function report(work: () => Promise<Readonly<Record<string, number>>>): Promise<void> {
  const startedAt = performance.now();
  const before = process.cpuUsage();
  const counted = await work();
  const ms = performance.now() - startedAt;
  const { user, system } = process.cpuUsage(before);
  const peakMb = process.resourceUsage().maxRSS / 1024;
  const measured: Measured = { ms, cpuMs: (user + system) / 1000, peakMb, counted };
  process.stdout.write(`${JSON.stringify(measured)}\n`);
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

export function show(title: string, { ms, cpuMs, peakMb, counted }: Measured): void {
  const cpu = cpuMs === undefined ? "" : `(CPU ${cpuMs.toFixed(0)})`;
  process.stdout.write(
    `${title.padEnd(22)} ${ms.toFixed(0).padStart(7)} ms ${cpu.padEnd(12)} ${peakMb.toFixed(0).padStart(5)} MB  ${JSON.stringify(counted)}\n`,
  );
}
