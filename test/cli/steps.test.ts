// Download, process and embed one by one do the same as a crawl.
import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { DOMAIN, World } from "../engine/world.ts";
import type { Called } from "./call-here.ts";
import { startCommands } from "./start-commands.ts";

const world = await World.open();
const commands = startCommands(() => world.storage);
after(async () => {
  await commands.end();
  await world.close();
});

test("the steps one by one come to the same as a crawl, each as a job of its own name", async () => {
  await world.change("add", { path: "a.txt", text: "The axolotl budget is 12 euros." });
  const download = await run("download", DOMAIN);
  assert.match(download.out, /^docs: files 1 added$/m);
  assert.deepEqual(await world.disk(), ["a.txt"]);
  const processed = await run("process", DOMAIN);
  assert.match(processed.out, /^docs: documents /m);
  const embed = await run("embed", DOMAIN);
  assert.match(embed.out, /^docs: index 1 added$/m);
  const dry = await run("embed", DOMAIN, "--dry-run", "--mode", "full");
  assert.match(dry.out, /^docs: index 1 changed$/m);
  assert.deepEqual(await world.found("axolotl budget"), ["a.txt"]);
  assert.deepEqual(await world.contradictions(), []);
  const cleanup = await run("cleanup-metadata", DOMAIN, "--dry-run");
  assert.match(cleanup.out, /Would remove 0 entries of files_metadata\.json; 1 remains\./);
  const maintenance = await run("maintenance", DOMAIN, "--dry-run");
  assert.match(maintenance.out, /There is nothing to clean up\./);
  const crawl = await run("crawl", DOMAIN);
  assert.match(crawl.out, /^Report crawls\/[\w-]+_STORY_all_incremental$/m);

  for (const { code, err } of [download, processed, dry, embed, cleanup, maintenance, crawl])
    assert.deepEqual([code, err], [0, ""]);
  const jobs = await readdir(join(world.storage, "jobs", "crawler"));
  assert.deepEqual(jobs.map((name) => /_\[([a-z_]+)\]_\[jb_\d+\]_\[STORY\]\.completed$/.exec(name)?.[1]).sort(), [
    "cleanup_metadata",
    "crawl",
    "download_data",
    "embed_data",
    "embed_data",
    "process_data",
  ]);
});

test("embedding into a store that does not exist is refused without a job", async () => {
  const before = await readdir(join(world.storage, "jobs", "crawler"));
  const { code, err } = await run("embed", DOMAIN, "--vector-store", "vs_nope");
  assert.equal(code, 2);
  assert.match(err, /^lockstep: The vector store 'vs_nope' does not exist\./);
  assert.deepEqual(await readdir(join(world.storage, "jobs", "crawler")), before);
});

function run(...args: string[]): Promise<Called> {
  return commands.call(args, world.settings);
}
