// Followers of a job get its file byte for byte, live or late.
import assert from "node:assert/strict";
import { appendFile, rename, writeFile } from "node:fs/promises";
import { test } from "node:test";
import type { JobId } from "../../src/contracts/ids.ts";
import { createJobStore } from "../../src/jobs/job-store.ts";
import { parseSseEvents } from "../../src/lib/sse.ts";
import { CRAWL, eventsOf, FINE, heldWork, openJobs, readAll, untilLogged } from "./job-fixture.ts";

const PATIENCE = AbortSignal.timeout(600_000);

test("what a follower gets is the file, byte for byte: live, late, from another store, through renames", async (t) => {
  const jobs = await openJobs(t);
  const go = Promise.withResolvers<void>();
  let wasPaused = false;
  const { jobId, done } = await jobs.runner.start(CRAWL, async (job) => {
    await go.promise;
    for (let i = 1; i <= 3000; i++) {
      job.log(`[ ${i} / 3000 ] 'Überblick ${i}.docx' ${"x".repeat(i % 300)}`);
      await job.checkpoint();
      if (i % 300 === 0) await new Promise((resolve) => setImmediate(resolve));
      // The request to pause is noticed by and by: on a busy machine later than the last line.
      while (i === 2000 && !wasPaused)
        await job.checkpoint().then(() => new Promise((resolve) => setImmediate(resolve)));
    }
    return { ...FINE, data: { text: "y".repeat(1_000_000) } };
  });
  const elsewhere = createJobStore(jobs.folder);
  const early = [jobs.store, jobs.store, elsewhere].map((store) => readAll(store.follow(jobId, { signal: PATIENCE })));
  await jobs.store.control(jobId, "pause");
  go.resolve();
  await untilLogged(jobs.store, jobId, "Paused.");
  wasPaused = true;
  while ((await jobs.store.get(jobId)).state !== "paused") await new Promise((resolve) => setImmediate(resolve));
  const middle = readAll(elsewhere.follow(jobId, { signal: PATIENCE }));
  await jobs.store.control(jobId, "resume");
  await done;
  const { bytes } = await jobs.file(jobId);
  const late = readAll(elsewhere.follow(jobId, { signal: PATIENCE }));
  for (const got of await Promise.all([...early, middle, late])) assert.ok(got.equals(bytes));
  assert.ok(bytes.length > 1_000_000);
});

test("hundreds follow one job, whole events only", async (t) => {
  const jobs = await openJobs(t);
  const go = Promise.withResolvers<void>();
  const { jobId, done } = await jobs.runner.start(CRAWL, async (job) => {
    await go.promise;
    for (let i = 1; i <= 20; i++) {
      job.log(`[ ${i} / 20 ] more`);
      await new Promise((resolve) => setImmediate(resolve));
    }
    return FINE;
  });
  const followers = Array.from({ length: 300 }, async () => {
    const chunks: Uint8Array[] = [];
    for await (const chunk of jobs.store.follow(jobId, { signal: PATIENCE })) {
      assert.ok(Buffer.from(chunk).toString().startsWith("event: "));
      assert.ok(Buffer.from(chunk).toString().endsWith("\n\n"));
      chunks.push(chunk);
    }
    return Buffer.concat(chunks);
  });
  go.resolve();
  await done;
  const { bytes } = await jobs.file(jobId);
  for (const got of await Promise.all(followers)) assert.ok(got.equals(bytes));
});

test("after an event there come exactly the events after it", async (t) => {
  const jobs = await openJobs(t);
  const { jobId, done } = await jobs.runner.start(CRAWL, async (job) => {
    for (let i = 2; i <= 9; i++) job.log(`event: log ${i} id: 1`);
    return FINE;
  });
  await done;
  const all = (await jobs.file(jobId)).bytes;
  for (let afterEvent = 0; afterEvent <= 11; afterEvent++) {
    const got = await readAll(jobs.store.follow(jobId, { afterEvent, signal: PATIENCE }));
    assert.deepEqual(
      eventsOf(got).map(({ id }) => Number(id)),
      Array.from({ length: Math.max(0, 10 - afterEvent) }, (_, i) => afterEvent + 1 + i),
    );
    assert.ok(all.subarray(all.length - got.length).equals(got));
  }
});

