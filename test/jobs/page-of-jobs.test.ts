// A page of jobs opens only the files of its own jobs.
import assert from "node:assert/strict";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import type { JobId } from "../../src/contracts/ids.ts";
import { encodeEnd, encodeStart, type JobFacts } from "../../src/jobs/job-file.ts";
import type { JobPageRequest } from "../../src/jobs/list-jobs.ts";
import { type Jobs, openJobs } from "./job-fixture.ts";

const ALL: JobPageRequest = { words: "", order: undefined, offset: 0, limit: undefined };

interface Written {
  readonly number: number;
  readonly name?: string;
  readonly router?: string;
  readonly object?: string;
  /** What the file holds; absent: it is a link to itself, and whoever opens it fails. */
  readonly ends?: JobFacts["state"] | "not";
}

async function write(jobs: Jobs, { number, name, router = "crawler", object = "DEMO", ends }: Written): Promise<void> {
  const folder = join(jobs.folder, router);
  await mkdir(folder, { recursive: true });
  const fileName = `2026-01-15_10-00-00_[crawl]_[jb_${number}]_[${object}].${name ?? "completed"}`;
  const path = join(folder, fileName);
  if (ends === undefined) return symlink(fileName, path);
  const facts: JobFacts = {
    jobId: `jb_${number}` as JobId,
    endpoint: "/v2/crawler/crawl",
    state: "running",
    startedAt: "2026-01-15T10:00:00.000000Z",
    endedAt: "",
    result: null,
    dryRun: false,
    process: null,
  };
  const end = { ...facts, endedAt: facts.startedAt, result: { ok: true, error: "", data: {} } };
  await writeFile(path, encodeStart(1, facts) + (ends === "not" ? "" : encodeEnd(2, { ...end, state: ends })));
}

async function ids(jobs: Jobs, request: Partial<JobPageRequest>): Promise<{ ids: string; total: number }> {
  const page = await jobs.store.page({ ...ALL, ...request });
  return { ids: page.jobs.map(({ jobId }) => jobId.slice(3)).join(" "), total: page.total };
}

test("pages, orders and filters come from the names; the state of what seems to run from the file", async (t) => {
  const jobs = await openJobs(t);
  for (let number = 1; number <= 12; number++) await write(jobs, { number, ends: "completed" });
  await write(jobs, { number: 13, router: "inventory/files", object: "file_1", ends: "cancelled", name: "cancelled" });
  await write(jobs, { number: 14, router: "inventory", object: "x", ends: "not", name: "running" });
  // The crash came between writing the end and changing the name.
  await write(jobs, { number: 15, object: "OTHER", ends: "completed", name: "running" });

  assert.deepEqual(await ids(jobs, { limit: 3 }), { ids: "15 14 13", total: 15 });
  assert.deepEqual(await ids(jobs, { limit: 3, offset: 13 }), { ids: "2 1", total: 15 });
  assert.deepEqual(await ids(jobs, { offset: 99 }), { ids: "", total: 15 });
  assert.deepEqual(await ids(jobs, { limit: 3, order: { by: "job_id", downwards: false } }), {
    ids: "1 2 3",
    total: 15,
  });
  assert.deepEqual(await ids(jobs, { limit: 2, order: { by: "router", downwards: true } }), {
    ids: "13 14",
    total: 15,
  });
  assert.deepEqual(await ids(jobs, { limit: 2, order: { by: "object", downwards: false } }), {
    ids: "12 11",
    total: 15,
  });
  assert.deepEqual(await ids(jobs, { state: "running" }), { ids: "14", total: 1 });
  assert.deepEqual(await ids(jobs, { state: "completed", limit: 2 }), { ids: "15 12", total: 13 });
  assert.deepEqual(await ids(jobs, { router: "inventory" }), { ids: "14 13", total: 2 });
  assert.deepEqual(await ids(jobs, { object: "OTHER" }), { ids: "15", total: 1 });
  assert.deepEqual(await ids(jobs, { words: "FILE_1" }), { ids: "13", total: 1 });
  assert.deepEqual(await ids(jobs, { words: "nothing like it" }), { ids: "", total: 0 });
});

test("a page opens the files of its own jobs and no other", async (t) => {
  const jobs = await openJobs(t);
  for (let number = 1; number <= 9; number++) {
    await write(jobs, {
      number,
      object: number === 5 ? "FIVE" : "DEMO",
      ...([1, 5, 9].includes(number) && { ends: "completed" }),
    });
  }
  assert.deepEqual(await ids(jobs, { limit: 1 }), { ids: "9", total: 9 });
  assert.deepEqual(await ids(jobs, { limit: 1, offset: 4 }), { ids: "5", total: 9 });
  assert.deepEqual(await ids(jobs, { limit: 1, order: { by: "job_id", downwards: false } }), { ids: "1", total: 9 });
  assert.deepEqual(await ids(jobs, { words: "five", state: "completed" }), { ids: "5", total: 1 });
  await assert.rejects(ids(jobs, { limit: 2 }), { code: "ELOOP" });
});
