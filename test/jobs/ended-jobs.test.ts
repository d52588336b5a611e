// A job that has ended is read once, and large results are not kept in memory.
import assert from "node:assert/strict";
import { rm, symlink, writeFile } from "node:fs/promises";
import { basename } from "node:path";
import { test } from "node:test";
import type { JobId } from "../../src/contracts/ids.ts";
import type { Result } from "../../src/contracts/job.ts";
import { CRAWL, endlessWork, FINE, openJobs } from "./job-fixture.ts";

test("a job that is over is opened once, however often it is listed, and forgotten with its file", async (t) => {
  const jobs = await openJobs(t);
  const finish = async (result: Result): Promise<JobId> => {
    const { jobId, done } = await jobs.runner.start(CRAWL, async () => result);
    await done;
    return jobId;
  };
  const small = await finish(FINE);
  const running = await jobs.runner.start(CRAWL, endlessWork);
  const listed = await jobs.store.list();
  const { path, bytes } = await jobs.file(small);
  // Whoever opens it now fails: it is a link to itself.
  await rm(path);
  await symlink(basename(path), path);
  assert.deepEqual(await jobs.store.list({ state: "completed" }), [listed[1]]);
  await assert.rejects(jobs.store.get(small), { code: "ELOOP" });

  await jobs.runner.stop("Over.");
  assert.equal((await jobs.store.list({ object: "DEMO" }))[0]?.state, "cancelled", "a live one is read every time");
  assert.equal((await jobs.store.list())[0]?.jobId, running.jobId);

  await rm(path);
  assert.deepEqual(
    (await jobs.store.list()).map(({ jobId }) => jobId),
    [running.jobId],
  );
  await writeFile(path, bytes);
  await jobs.store.remove(small);
  await writeFile(
    path,
    bytes.toString().replace(/("added": *)3/, (_, name: string) => `${name}4`),
  );
  assert.deepEqual((await jobs.store.list())[1]?.result?.data, { added: 4 }, "what was removed is not remembered");
});

test("a result as long as a plan is not kept in memory", async (t) => {
  const jobs = await openJobs(t);
  const job = await jobs.runner.start(CRAWL, async () => ({ ok: true, error: "", data: { plan: "x".repeat(20_000) } }));
  await job.done;
  await jobs.store.list();
  const { path } = await jobs.file(job.jobId);
  await rm(path);
  await symlink(basename(path), path);
  await assert.rejects(jobs.store.list(), { code: "ELOOP" });
});
