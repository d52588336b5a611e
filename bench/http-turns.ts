import { appendFileSync } from "node:fs";
import { isMainThread } from "node:worker_threads";

/**
 * Loaded into the server: how long its serving thread computes between two looks at the clock. That is what others have to
 * wait for on a machine with cores to spare; time in which the thread itself waited for a core is not in it.
 */
const EVERY_MS = 10;
const LINES = 50;

const file = process.env["BENCH_TURNS"];
if (isMainThread && file) watch(file);

function watch(path: string): void {
  let lines: string[] = [];
  let before = process.threadCpuUsage();
  const look = (): void => {
    const { user, system } = process.threadCpuUsage(before);
    lines.push(`${Date.now()} ${(user + system) / 1000}\n`);
    if (lines.length >= LINES) {
      appendFileSync(path, lines.join(""));
      lines = [];
    }
    before = process.threadCpuUsage();
  };
  setInterval(look, EVERY_MS).unref();
}