test("the same warning is in the log once, and how often it came again; progress and all else as it comes", async (t) => {
  const jobs = await openJobs(t);
  const { jobId, done } = await jobs.runner.start(CRAWL, async (job) => {
    for (let i = 1; i <= 3; i++) {
      job.log("WARNING: the disk is slow");
      job.log(`[ ${i} / 3 ] a.txt...`);
      job.log("In step.");
    }
    job.log("ERROR: once");
    return FINE;
  });
  await done;
  const said = eventsOf((await jobs.file(jobId)).bytes).flatMap(({ event, data }) => (event === "log" ? [data] : []));
  const rounds = [1, 2, 3].flatMap((i) => [`[ ${i} / 3 ] a.txt...`, "In step."]);
  const slow = "WARNING: the disk is slow";
  assert.deepEqual(said, [slow, ...rounds, "ERROR: once", `${slow} (2 more times)`]);
});

test("a follower leaves with its signal and does not disturb the others", async (t) => {
  const jobs = await openJobs(t);
  const held = heldWork();
  const { jobId, done } = await jobs.runner.start(CRAWL, held.work);
  const abort = new AbortController();
  const stays = readAll(jobs.store.follow(jobId, { signal: PATIENCE }));
  const leaves = readAll(jobs.store.follow(jobId, { signal: abort.signal }));
  await untilLogged(jobs.store, jobId, "Working.");
  abort.abort();
  assert.ok(!eventsOf(await leaves).some(({ event }) => event === "end_json"));
  held.release(FINE);
  await done;
  assert.ok((await stays).equals((await jobs.file(jobId)).bytes));
});

test("the file of a dead process is followed to its last whole event, after force to its end", async (t) => {
  const jobs = await openJobs(t);
  const { jobId, done } = await jobs.runner.start(CRAWL, async (job) => {
    job.log("One.");
    return FINE;
  });
  await done;
  const { path, bytes } = await jobs.file(jobId);
  const whole = bytes.subarray(0, bytes.indexOf("event: end_json"));
  const crashed = path.replace(".completed", ".running");
  await rename(path, crashed);
  await writeFile(crashed, asIfDead(whole));
  await appendFile(crashed, "event: end_json\nid: 3\ndata: {");
  assert.equal((await jobs.store.get(jobId)).stalled, true);
  const got = await readAll(jobs.store.follow(jobId, { signal: PATIENCE }));
  assert.deepEqual(
    eventsOf(got).map(({ event }) => event),
    ["start_json", "log"],
  );
  assert.ok(got.toString().endsWith("data: One.\n\n"));
  await jobs.store.control(jobId, "cancel", { force: true });
  const after = await readAll(jobs.store.follow(jobId, { signal: PATIENCE }));
  assert.ok(after.equals((await jobs.file(jobId)).bytes));
  assert.deepEqual(
    eventsOf(after).map(({ id, event }) => `${id} ${event}`),
    ["1 start_json", "2 log", "3 end_json"],
  );
});

test("what a writer thought dead adds after the end is not served", async (t) => {
  const jobs = await openJobs(t);
  const { jobId, done } = await jobs.runner.start(CRAWL, async () => FINE);
  await done;
  const { path, bytes } = await jobs.file(jobId);
  await appendFile(path, "event: log\nid: 3\ndata: I am back.\n\n");
  assert.ok((await readAll(jobs.store.follow(jobId, { signal: PATIENCE }))).equals(bytes));
  const record = await jobs.store.get(jobId);
  assert.deepEqual([record.state, record.result], ["completed", FINE]);
});

test("following a job that does not exist is an error", async (t) => {
  const jobs = await openJobs(t);
  await assert.rejects(
    readAll(jobs.store.follow("jb_77" as JobId, { signal: PATIENCE })),
    /Job 'jb_77' does not exist\./,
  );
});

/** The same events, but started by a process that cannot be there any more. */
function asIfDead(bytes: Buffer): Buffer {
  const start = parseSseEvents(bytes.toString())[0];
  const { pid, birth } = JSON.parse(start?.data ?? "") as { pid: number; birth: string };
  assert.equal(pid, process.pid);
  return Buffer.from(bytes.toString().replace(JSON.stringify(birth), JSON.stringify("00000000-1")));
}
