// A job whose server or task is lost is ended by a worker, with the reason.
import assert from "node:assert/strict";
import { mkdtemp, rm, utimes } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { CRAWL_TASK, crawlTask } from "../../src/app/jobs.ts";
import { createQueueingRunner, endDeadJobs, forJob } from "../../src/app/queued-jobs.ts";
import { runWorker } from "../../src/app/run-worker.ts";
import { type JobId, parseDomainId } from "../../src/contracts/ids.ts";
import type { JobRecord } from "../../src/contracts/job.ts";
import type { ListedTaskQueue } from "../../src/contracts/queue.ts";
import { crawlRequest } from "../../src/engine/crawl-request.ts";
import { openTaskQueue } from "../../src/queue/open-task-queue.ts";
import { CRAWL, type Jobs, openJobs, readAll } from "../jobs/job-fixture.ts";

const TASK = crawlTask(crawlRequest(parseDomainId("DEMO"), {}));
const PATIENCE = AbortSignal.timeout(600_000);

async function open(t: TestContext): Promise<{ readonly jobs: Jobs; readonly queue: ListedTaskQueue }> {
  const folder = await mkdtemp(join(tmpdir(), "lockstep-queue-"));
  const queue = openTaskQueue({ folder });
  t.after(async () => {
    await queue.close();
    await rm(folder, { recursive: true, force: true });
  });
  return { jobs: await openJobs(t), queue };
}

/** As if nothing had happened to its file for so long. */
async function age(jobs: Jobs, id: JobId, minutes: number): Promise<void> {
  const at = new Date(Date.now() - minutes * 60_000);
  await utimes((await jobs.file(id)).path, at, at);
}

/** A worker that runs until the job has ended. */
async function workUntilEnded(jobs: Jobs, queue: ListedTaskQueue, id: JobId): Promise<JobRecord> {
  const leaving = new AbortController();
  const working = work(jobs, queue, leaving.signal);
  await readAll(jobs.store.follow(id, { signal: PATIENCE }));
  leaving.abort();
  await working;
  return jobs.store.get(id);
}

function work({ runner, store }: Jobs, queue: ListedTaskQueue, signal: AbortSignal): Promise<void> {
  const parts = { queue, runner, jobs: store, crawl: () => assert.fail("no crawl") };
  return runWorker(parts, { name: "w", jobsAtOnce: 1, log: () => undefined, pollMs: 5 }, signal);
}

test("a job whose server was killed before it was queued is ended by a worker; those that are queued, or new, wait", async (t) => {
  const { jobs, queue } = await open(t);
  const queueing = createQueueingRunner(jobs.runner, jobs.store, queue);
  const lost = await jobs.runner.reserve(CRAWL);
  const { jobId: queued } = await queueing.start({ ...CRAWL, task: { ...TASK, kind: "of nobody" } }, () =>
    assert.fail("it runs here"),
  );
  const fresh = await jobs.runner.reserve(CRAWL);
  for (const id of [lost, queued]) await age(jobs, id, 2);
  const record = await workUntilEnded(jobs, queue, lost);
  assert.deepEqual(
    [record.state, record.result?.error],
    ["cancelled", "It was never queued, or its task was lost. Start it again."],
  );
  for (const id of [queued, fresh]) assert.equal((await jobs.store.get(id)).endedAt, "");
  await queueing.stop("Test over.");
});

test("a task that cannot be read ends its job, with the reason", async (t) => {
  const { jobs, queue } = await open(t);
  const id = await jobs.runner.reserve(CRAWL);
  await queue.enqueue(forJob({ kind: CRAWL_TASK, payload: { request: { domainId: "../x" } } }, id));
  const record = await workUntilEnded(jobs, queue, id);
  assert.deepEqual([record.state, record.result?.ok], ["completed", false]);
  assert.match(record.result?.error ?? "", /must be 1 to 64 letters/);
  assert.deepEqual(await queue.list(), []);
});

test("a task that failed too often ends its job, with what went wrong last", async (t) => {
  const { jobs, queue } = await open(t);
  const id = await jobs.runner.reserve(CRAWL);
  await queue.enqueue(forJob(TASK, id));
  for (let attempt = 1; attempt <= 5; attempt++) {
    const claimed = await queue.claim([CRAWL_TASK], "w", 60_000);
    assert.ok(claimed && (await queue.fail(claimed, { error: "ENOSPC: no space left", delayMs: 0 })));
  }
  const record = await workUntilEnded(jobs, queue, id);
  assert.equal(record.result?.error, "Given up after 5 attempts: ENOSPC: no space left");
  assert.deepEqual(await queue.list(), []);
});

test("a server that starts leaves a silent job to the worker who will come, as long as its task is queued", async (t) => {
  const { jobs, queue } = await open(t);
  const adoption = { line: "Worker w runs the job.", lost: PATIENCE, stillMine: async () => false };
  const ids = [await jobs.runner.reserve(CRAWL), await jobs.runner.reserve(CRAWL)] as const;
  await queue.enqueue(forJob(TASK, ids[0]));
  // What a worker that was killed leaves behind: a log that goes on and has no end.
  for (const id of ids) {
    const running = await jobs.runner.adopt(id, adoption, async () => ({ ok: true, error: "", data: {} }));
    await running?.done;
    await age(jobs, id, 6);
    assert.equal((await jobs.store.get(id)).stalled, true);
  }
  await endDeadJobs(jobs.store, queue, assert.fail);
  assert.equal((await jobs.store.get(ids[0])).endedAt, "");
  const dead = await jobs.store.get(ids[1]);
  assert.deepEqual([dead.state, dead.result?.error], ["cancelled", "Its process ended before the job did."]);
});

test("a worker whose runner takes nothing on hands the task back, and does not ask for it again and again", async (t) => {
  const { jobs, queue } = await open(t);
  await queue.enqueue(forJob(TASK, await jobs.runner.reserve(CRAWL)));
  await jobs.runner.stop("Stopping.");
  const handedBack = Promise.withResolvers<void>();
  let claims = 0;
  const watched: ListedTaskQueue = {
    ...queue,
    claim(...asked) {
      claims++;
      return queue.claim(...asked);
    },
    async handBack(task) {
      const done = await queue.handBack(task);
      handedBack.resolve();
      return done;
    },
  };
  const leaving = new AbortController();
  const working = work(jobs, watched, leaving.signal);
  await handedBack.promise;
  // Without a pause it would claim the task again in the next turns of the loop.
  for (let turn = 0; turn < 500; turn++) await new Promise(setImmediate);
  leaving.abort();
  await working;
  assert.equal(claims, 1);
  assert.deepEqual(
    (await queue.list()).map(({ attempts }) => attempts),
    [0],
  );
});
