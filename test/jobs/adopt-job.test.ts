// A reserved job waits for a worker, is adopted once, and has one end.
import assert from "node:assert/strict";
import { once } from "node:events";
import { appendFile } from "node:fs/promises";
import { test } from "node:test";
import { NotFoundError } from "../../src/contracts/errors.ts";
import type { JobId } from "../../src/contracts/ids.ts";
import type { Adoption } from "../../src/jobs/job-runner.ts";
import { createJobRunner } from "../../src/jobs/job-runner.ts";
import {
  CRAWL,
  endlessWork,
  eventsOf,
  FINE,
  heldWork,
  openJobs,
  readAll,
  startChild,
  untilLogged,
} from "./job-fixture.ts";

const PATIENCE = AbortSignal.timeout(600_000);

function adoption(more: Partial<Adoption> = {}): Adoption {
  return { line: "Worker w1 runs the job.", stillMine: async () => true, lost: new AbortController().signal, ...more };
}

const shown = (bytes: Buffer): string[] =>
  eventsOf(bytes).map(({ id, event, data }) => `${id} ${event}${event === "log" ? ` ${data}` : ""}`);

test("a reserved job is there at once, waits for a worker, and is none of this process", async (t) => {
  const jobs = await openJobs(t);
  const id = await jobs.runner.reserve(CRAWL);
  const { name, bytes } = await jobs.file(id);
  assert.match(name, /_\[crawl\]_\[jb_1\]_\[DEMO\]\.running$/);
  assert.deepEqual(shown(bytes), ["1 start_json", "2 log Waiting for a worker."]);
  assert.doesNotMatch(bytes.toString(), /"pid"/);
  const record = await jobs.store.get(id);
  assert.deepEqual([record.state, record.stalled, record.endpoint], ["running", false, CRAWL.endpoint]);
});

test("whoever adopts it goes on in the same file, to one end; those who followed it see all of it", async (t) => {
  const jobs = await openJobs(t);
  const id = await jobs.runner.reserve({ ...CRAWL, dryRun: true });
  const stream = readAll(jobs.store.follow(id, { signal: PATIENCE }));
  const worker = createJobRunner({ jobsFolder: jobs.folder, controlPollMs: 10 });
  const running = await worker.adopt(id, adoption(), async (job) => {
    job.log(`Dry run: ${job.dryRun}`);
    return FINE;
  });
  const record = await running?.done;
  assert.deepEqual(
    [record?.state, record?.result, record?.router, record?.object],
    ["completed", FINE, "crawler", "DEMO"],
  );
  assert.deepEqual(shown(await stream), [
    "1 start_json",
    "2 log Waiting for a worker.",
    "3 log Worker w1 runs the job.",
    "4 log Dry run: true",
    "5 end_json",
  ]);
  assert.ok((await stream).equals((await jobs.file(id)).bytes));
  assert.equal(await worker.adopt(id, adoption(), async () => FINE), undefined);
  await assert.rejects(
    worker.adopt("jb_99" as JobId, adoption(), async () => FINE),
    NotFoundError,
  );
});

test("a waiting job is cancelled at once; nobody adopts it afterwards", async (t) => {
  const jobs = await openJobs(t);
  const id = await jobs.runner.reserve(CRAWL);
  assert.equal(await jobs.store.control(id, "cancel"), `Job '${id}' was cancelled while it waited.`);
  const record = await jobs.store.get(id);
  assert.deepEqual([record.state, record.result?.error], ["cancelled", "Cancelled by user."]);
  assert.equal(await jobs.runner.adopt(id, adoption(), async () => FINE), undefined);
  assert.equal((await jobs.names()).length, 1);
});

test("cancelling and adopting at the same moment: either way there is one end", async (t) => {
  const jobs = await openJobs(t);
  for (let round = 0; round < 5; round++) {
    const id = await jobs.runner.reserve(CRAWL);
    const [running] = await Promise.all([
      jobs.runner.adopt(id, adoption(), endlessWork),
      jobs.store.control(id, "cancel"),
    ]);
    await running?.done;
    const record = await jobs.store.get(id);
    assert.deepEqual([record.state, record.result?.error], ["cancelled", "Cancelled by user."]);
    assert.equal(eventsOf((await jobs.file(id)).bytes).filter(({ event }) => event === "end_json").length, 1);
  }
});

