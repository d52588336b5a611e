// A plan is made on the command line, looked at as a file, and applied by another process.
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { DOMAIN, World } from "../engine/world.ts";
import type { Called } from "./call-here.ts";
import { startCommands } from "./start-commands.ts";

const world = await World.open();
const folder = await mkdtemp(join(tmpdir(), "lockstep-plan-"));
const commands = startCommands(() => world.storage);
after(async () => {
  await commands.end();
  await world.close();
  await rm(folder, { recursive: true, force: true });
});

const file = join(folder, "story.plan.jsonl");
const run = (...args: string[]): Promise<Called> => commands.call(args, world.settings);

test("crawl --plan writes the plan and changes nothing; apply does it, names what moved, and --strict refuses", async () => {
  await world.change("add", { path: "a.txt", text: "The axolotl budget is 12 euros." });
  await world.change("add", { path: "b.txt", text: "About the bilby." });
  const planned = await run("crawl", DOMAIN, "--plan", file);
  assert.deepEqual([planned.code, planned.err], [0, ""]);
  assert.match(
    planned.out,
    /^Plan: download 2, embed 2; \d+ bytes to fetch; 2 documents to embed, about \d+ tokens; money: none: /m,
  );
  assert.ok(planned.out.includes(`The plan is in '${file}'.`));
  assert.deepEqual(await world.disk(), []);
  const [head = ""] = (await readFile(file, "utf8")).split("\n");
  assert.equal(JSON.parse(head).domain_id, DOMAIN);

  await world.change("add", { path: "late.txt", text: "About the quokka." });
  const strict = await run("apply", file, "--strict");
  assert.equal(strict.code, 1);
  assert.match(strict.err, /^lockstep: 1 change is not as planned \(the log names them\), so nothing was done/);
  assert.match(strict.out, /^Not as planned in 'docs', download: 'late\.txt': new at the source\.$/m);
  assert.deepEqual(await world.disk(), []);

  const dry = await run("apply", file, "--dry-run");
  assert.deepEqual([dry.code, dry.err], [0, ""]);
  assert.deepEqual(await world.disk(), []);

  const applied = await run("apply", file);
  assert.deepEqual([applied.code, applied.err], [0, ""]);
  assert.match(applied.out, /^docs: files 2 added, 1 skipped; index 2 added$/m);
  assert.match(applied.out, /^1 change not as planned, and left alone: the log names them\.$/m);
  assert.deepEqual(await world.disk(), ["a.txt", "b.txt"]);
  assert.deepEqual(await world.found("axolotl budget"), ["a.txt"]);

  const again = await run("apply", file);
  assert.deepEqual([again.code, again.err], [0, ""]);
  assert.match(again.out, /^2 planned changes were done before\.$/m);
  assert.equal((await run("crawl", DOMAIN)).code, 0);
  assert.deepEqual(await world.contradictions(), []);
});

test("what is no plan, and a plan that is not there, are refused without a job", async () => {
  const jobs = async () => (await run("crawl", DOMAIN, "--dry-run")).out.match(/Job (jb_\d+)/)?.[1];
  const before = Number((await jobs())?.slice(3));
  await writeFile(join(folder, "list.txt"), "milk\n");
  const cases: readonly (readonly [string, RegExp])[] = [
    ["nowhere.jsonl", /There is no file 'nowhere\.jsonl', and it is no plan id like plan_/],
    ["plan_0123456789abcdef", /There is no plan 'plan_0123456789abcdef'/],
    [join(folder, "list.txt"), /Plan '.*list\.txt', line 1: it is no JSON object, so the file is damaged or no plan/],
    [folder, /read '.*': .*EISDIR/],
  ];
  for (const [plan, error] of cases) {
    const { code, err } = await run("apply", plan);
    assert.equal(code, 2, `${plan}: ${err}`);
    assert.match(err, error);
  }
  const exists = await run("crawl", DOMAIN, "--plan", file);
  assert.equal(exists.code, 2);
  assert.match(exists.err, /exists\. Name another file, or delete it\./);
  const swap = await run("crawl", DOMAIN, "--plan", join(folder, "new"), "--swap", "--mode", "full");
  assert.equal(swap.code, 2);
  assert.equal(Number((await jobs())?.slice(3)), before + 1);
});
