import { spawn, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import type { Measured } from "./measure.ts";

const LOOK_EVERY_MS = 10;

/** Its version, or undefined when it is not installed. */
export function versionOf(tool: string, argument = "--version"): string | undefined {
  const { status, stdout } = spawnSync(tool, [argument], { encoding: "utf8" });
  return status === 0 ? stdout.split("\n")[0] : undefined;
}

/** A program of others, with its time and, where the system tells, the most memory it had. */
export async function runTool(tool: string, options: readonly string[]): Promise<Measured> {
  const startedAt = performance.now();
  const child = spawn(tool, options, { stdio: ["ignore", "ignore", "inherit"] });
  let peakMb = Number.NaN;
  let cpuMs = Number.NaN;
  const look = setInterval(() => {
    peakMb = peakOf(child.pid ?? 0) ?? peakMb;
    cpuMs = cpuOf(child.pid ?? 0) ?? cpuMs;
  }, LOOK_EVERY_MS);
  try {
    const code = await new Promise<number | null>((resolve, reject) => {
      child.on("error", reject);
      child.on("exit", resolve);
    });
    if (code !== 0) throw new Error(`${tool} ended with ${code}`);
    const cpu = Number.isNaN(cpuMs) ? {} : { cpuMs };
    return { ms: performance.now() - startedAt, ...cpu, peakMb, counted: {} };
  } finally {
    clearInterval(look);
  }
}

const TICKS_A_SECOND = 100;

/** Of all its threads so far, as the system counts it. */
function cpuOf(pid: number): number | undefined {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
      .replace(/^.*\) /s, "")
      .split(" ");
    return ((Number(fields[11]) + Number(fields[12])) * 1000) / TICKS_A_SECOND;
  } catch {
    return undefined;
  }
}

function peakOf(pid: number): number | undefined {
  try {
    const kilobytes = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
    return kilobytes === undefined ? undefined : Number(kilobytes) / 1024;
  } catch {
    return undefined;
  }
}
