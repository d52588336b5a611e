// A server that starts completes what was interrupted and makes up for a crawl that was due.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, readdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { DOMAIN, World } from "../engine/world.ts";
import { openTestLedgers } from "../ledger/open-test-ledgers.ts";

const CLI = fileURLToPath(new URL("../../bin/lockstep.mjs", import.meta.url));
const world = await World.open({ domain: { schedule: "0 2 * * *" } });
after(() => world.close());

test("a server that starts completes what was interrupted, and makes up for a crawl that was due", async (t) => {
  await world.change("add", { path: "a.txt", text: "The axolotl budget is 12 euros." });
  await world.crawl();
  await world.app.close();
  const domains = join(world.storage, "domains");
  const ledgers = openTestLedgers(join(world.storage, "crawler"));
  await ledgers.schedules.put(DOMAIN, { schedule: "0 2 * * *", checkedAt: new Date("2026-01-15T02:00:00Z") });
  await ledgers.close();
  // As a rename leaves it that was killed as soon as the domain had its new name.
  await mkdir(join(domains, ".lockstep", "renames"), { recursive: true });
  await writeFile(join(domains, ".lockstep", "renames", `${DOMAIN}~NEXT`), "");
  await rename(join(domains, DOMAIN), join(domains, "NEXT"));

  const env = { PATH: process.env["PATH"] ?? "", ...world.settings };
  const server = spawn(process.execPath, [CLI, "serve", "--port", "0"], { env });
  t.after(() => server.kill("SIGKILL"));
  let output = "";
  for (const stream of [server.stdout, server.stderr]) {
    stream.on("data", (bytes: Buffer) => {
      output += bytes.toString();
    });
  }
  while (!/scheduled crawl of 'NEXT' as job/.test(output)) {
    assert.equal(server.exitCode, null, output);
    await once(server.stdout, "data");
  }
  assert.match(output, /Readers of files: They /);
  const url = /listens on (\S+)/.exec(output)?.[1] ?? assert.fail(output);
  const jobId = /as job '(jb_\d+)'/.exec(output)?.[1];
  const job = await (await fetch(`${url}/v2/jobs/monitor?job_id=${jobId}&format=stream`)).text();
  assert.match(job, /event: end_json[\s\S]*"ok": ?true/, job);
  const answer = (await (await fetch(`${url}/v2/domains?format=json`)).json()) as { data: { domain_id: string }[] };
  assert.deepEqual(
    answer.data.map(({ domain_id }) => domain_id),
    ["NEXT"],
  );
  assert.deepEqual(await readdir(join(domains, ".lockstep", "renames")), []);
  assert.equal(existsSync(join(world.storage, "crawler", DOMAIN)), false);
  // Node would open its debugger, and whoever reaches that is the server.
  server.kill("SIGUSR1");
  assert.equal((await fetch(`${url}/health`)).status, 200);
  server.kill("SIGTERM");
  assert.deepEqual(await once(server, "exit"), [0, null], output);
  assert.doesNotMatch(output, /Debugger/);
  await world.reopen();
});
