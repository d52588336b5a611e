// `lockstep rename` plans in a dry run, renames as a job, and leaves nothing under the old name.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { DOMAIN, World } from "../engine/world.ts";

const CLI = fileURLToPath(new URL("../../bin/lockstep.mjs", import.meta.url));
const world = await World.open();
after(() => world.close());

test("lockstep rename: a dry run tells, the rename is a job, and the old name is gone", async () => {
  await world.change("add", { path: "a.txt", text: "The axolotl budget is 12 euros." });
  await world.crawl();
  await world.app.close();
  const dry = run("rename", DOMAIN, "NEXT", "--dry-run");
  assert.equal(dry.status, 0, dry.stderr);
  assert.match(dry.stdout, /crawler\/STORY become domains\/NEXT and crawler\/NEXT[\s\S]*nothing was changed/);
  const real = run("rename", DOMAIN, "NEXT");
  assert.equal(real.status, 0, real.stderr);
  assert.match(real.stdout, /Domain 'STORY' is called 'NEXT' now\./);
  const again = run("rename", DOMAIN, "NEXT");
  assert.deepEqual([again.status, again.stderr], [2, "lockstep: Domain 'STORY' does not exist.\n"]);
  assert.match(run("rename", "NEXT", "a/b").stderr, /'domain_id' must be 1 to 64 letters/);
  const query = run("query", "NEXT", "axolotl");
  assert.match(query.stdout, /12 euros/);
  const jobs = await readdir(join(world.storage, "jobs", "domains"));
  assert.ok(jobs.some((name) => /_\[rename\]_\[jb_\d+\]_\[STORY\]\.completed$/.test(name)));
  await world.reopen();
});

function run(...args: string[]) {
  const env = { HOME: world.storage, ...world.settings };
  return spawnSync(process.execPath, [CLI, ...args], { cwd: world.storage, env, encoding: "utf8" });
}
