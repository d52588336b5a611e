// A running server removes old jobs and reports by their age, and says what it could not remove.
import assert from "node:assert/strict";
import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { readConfig } from "../../src/app/config.ts";
import { removeOldDaily } from "../../src/app/remove-old.ts";
import { createJobStore } from "../../src/jobs/job-store.ts";
import { createReportStore } from "../../src/reports/report-store.ts";

const DAY_MS = 24 * 60 * 60_000;

test("a server that runs for months goes on removing old jobs", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "lockstep-old-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const crawler = join(folder, "jobs", "crawler");
  await mkdir(crawler, { recursive: true });
  const addJob = async (number: number, ageDays: number): Promise<void> => {
    const path = join(crawler, `2025-11-26_14-20-30_[crawl]_[jb_${number}]_[DEMO].completed`);
    await writeFile(path, "");
    const at = new Date(Date.now() - ageDays * DAY_MS);
    await utimes(path, at, at);
  };
  await addJob(1, 91);
  await addJob(2, 89);
  const jobs = createJobStore(join(folder, "jobs"));
  const reports = createReportStore(join(folder, "reports"));
  const errors: unknown[] = [];
  const parts = { jobs, reports, config: readConfig({ PERSISTENT_STORAGE_PATH: folder }) };
  const removal = await removeOldDaily(parts, {
    everyMs: 5,
    onError: (error) => errors.push(error),
    log: () => undefined,
  });
  t.after(() => removal.stop());
  assert.deepEqual((await readdir(crawler)).map(numberOf), ["jb_2"], "at once");

  await addJob(3, 91);
  while ((await readdir(crawler)).length > 1) await new Promise((resolve) => setTimeout(resolve, 1));
  assert.deepEqual((await readdir(crawler)).map(numberOf), ["jb_2"], "and again later");
  assert.deepEqual(errors, []);
});

test("what cannot be removed is told, and keeps neither the server nor the rest", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "lockstep-old-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const reports = join(folder, "reports", "crawls");
  // A folder where a file should be cannot be removed like one.
  for (const day of ["01", "02", "03"]) {
    await mkdir(join(reports, `2020-01-${day}_14-20-30_DEMO_all_full.zip`, "inside"), { recursive: true });
  }
  const crawler = join(folder, "jobs", "crawler");
  await mkdir(crawler, { recursive: true });
  const job = join(crawler, "2025-11-26_14-20-30_[crawl]_[jb_1]_[DEMO].completed");
  await writeFile(job, "");
  const old = new Date(Date.now() - 91 * DAY_MS);
  await utimes(job, old, old);
  const parts = {
    jobs: createJobStore(join(folder, "jobs")),
    reports: createReportStore(join(folder, "reports")),
    config: readConfig({ PERSISTENT_STORAGE_PATH: folder, REPORT_KEEP_DAYS: "30" }),
  };
  const errors: unknown[] = [];
  const lines: string[] = [];
  const removal = await removeOldDaily(parts, {
    onError: (error) => errors.push(error),
    log: (line) => lines.push(line),
  });
  removal.stop();
  assert.equal(errors.length, 1);
  assert.deepEqual(lines, ["Removed 1 job that was kept long enough."]);
  assert.deepEqual(await readdir(crawler), []);
});

test("reports are kept for ever unless somebody says how long", () => {
  assert.equal(readConfig({ PERSISTENT_STORAGE_PATH: "/tmp/any" }).keepReportsDays, 0);
});

function numberOf(name: string): string {
  return /jb_\d+/.exec(name)?.[0] ?? name;
}