test("an adopted job is paused, resumed and cancelled like any other", async (t) => {
  const jobs = await openJobs(t);
  const id = await jobs.runner.reserve(CRAWL);
  const running = await jobs.runner.adopt(id, adoption(), endlessWork);
  await jobs.store.control(id, "pause");
  await untilLogged(jobs.store, id, "Paused.");
  while ((await jobs.store.get(id)).state !== "paused") await new Promise((resolve) => setImmediate(resolve));
  await jobs.store.control(id, "resume");
  await untilLogged(jobs.store, id, "Resumed.");
  await jobs.store.control(id, "cancel");
  assert.equal((await running?.done)?.state, "cancelled");
});

test("a worker that is stopped leaves the job for the next one, which ends it", async (t) => {
  const jobs = await openJobs(t);
  const id = await jobs.runner.reserve(CRAWL);
  const leaving = createJobRunner({ jobsFolder: jobs.folder, controlPollMs: 10 });
  const running = await leaving.adopt(id, adoption(), endlessWork);
  await untilLogged(jobs.store, id, "Working.");
  await leaving.stop("The worker was stopped.");
  assert.deepEqual([(await running?.done)?.state, (await running?.done)?.endedAt], ["running", ""]);
  assert.equal(await jobs.store.lastLog(id), "Waiting for a worker.");
  const next = await jobs.runner.adopt(id, adoption({ line: "Worker w2 goes on." }), async () => FINE);
  assert.equal((await next?.done)?.state, "completed");
  const events = shown((await jobs.file(id)).bytes);
  assert.deepEqual(events.slice(-3), [
    `${events.length - 2} log Waiting for a worker.`,
    `${events.length - 1} log Worker w2 goes on.`,
    `${events.length} end_json`,
  ]);
});

test("a killed worker's job goes on in the same file, and what it had half written is gone", async (t) => {
  const jobs = await openJobs(t);
  const id = await jobs.runner.reserve(CRAWL);
  const child = startChild(t, ["adopt", jobs.folder, id]);
  await once(child, "message");
  await untilLogged(jobs.store, id, "Working.");
  child.kill("SIGKILL");
  await once(child, "exit");
  await appendFile((await jobs.file(id)).path, "event: log\nid: 5\ndata: half a li");
  const running = await jobs.runner.adopt(id, adoption({ line: "Worker w2 goes on." }), async () => FINE);
  await running?.done;
  assert.deepEqual(shown((await jobs.file(id)).bytes), [
    "1 start_json",
    "2 log Waiting for a worker.",
    "3 log Worker w1 runs the job.",
    "4 log Working.",
    "5 log Worker w2 goes on.",
    "6 end_json",
  ]);
});

test("a worker that lost its job stops, and writes no end", async (t) => {
  const jobs = await openJobs(t);
  const id = await jobs.runner.reserve(CRAWL);
  const lost = new AbortController();
  const running = await jobs.runner.adopt(
    id,
    adoption({ lost: lost.signal, stillMine: async () => false }),
    endlessWork,
  );
  lost.abort();
  await running?.done;
  const held = heldWork();
  const late = await jobs.runner.adopt(id, adoption({ stillMine: async () => assert.fail("no answer") }), held.work);
  held.release(FINE);
  await late?.done;
  assert.equal((await jobs.store.get(id)).state, "running");
  const last = await jobs.runner.adopt(id, adoption(), async () => FINE);
  await last?.done;
  assert.equal(eventsOf((await jobs.file(id)).bytes).filter(({ event }) => event === "end_json").length, 1);
});

test("a job that was paused when its worker was killed stays paused until somebody resumes it", async (t) => {
  const jobs = await openJobs(t);
  const id = await jobs.runner.reserve(CRAWL);
  const child = startChild(t, ["adopt", jobs.folder, id]);
  await once(child, "message");
  await jobs.store.control(id, "pause");
  while ((await jobs.store.get(id)).state !== "paused") await new Promise((resolve) => setImmediate(resolve));
  child.kill("SIGKILL");
  await once(child, "exit");
  let ended = false;
  const running = await jobs.runner.adopt(id, adoption(), async (job) => {
    await job.checkpoint();
    ended = true;
    return FINE;
  });
  await jobs.store.control(id, "resume");
  await running?.done;
  assert.ok(ended);
  assert.match((await jobs.file(id)).name, /\.completed$/);
});
