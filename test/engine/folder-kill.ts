import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Random } from "../stories/random.ts";
import { FolderAuthor } from "./folder-author.ts";
import { MAINTENANCE } from "./folder-child.ts";
import { crawlAndAsk, GENEROUS } from "./folder-history.ts";
import { killChild } from "./folder-killer.ts";
import { FolderOracle } from "./folder-oracle.ts";
import { FolderStage } from "./folder-stage.ts";

const FILES = 20;
const DEEDS = 15;
const GRACE_RUNS = 3;
const GRACE_HOURS = 25;

/**
 * A folder in which much has happened, some of it long ago: maintenance has to purge and to clean up, a crawl to fetch, move,
 * remove and purge. Each is killed at a moment that the seed chooses; the next run must leave everything in step.
 */
export async function playFolderKill(seed: number): Promise<string> {
  const random = new Random(seed);
  const record: string[] = [];
  const stage = await FolderStage.open({ source: { gitignore: true, limits: GENEROUS } });
  const author = new FolderAuthor(stage.root, random, { mayLock: false });
  const oracle = new FolderOracle(stage, author.files);
  const act = async (): Promise<void> => {
    for (let i = 0; i < DEEDS; i++) record.push(await author.act());
  };
  try {
    await stage.write(".gitignore", "ignored/\n");
    for (let i = 0; i < FILES; i++) record.push(await author.create());
    await crawlAndAsk(stage, oracle, record);
    await act();
    for (let run = 0; run < GRACE_RUNS; run++) await crawlAndAsk(stage, oracle, record);
    stage.later(GRACE_HOURS);
    await stage.pushOutGenerations();
    record.push(`maintenance: ${await killMaintenance(stage, random)}`);
    await maintainToTheEnd(stage, oracle);
    await act();
    oracle.beforeLook();
    record.push(`crawl: ${await killChild(stage, "crawl", { lines: random.below(40), ms: random.below(25) })}`);
    await crawlAndAsk(stage, oracle, record);
    return record.filter((line) => /^(maintenance|crawl): .*kill/.test(line)).join("; ");
  } catch (error) {
    throw new Error(`kill ${seed}:\n${record.map((line) => `  ${line}`).join("\n")}`, { cause: error });
  } finally {
    await stage.close();
  }
}

/** Besides documents to purge, it finds what earlier kills may have left. */
async function killMaintenance(stage: FolderStage, random: Random): Promise<string> {
  for (const folder of ["knowledge_base/documents/doc_nobodys", ".staging/doc_nobodys"]) {
    await mkdir(join(stage.folder, folder), { recursive: true });
    await writeFile(join(stage.folder, folder, "content.md"), "Of nobody.\n");
  }
  return await killChild(stage, "maintenance", { lines: random.below(8), ms: random.below(25) });
}

async function maintainToTheEnd(stage: FolderStage, oracle: FolderOracle): Promise<void> {
  const { job } = await stage.maintain(MAINTENANCE);
  assert.equal(job.result?.error, "");
  const missing = (await stage.manifest()).filter(({ status }) => status === "missing");
  assert.deepEqual(missing, [], "the grace of all that is gone is over");
  await oracle.afterLook();
}
