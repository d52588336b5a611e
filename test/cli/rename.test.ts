// `lockstep rename` plans in a dry run, renames as a job, and leaves nothing under the old name.
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

test("lockstep rename: a dry run tells, the rename is a job, and the old name is gone", async () => {
  await world.change("add", { path: "a.txt", text: "The axolotl budget is 12 euros." });
  await world.crawl();
  await world.app.close();
  const dry = await run("rename", DOMAIN, "NEXT", "--dry-run");
  assert.equal(dry.code, 0, dry.err);
  assert.match(dry.out, /crawler\/STORY become domains\/NEXT and crawler\/NEXT[\s\S]*nothing was changed/);
  const real = await run("rename", DOMAIN, "NEXT");
  assert.equal(real.code, 0, real.err);
  assert.match(real.out, /Domain 'STORY' is called 'NEXT' now\./);
  const again = await run("rename", DOMAIN, "NEXT");
  assert.deepEqual([again.code, again.err], [2, "lockstep: Domain 'STORY' does not exist.\n"]);
  assert.match((await run("rename", "NEXT", "a/b")).err, /'domain_id' must be 1 to 64 letters/);
  const query = await run("query", "NEXT", "axolotl");
  assert.match(query.out, /12 euros/);
  const jobs = await readdir(join(world.storage, "jobs", "domains"));
  assert.ok(jobs.some((name) => /_\[rename\]_\[jb_\d+\]_\[STORY\]\.completed$/.test(name)));
  await world.reopen();
});

function run(...args: string[]): Promise<Called> {
  return commands.call(args, world.settings);
}
