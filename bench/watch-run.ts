import { rename, rm } from "node:fs/promises";
import { join } from "node:path";
import type { App } from "../src/app/app.ts";
import { watchJob } from "../src/app/watch.ts";
import { sleep } from "../src/lib/time.ts";
import { textPath, writeBelow } from "./bulk-folder.ts";
import { BENCH_DOMAIN, openFolderApp } from "./folder-app.ts";
import { median, report } from "./measure.ts";

const CHANGES = Number(process.env["BENCH_CHANGES"] ?? 12);
const SPREAD = Math.floor(Number(process.env["BENCH_FILES"]) / CHANGES);
const LOOK_EVERY_MS = 10;

await report(async () => {
  const root = process.env["BENCH_ROOT"] ?? "";
  const app = await openFolderApp();
  const { start, work } = await watchJob(app, { domainId: BENCH_DOMAIN, sourceId: undefined });
  const { jobId, done } = await app.runner.start({ ...start, endpoint: "bench" }, work);
  const startedAt = performance.now();
  await writeBelow(root, "warm.txt", "The word is wordwarm.\n");
  await untilFound(app, "wordwarm", "warm.txt");
  const readyMs = performance.now() - startedAt;
  const times: number[] = [];
  for (let i = 0; i < CHANGES; i++) {
    const [word, path] = [`wordno${i}x`, textPath(i * SPREAD)];
    const changedAt = performance.now();
    await change(root, path, i, word);
    await untilFound(app, i % 4 === 3 ? "wordwarm" : word, namedAt(path, i));
    times.push(performance.now() - changedAt);
  }
  await app.jobs.control(jobId, "cancel");
  await done;
  await app.close();
  const rounded = (ms: number): number => Math.round(ms);
  return {
    changes: CHANGES,
    readyMs: rounded(readyMs),
    median: rounded(median(times)),
    slowest: rounded(Math.max(...times)),
  };
});

/** In turn: edited, new, renamed and edited, and the first file renamed. */
async function change(root: string, path: string, i: number, word: string): Promise<void> {
  const text = `The word is ${word}.\n`;
  if (i % 4 === 0) await writeBelow(root, path, text);
  if (i % 4 === 1) await writeBelow(root, namedAt(path, i), text);
  if (i % 4 === 2) {
    await rm(join(root, path));
    await writeBelow(root, namedAt(path, i), text);
  }
  if (i % 4 === 3) await rename(join(root, i === 3 ? "warm.txt" : namedAt("", i - 4)), join(root, namedAt(path, i)));
}

/** Where the i-th change puts what it writes. */
function namedAt(path: string, i: number): string {
  if (i % 4 === 0) return path;
  return i % 4 === 3 ? `warm${i}.txt` : `${path}.new${i}.txt`;
}

async function untilFound(app: App, word: string, path: string): Promise<void> {
  const isFound = async (): Promise<boolean> => {
    const { sources } = await app.query({ text: word, limit: 5, domainId: BENCH_DOMAIN, vectorStoreId: undefined });
    return sources.some(({ text, details }) => text.includes(word) && details?.path === path);
  };
  while (!(await isFound())) await sleep(LOOK_EVERY_MS);
}
