import assert from "node:assert/strict";
import { closeSync, openSync } from "node:fs";
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Random } from "../stories/random.ts";
import { assertAsPlanned, readMaps } from "./as-planned.ts";
import { FolderAuthor } from "./folder-author.ts";
import { killChild } from "./folder-killer.ts";
import { FolderOracle, hashOf } from "./folder-oracle.ts";
import { FOLDERS, type FolderCrawl, FolderStage } from "./folder-stage.ts";

const DEEDS_A_ROUND = 6;
const FILES = 12;
const GRACE_HOURS = 25;

/**
 * People, locks, kills, a clock that jumps and dry runs by chance, with the oracle asked after every crawl that came to its
 * end; then a quiet end in which everything that is gone is purged. Throws with the whole history when something is wrong. `allPlanned`: a
 * dry run precedes every crawl.
 */
export async function playFolderHistory(seed: number, rounds = 8, { allPlanned = false } = {}): Promise<string> {
  const random = new Random(seed);
  const record: string[] = [];
  const mayLock = becomeNobody();
  const stage = await FolderStage.open({ source: { gitignore: true, limits: GENEROUS } });
  const author = new FolderAuthor(stage.root, random, { mayLock });
  const oracle = new FolderOracle(stage, author.files);
  try {
    await stage.write(".gitignore", "ignored/\n");
    for (let i = 0; i < FILES; i++) record.push(await author.create());
    await crawlAndAsk(stage, oracle, record);
    for (let round = 0; round < rounds; round++) {
      for (let i = random.below(DEEDS_A_ROUND); i >= 0; i--) record.push(await author.act());
      if (random.chance(0.3)) record.push(jump(stage, random));
      const plan = random.chance(allPlanned ? 1 : 0.5) ? await dryRun(stage) : undefined;
      if (plan) record.push(`dry run: ${plan.job.result?.error || "ok"}`);
      if (random.chance(0.15)) record.push(await kill(stage, oracle, random));
      else await crawlAndAsk(stage, oracle, record, { thorough: !plan && random.chance(0.15), plan });
    }
    await endQuietly(stage, author, oracle, record);
    return `${oracle.asked} identities asked for`;
  } catch (error) {
    throw new Error(`history ${seed}:\n${record.map((line) => `  ${line}`).join("\n")}`, { cause: error });
  } finally {
    await author.unlockAll();
    await stage.close();
    becomeSomebody();
  }
}

export const GENEROUS = { maxRemovals: 1000, maxRemovalsPercent: 100, allowEmpty: true };
const NOBODY = 65534;

/** Histories that are being played in this process. */
let playing = 0;

/** Whether another user can read the code that histories start processes with. */
let canBeNobody: boolean | undefined;

/** To the superuser no file is closed. Returns whether files can be closed at all. */
function becomeNobody(): boolean {
  playing += 1;
  if (process.platform === "win32" || canBeNobody === false) return false;
  if (process.geteuid?.() !== 0) return true;
  process.seteuid?.(NOBODY);
  canBeNobody = [process.execPath, import.meta.filename].every(mayRead);
  if (canBeNobody) return true;
  process.seteuid?.(0);
  process.stderr.write(
    "Files that may not be read are left out of the histories: to root none is, and others cannot read this checkout.\n",
  );
  return false;
}

function mayRead(path: string): boolean {
  try {
    closeSync(openSync(path, "r"));
    return true;
  } catch {
    return false;
  }
}

function becomeSomebody(): void {
  playing -= 1;
  if (playing === 0 && process.getuid?.() === 0) process.seteuid?.(0);
}

export async function crawlAndAsk(
  stage: FolderStage,
  oracle: FolderOracle,
  record: string[],
  { thorough = false, plan }: { readonly thorough?: boolean; readonly plan?: FolderCrawl | undefined } = {},
): Promise<void> {
  oracle.beforeLook();
  const before = await readMaps(stage.app, FOLDERS);
  const { job, result, source, log } = await stage.tryCrawl(thorough ? { checksum: true } : {});
  record.push(`crawl${thorough ? " with checksums" : ""}: ${job.result?.error || "ok"}`);
  assert.ok(source?.complete, `the crawl came to no end:\n${log}`);
  if (plan?.source) assertAsPlanned(plan.result, result, before, await readMaps(stage.app, FOLDERS));
  await oracle.afterLook();
}

function jump(stage: FolderStage, random: Random): string {
  const hours = random.chance(0.2) ? -random.below(10) : random.below(80);
  stage.later(hours);
  return `the clock jumps by ${hours} hours`;
}

async function kill(stage: FolderStage, oracle: FolderOracle, random: Random): Promise<string> {
  oracle.beforeLook();
  const moment = await killChild(stage, "crawl", { lines: random.below(40), ms: random.below(30) });
  await oracle.afterStop();
  return `crawl: ${moment}`;
}

/** Leaves a job file, and nothing else. */
async function dryRun(stage: FolderStage): Promise<FolderCrawl> {
  const before = await stateOf(stage);
  const plan = await stage.tryCrawl({}, { dryRun: true });
  assert.deepEqual(await stateOf(stage), before, "a dry run changes nothing");
  return plan;
}

async function stateOf({ storage }: FolderStage): Promise<Record<string, string>> {
  const state: Record<string, string> = {};
  for (const top of ["crawler", "domains"]) {
    for (const entry of await readdir(join(storage, top), { recursive: true })) {
      const path = join(storage, top, entry);
      // Closing a file drops the locks that this very process has on it: a database is only ever read by SQLite.
      if (/ledger\.sqlite(-wal|-shm)?$/.test(entry)) state["ledger"] = rowsOf(path.replace(/-(wal|shm)$/, ""));
      else if ((await stat(path)).isFile()) state[entry] = hashOf(await readFile(path, "latin1"));
    }
  }
  return state;
}

function rowsOf(file: string): string {
  const database = new DatabaseSync(file);
  try {
    const tables = database.prepare("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").all();
    return JSON.stringify(tables.map(({ name }) => [name, database.prepare(`SELECT * FROM "${name}"`).all()]));
  } finally {
    database.close();
  }
}

async function endQuietly(
  stage: FolderStage,
  author: FolderAuthor,
  oracle: FolderOracle,
  record: string[],
): Promise<void> {
  record.push(await author.unlockAll());
  await crawlAndAsk(stage, oracle, record);
  stage.later(GRACE_HOURS);
  for (let run = 0; run < 3; run++) await crawlAndAsk(stage, oracle, record);
  await stage.pushOutGenerations();
  await crawlAndAsk(stage, oracle, record);
  const missing = (await stage.manifest()).filter(({ status }) => status === "missing" || status === "error");
  assert.deepEqual(missing, [], "the grace of all that is gone is over");
  const { source } = await stage.tryCrawl();
  const { added, changed, moved, removed } = source.download;
  assert.deepEqual([added, changed, moved, removed], [0, 0, 0, 0], "there is nothing left to do");
}
