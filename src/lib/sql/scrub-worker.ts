import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { parentPort, workerData } from "node:worker_threads";
import { isInFile, WordFinder } from "../mask-file.ts";
import type { Scrubbed, ScrubOrder } from "./scrub-sqlite.ts";
import { isBusy } from "./sqlite-database.ts";

/** Writers of other processes give up after 30 s, so none holds a lock for longer. */
const GIVE_UP_MS = 30_000;
const WAIT_MS = 20;

const { paths, words } = workerData as ScrubOrder;
const finder = new WordFinder(words, { within: true });
const scrubbed: Scrubbed = { rewritten: 0, left: [] };
for (const path of paths) await scrub(path);
parentPort?.postMessage(scrubbed);

async function scrub(path: string): Promise<void> {
  const db = new DatabaseSync(path, { timeout: 0 });
  try {
    if (!(await emptyLog(db))) scrubbed.left.push(path);
    if (!finder.isEmpty && !(await isInFile(path, finder))) return;
    await patiently(() => db.exec("VACUUM"));
    scrubbed.rewritten += 1;
    if (!(await emptyLog(db)) && !scrubbed.left.includes(path)) scrubbed.left.push(path);
  } finally {
    db.close();
  }
}

/** Returns false if readers kept the log in use all the time. */
async function emptyLog(db: DatabaseSync): Promise<boolean> {
  const giveUpAtMs = performance.now() + GIVE_UP_MS;
  while (performance.now() < giveUpAtMs) {
    const row = db.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get();
    if (row?.["busy"] === 0) return true;
    await sleep(WAIT_MS);
  }
  return false;
}

async function patiently(act: () => void): Promise<void> {
  for (const giveUpAtMs = performance.now() + GIVE_UP_MS; ; ) {
    try {
      return act();
    } catch (error) {
      if (!isBusy(error) || performance.now() >= giveUpAtMs) throw error;
    }
    await sleep(WAIT_MS);
  }
}
