// A crawl on the command line survives a closed pipe, and ends cleanly when it is interrupted or killed.
import assert from "node:assert/strict";
import type { ChildProcessWithoutNullStreams } from "node:child_process";
import { once } from "node:events";
import { after, before, test } from "node:test";
import type { JobRecord } from "../../src/contracts/job.ts";
import { DOMAIN, World } from "../engine/world.ts";
import { startCommand } from "./run-command.ts";

const FILES = 30;
const CRAWL = ["crawl", DOMAIN, "--mode", "full"];

let world: World;
before(async () => {
  world = await World.open();
  for (let i = 0; i < FILES; i++) {
    await world.change("add", { path: `file${i}.txt`, text: `Report number${i} about gnu${i}.` });
  }
  // Slow enough that the crawl is still under way when the test has seen its first lines.
  await world.fault({ url: "\\$value", times: "always" }, { delayMs: 50 });
});
after(() => world.close());

function start(args: readonly string[]): ChildProcessWithoutNullStreams {
  return startCommand(world.storage, args, world.settings);
}

async function untilDownloading(child: ChildProcessWithoutNullStreams): Promise<void> {
  let seen = "";
  for await (const bytes of child.stdout.iterator({ destroyOnReturn: false })) {
    seen += String(bytes);
    if (/\[ \d+ \/ 30 \] Downloaded/.test(seen)) return;
  }
  assert.fail(`nothing was downloaded: ${seen}`);
}

async function newestJob(): Promise<JobRecord> {
  const [job] = await world.app.jobs.list({ limit: 1 });
  return job ?? assert.fail("there is no job");
}

test("a reader that has seen enough does not stop the crawl", async () => {
  const child = start(CRAWL);
  await untilDownloading(child);
  const ended = once(child, "exit");
  child.stdout.destroy();
  child.stderr.destroy();
  assert.deepEqual(await ended, [0, null]);
  const { state, result } = await newestJob();
  assert.deepEqual([state, result?.ok, result?.error], ["completed", true, ""]);
  assert.deepEqual(await world.contradictions(), []);
});

test("nobody reading the errors does not change how it ends", async () => {
  const child = start(["crawl", "NOPE"]);
  child.stderr.destroy();
  assert.deepEqual(await once(child, "exit"), [2, null]);
});

test("a crawl that was killed is ended by the next command that runs a job", async () => {
  const child = start(CRAWL);
  await untilDownloading(child);
  const { jobId } = await newestJob();
  child.kill("SIGKILL");
  await once(child, "exit");
  assert.equal((await world.app.jobs.get(jobId)).state, "running");
  assert.deepEqual(await once(start(["cleanup-metadata", DOMAIN, "--dry-run"]), "exit"), [0, null]);
  const { state, result } = await world.app.jobs.get(jobId);
  assert.deepEqual([state, result?.error], ["cancelled", "Its process ended before the job did."]);
  assert.equal((await world.crawl()).job.result?.error, "");
});

const presses: [title: string, signals: NodeJS.Signals[], codes: number[]][] = [
  ["Ctrl+C", ["SIGINT"], [130]],
  // npm passes on what the terminal has sent already. Two of a kind may melt into one on their way, these do not,
  // but the one sent last may be heard first.
  ["Ctrl+C that arrives twice", ["SIGINT", "SIGTERM"], [130, 143]],
  ["SIGTERM", ["SIGTERM"], [143]],
];
for (const [title, signals, codes] of presses) {
  test(`${title} cancels the job, and the next crawl completes`, async () => {
    const child = start(CRAWL);
    await untilDownloading(child);
    let rest = "";
    child.stdout.on("data", (bytes: Buffer) => {
      rest += bytes.toString();
    });
    const ended = once(child, "close");
    for (const signal of signals) child.kill(signal);
    const [code, signal] = await ended;
    assert.ok(codes.includes(code) && signal === null, `ended with ${code}, ${signal}`);
    const { jobId, state, result, stalled } = await newestJob();
    assert.deepEqual([state, stalled, result?.error], ["cancelled", false, "Stopped by a signal."]);
    assert.match(rest, new RegExp(`^Job ${jobId} cancelled\\.$`, "m"));
    assert.match(rest, /^Nothing of this crawl is searchable: it ended before its commit/m);
    assert.equal((await world.crawl()).job.result?.error, "");
    assert.deepEqual(await world.contradictions(), []);
  });
}
