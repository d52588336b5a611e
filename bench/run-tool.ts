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
  const look = setInterval(() => {
    peakMb = peakOf(child.pid ?? 0) ?? peakMb;
  }, LOOK_EVERY_MS);
  try {
    const code = await new Promise<number | null>((resolve, reject) => {
      child.on("error", reject);
      child.on("exit", resolve);
    });
    if (code !== 0) throw new Error(`${tool} ended with ${code}`);
    return { ms: performance.now() - startedAt, peakMb, counted: {} };
  } finally {
    clearInterval(look);
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
