// Jobs are listed, filtered, read and removed quickly, also with long logs.
import assert from "node:assert/strict";
import { mkdir, rename, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { test } from "node:test";
import type { JobId } from "../../src/contracts/ids.ts";
import type { JobRecord } from "../../src/contracts/job.ts";
import { requestControl } from "../../src/jobs/job-control.ts";
import { encodeEnd, encodeLog, encodeStart, findJob, type JobFacts } from "../../src/jobs/job-file.ts";
import type { JobFilter } from "../../src/jobs/list-jobs.ts";
import { CRAWL, endlessWork, FINE, openJobs, untilLogged } from "./job-fixture.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

test("jobs are listed newest first, by number, and can be filtered", async (t) => {
  const jobs = await openJobs(t);
  assert.deepEqual(await jobs.store.list(), []);
  for (let i = 0; i < 11; i++) await (await jobs.runner.start(CRAWL, async () => FINE)).done;
  const other = await jobs.runner.start({ ...CRAWL, router: "inventory/vector_stores", object: "" }, endlessWork);
  const all = await jobs.store.list();
  assert.deepEqual(
    all.map(({ jobId }) => jobId),
    Array.from({ length: 12 }, (_, i) => `jb_${12 - i}`),
  );
  assert.deepEqual(
    (await jobs.store.list({ router: "inventory/vector_stores" })).map(({ jobId, object }) => [jobId, object]),
    [[other.jobId, ""]],
  );
  assert.deepEqual(
    (await jobs.store.list({ state: "running" })).map(({ jobId, stalled }) => [jobId, stalled]),
    [[other.jobId, false]],
  );
  assert.equal((await jobs.store.list({ state: "completed", router: "crawler" })).length, 11);
});

test("the newest few are found without opening an older file", async (t) => {
  const jobs = await openJobs(t);
  const finish = async (object: string, dryRun = false): Promise<JobId> => {
    const job = await jobs.runner.start({ ...CRAWL, object, dryRun }, async () => FINE);
    await job.done;
    return job.jobId;
  };
  for (let i = 0; i < 3; i++) await finish("DEMO");
  // Whoever opens one of these fails: it is a link to itself.
  for (const name of await jobs.names()) {
    const path = join(jobs.folder, "crawler", name);
    await rm(path);
    await symlink(name, path);
  }
  await assert.rejects(jobs.store.list(), { code: "ELOOP" });

  const other = await finish("OTHER");
  const demo = await finish("DEMO");
  const running = await jobs.runner.start(CRAWL, endlessWork);
  const dry = await finish("OTHER", true);
  const listed = async (filter: JobFilter): Promise<JobId[]> =>
    (await jobs.store.list(filter)).map(({ jobId }) => jobId);
  assert.deepEqual(await listed({ limit: 2 }), [dry, running.jobId]);
  assert.deepEqual(await listed({ limit: 4 }), [dry, running.jobId, demo, other]);
  await assert.rejects(listed({ limit: 5 }), { code: "ELOOP" });
  assert.deepEqual(await listed({ object: "OTHER" }), [dry, other]);
  assert.deepEqual(await listed({ object: "OTHER", router: "inventory" }), []);
  assert.deepEqual(await listed({ state: "active" }), [running.jobId]);
  assert.deepEqual(await listed({ state: "running" }), [running.jobId]);
  assert.deepEqual(await listed({ state: "paused" }), []);
  const ended = (job: JobRecord): boolean => job.endedAt !== "" && !job.dryRun;
  assert.deepEqual(await listed({ limit: 1, per: "object", matching: ended }), [demo, other]);
  assert.deepEqual(await listed({ limit: 1, matching: (job) => job.object === "DEMO" && ended(job) }), [demo]);
});

test("a job whose end is written is over, whatever its name says", async (t) => {
  const jobs = await openJobs(t);
  const { jobId, done } = await jobs.runner.start(CRAWL, async () => FINE);
  await done;
  const { path } = await jobs.file(jobId);
  await rename(path, path.replace(".completed", ".running"));
  assert.deepEqual(await jobs.store.list({ state: "active" }), []);
  assert.equal((await jobs.store.list({ state: "completed" })).length, 1);
});

test("a thousand jobs with long logs are listed with their results", async (t) => {
  const jobs = await openJobs(t);
  await mkdir(join(jobs.folder, "crawler"));
  const log = encodeLog(2, "x".repeat(1000)).repeat(100);
  for (let number = 1; number <= 1000; number++) {
    const facts = factsOf(number);
    const end: JobFacts = { ...facts, state: "completed", result: { ok: true, error: "", data: { number } } };
    await writeFile(
      join(jobs.folder, "crawler", `2025-11-26_14-20-30_[crawl]_[jb_${number}]_[DEMO].completed`),
      encodeStart(1, facts) + log + encodeEnd(3, end),
    );
  }
  const records = await jobs.store.list();
  assert.equal(records.length, 1000);
  for (const [index, record] of records.entries()) assert.deepEqual(record.result?.data, { number: 1000 - index });
  const next = await jobs.runner.start(CRAWL, async () => FINE);
  assert.equal(next.jobId, "jb_1001");
});

test("get finds the end however large it is, and the last log before it", async (t) => {
  const jobs = await openJobs(t);
  const text = "ü".repeat(700_000);
  const { jobId, done } = await jobs.runner.start({ ...CRAWL, endpoint: `/?q=${"q".repeat(50_000)}` }, async (job) => {
    job.log("first");
    job.log("event: log, last");
    return { ok: true, error: "", data: { text } };
  });
  await done;
  const record = await jobs.store.get(jobId);
  assert.deepEqual(record.result?.data, { text });
  assert.equal(record.endpoint.length, 50_004);
  assert.equal(await jobs.store.lastLog(jobId), "event: log, last");
});

test("what does not exist is not found", async (t) => {
  const jobs = await openJobs(t);
  for (const id of ["jb_9", "jb_", "../x", ""] as JobId[]) {
    const expected = { name: "NotFoundError", message: `Job '${id}' does not exist.` };
    await assert.rejects(jobs.store.get(id), expected);
    await assert.rejects(jobs.store.control(id, "cancel"), expected);
    await assert.rejects(jobs.store.lastLog(id), expected);
    await assert.rejects(jobs.store.remove(id), expected);
  }
});

test("a live job is not cancelled by force, nor anything but cancelled", async (t) => {
  const jobs = await openJobs(t);
  const { jobId, done } = await jobs.runner.start(CRAWL, endlessWork);
  await assert.rejects(jobs.store.control(jobId, "cancel", { force: true }), /by force: it is running/);
  await assert.rejects(jobs.store.control(jobId, "pause", { force: true }), /'force' goes with action 'cancel' only/);
  await jobs.store.control(jobId, "cancel");
  assert.equal((await done).state, "cancelled");
});

test("a job that is cancelled before the one who asked looks again was cancelled as asked", async (t) => {
  const jobs = await openJobs(t);
  const { jobId, done } = await jobs.runner.start(CRAWL, endlessWork);
  const said = await requestControl(await findJob(jobs.folder, jobId), "cancel", async () => {
    await done;
    return findJob(jobs.folder, jobId);
  });
  assert.equal(said, `Cancel requested for job '${jobId}'.`);
  assert.equal((await jobs.store.get(jobId)).state, "cancelled");
  assert.equal((await jobs.names()).length, 1, "no request is left behind");
});

test("a job that gave no sign of life for five minutes is stalled; force ends it and its own process accepts that", async (t) => {
  const jobs = await openJobs(t, { stopGraceMs: 20 });
  const wakeUp = Promise.withResolvers<void>();
  const { jobId, done } = await jobs.runner.start(CRAWL, async (job) => {
    job.log("Working.");
    await wakeUp.promise;
    job.log("I am back.");
    return FINE;
  });
  await untilLogged(jobs.store, jobId, "Working.");
  const { path } = await jobs.file(jobId);
  await setAge(path, 4 * MINUTE_MS);
  assert.equal((await jobs.store.get(jobId)).stalled, false);
  await setAge(path, 6 * MINUTE_MS);
  assert.equal((await jobs.store.get(jobId)).stalled, true);
  assert.equal(await jobs.store.control(jobId, "cancel", { force: true }), "Job 'jb_1' was cancelled by force.");
  const ended = await jobs.file(jobId);
  assert.match(ended.name, /\.cancelled$/);
  wakeUp.resolve();
  await done;
  assert.deepEqual((await jobs.file(jobId)).bytes, ended.bytes);
  const record = await jobs.store.get(jobId);
  assert.deepEqual([record.state, record.stalled, record.result?.error], ["cancelled", false, "Cancelled by user."]);
});

test("a job ended by others tells its work to stop", async (t) => {
  const jobs = await openJobs(t);
  const { jobId, done } = await jobs.runner.start(CRAWL, endlessWork);
  const { path } = await jobs.file(jobId);
  await rename(path, path.replace(".running", ".cancelled"));
  assert.match((await done).result?.error ?? "", /ended by another process/);
});

test("an end on disk counts although the crash came before the rename, and a name although the end is missing", async (t) => {
  const jobs = await openJobs(t);
  const first = await jobs.runner.start(CRAWL, async () => FINE);
  await first.done;
  const { path, bytes } = await jobs.file(first.jobId);
  await rename(path, path.replace(".completed", ".running"));
  const record = await jobs.store.get(first.jobId);
  assert.deepEqual([record.state, record.result, record.stalled], ["completed", FINE, false]);
  await assert.rejects(jobs.store.control(first.jobId, "cancel", { force: true }), /is already completed/);

  const cut = bytes.subarray(0, bytes.indexOf("event: end_json")).toString().replaceAll("jb_1", "jb_2");
  await writeFile(join(dirname(path), "2025-11-26_14-20-30_[crawl]_[jb_2].cancelled"), cut);
  const cancelled = await jobs.store.get("jb_2" as JobId);
  assert.deepEqual([cancelled.state, cancelled.result?.ok, cancelled.stalled], ["cancelled", false, false]);
});

test("an empty job file is a job that just began", async (t) => {
  const jobs = await openJobs(t);
  await mkdir(join(jobs.folder, "crawler"));
  await writeFile(join(jobs.folder, "crawler", "2025-11-26_14-20-30_[crawl]_[jb_5]_[DEMO].running"), "");
  const record = await jobs.store.get("jb_5" as JobId);
  assert.deepEqual([record.state, record.startedAt], ["running", "2025-11-26T14:20:30.000000Z"]);
  assert.equal(await jobs.store.lastLog("jb_5" as JobId), "");
});

test("paused jobs count for the next number, also without the claims", async (t) => {
  const jobs = await openJobs(t);
  await mkdir(join(jobs.folder, "inventory", "files"), { recursive: true });
  await writeFile(join(jobs.folder, "inventory", "files", "2025-11-26_14-20-30_[x]_[jb_70].paused"), "");
  assert.equal((await jobs.runner.start(CRAWL, async () => FINE)).jobId, "jb_71");
});

test("old jobs go, running and paused ones stay, and so do young ones", async (t) => {
  const jobs = await openJobs(t);
  const old = await jobs.runner.start(CRAWL, async () => FINE);
  const young = await jobs.runner.start(CRAWL, async () => FINE);
  const running = await jobs.runner.start(CRAWL, endlessWork);
  await Promise.all([old.done, young.done, untilLogged(jobs.store, running.jobId, "Working.")]);
  await setAge((await jobs.file(old.jobId)).path, 91 * DAY_MS);
  await setAge((await jobs.file(young.jobId)).path, 89 * DAY_MS);
  await setAge((await jobs.file(running.jobId)).path, 100 * DAY_MS);
  await writeFile(join(jobs.folder, "crawler", "2025-11-26_14-20-30_[crawl]_[jb_60].paused"), "");
  await setAge(join(jobs.folder, "crawler", "2025-11-26_14-20-30_[crawl]_[jb_60].paused"), 100 * DAY_MS);
  await writeFile(join(jobs.folder, "crawler", "2025-11-26_14-20-30_[crawl]_[jb_61].pause_requested"), "");
  const [told, ...more] = await jobs.store.removeOldJobs(90, { dryRun: true });
  assert.deepEqual([told?.jobId, more], [old.jobId, []]);
  assert.deepEqual(await jobs.store.removeOldJobs(90), [told], "what was told before is removed now");
  assert.deepEqual(
    (await jobs.store.list()).map(({ jobId }) => jobId),
    ["jb_60", running.jobId, young.jobId],
  );
  assert.ok(!(await jobs.names()).some((name) => name.includes("jb_61")));
});

test("a job is deleted when it is over, and not before", async (t) => {
  const jobs = await openJobs(t);
  const { jobId, done } = await jobs.runner.start(CRAWL, endlessWork);
  await assert.rejects(jobs.store.remove(jobId), /Cannot delete active job 'jb_1'\. Cancel it first\./);
  await jobs.store.control(jobId, "cancel");
  await done;
  assert.equal((await jobs.store.remove(jobId)).state, "cancelled");
  await assert.rejects(jobs.store.get(jobId), /does not exist/);
  assert.equal((await jobs.runner.start(CRAWL, async () => FINE)).jobId, "jb_2");
});

function factsOf(number: number): JobFacts {
  return {
    jobId: `jb_${number}` as JobId,
    endpoint: CRAWL.endpoint,
    state: "running",
    startedAt: "2025-11-26T14:20:30.000000Z",
    endedAt: "2025-11-26T14:20:31.000000Z",
    result: null,
    dryRun: false,
    process: null,
  };
}

async function setAge(path: string, ageMs: number): Promise<void> {
  const at = new Date(Date.now() - ageMs);
  await utimes(path, at, at);
}
