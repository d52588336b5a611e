import assert from "node:assert/strict";
import { setTimeout } from "node:timers/promises";
import { ServerProcess } from "../test/engine/server-process.ts";
import { BRISK, DOMAIN } from "../test/engine/world.ts";
import { addProperties } from "../test/stories/claims.ts";
import { Random } from "../test/stories/random.ts";
import { openStage, type Stage } from "../test/stories/stage.ts";
import type { Soak } from "./soak.ts";

const FILES = 30;
/** Files that the second crawl has to fetch: edited and new ones. */
const TO_FETCH = 14;

/** SIGKILL at a moment chosen by the seed, in a crawl that has everything to do; the next crawl must make it good. */
export const killSoak: Soak = {
  count: 100,
  async play(seed) {
    const random = new Random(seed);
    const stage = await openStage({ pace: BRISK });
    try {
      await prepare(stage);
      await stage.world.fault({ url: "\\$value", times: "always" }, { delayMs: 10 });
      const moment = await killSomewhere(stage, random);
      await stage.world.control("DELETE", "faults");
      await stage.forgetDownloads();
      await stage.tryCrawl();
      await stage.inStep({ failed: ["broken.pdf"] });
      const downloads = await stage.downloads();
      assert.ok(downloads <= TO_FETCH + 1, `unchanged files are not downloaded again: ${downloads} downloads`);
      await assertProperties(stage);
      return moment;
    } finally {
      await stage.close();
    }
  },
};

async function prepare(stage: Stage): Promise<void> {
  for (let i = 0; i < FILES; i++)
    await stage.change("add", { path: `folder${i % 3}/file${i}.txt`, text: `Report number${i} about gnu${i}.` });
  await stage.crawl();
  for (let i = 0; i < FILES; i++) await addProperties(stage, `file${i}.txt`, { keeper: `keeper of ${i}` });
  await stage.world.control("POST", "clock", { at: "2027-01-01T00:00:00Z" });
  for (let i = 0; i < 6; i++)
    await stage.change("rename", { path: `folder${i % 3}/file${i}.txt`, name: `renamed${i}.txt` });
  for (let i = 6; i < 11; i++) await stage.change("delete", { path: `folder${i % 3}/file${i}.txt` });
  for (let i = 11; i < 20; i++)
    await stage.change("update", { path: `folder${i % 3}/file${i}.txt`, text: `Edited yak${i}.` });
  for (let i = 0; i < TO_FETCH - 9; i++)
    await stage.change("add", { path: `new${i}.txt`, text: `Brand new ibex${i}.` });
  await stage.change("add", { path: "broken.pdf", text: "no pdf" });
}

/** After some line of the job's log, and a little later: between any two things a crawl does. */
async function killSomewhere(stage: Stage, random: Random): Promise<string> {
  const [lines, delayMs] = [random.below(60), random.below(25)];
  const server = await ServerProcess.start(stage.world.settings);
  const seen = await server.crawlUntil(DOMAIN, {
    test: (text) => text.split("event: log").length > lines,
  });
  await setTimeout(delayMs);
  await server.end("SIGKILL");
  const last = seen.trimEnd().split("data: ").at(-1)?.split("\n")[0] ?? "";
  return `killed ${delayMs} ms after '${last.slice(0, 80)}'`;
}

/** Users' own fields are on the entry of what is searched now, renamed or edited. */
async function assertProperties(stage: Stage): Promise<void> {
  const entries = await stage.metadata();
  for (const row of await stage.docs.map("vectorstore_map")) {
    const number = /^(?:file|renamed)(\d+)\.txt$/.exec(row["filename"] ?? "")?.[1];
    if (number === undefined) continue;
    const entry = entries.find((each) => each["openai_file_id"] === row["openai_file_id"]);
    assert.equal(entry?.["keeper"], `keeper of ${number}`, `the custom property of '${row["filename"]}'`);
  }
}
