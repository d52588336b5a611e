// Several processes start and control jobs without sharing an id.
import assert from "node:assert/strict";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { appendFile, stat } from "node:fs/promises";
import { test } from "node:test";
import type { JobId } from "../../src/contracts/ids.ts";
import { createJobRunner } from "../../src/jobs/job-runner.ts";
import { CRAWL, eventsOf, heldWork, openJobs, readAll, startChild, untilLogged } from "./job-fixture.ts";

const PATIENCE = AbortSignal.timeout(600_000);

test("four processes that start jobs at once never share an id", async (t) => {
  const jobs = await openJobs(t);
  const children = Array.from({ length: 4 }, (_, i) => startChild(t, ["many", jobs.folder, "25", `router${i % 2}`]));
  const ids = (await Promise.all(children.map((child) => message<JobId[]>(child)))).flat();
  assert.equal(ids.length, 100);
  assert.equal(new Set(ids).size, 100);
  const records = await jobs.store.list();
  assert.equal(records.length, 100);
  assert.ok(records.every(({ state, result }) => state === "completed" && result?.ok));
});

test("a job is paused, resumed and cancelled from other processes", async (t) => {
  const jobs = await openJobs(t);
  const child = startChild(t, ["endless", jobs.folder]);
  const id = await message<JobId>(child);
  const stream = readAll(jobs.store.follow(id, { signal: PATIENCE }));
  await untilLogged(jobs.store, id, "Working.");
  await jobs.store.control(id, "pause");
  await untilLogged(jobs.store, id, "Paused.");
  while ((await jobs.store.get(id)).state !== "paused") await new Promise((resolve) => setImmediate(resolve));
  const third = startChild(t, ["control", jobs.folder, id, "resume"]);
  assert.equal(await message<string>(third), `Resume requested for job '${id}'.`);
  await untilLogged(jobs.store, id, "Resumed.");
  await jobs.store.control(id, "cancel");
  const bytes = await stream;
  assert.equal(eventsOf(bytes).at(-1)?.event, "end_json");
  await exited(child);
  assert.ok(bytes.equals((await jobs.file(id)).bytes));
  const record = await jobs.store.get(id);
  assert.deepEqual([record.state, record.result?.error], ["cancelled", "Cancelled by user."]);
  assert.equal((await jobs.names()).length, 1);
});

test("a killed process leaves a running file that is stalled at once; force gives it its end", async (t) => {
  const jobs = await openJobs(t);
  const child = startChild(t, ["endless", jobs.folder]);
  const id = await message<JobId>(child);
  await untilLogged(jobs.store, id, "Working.");
  assert.equal((await jobs.store.get(id)).stalled, false);
  const stream = readAll(jobs.store.follow(id, { signal: PATIENCE }));
  child.kill("SIGKILL");
  await exited(child);
  const { name, path, bytes } = await jobs.file(id);
  assert.match(name, /\.running$/);
  assert.ok((await stream).equals(bytes), "the stream ends with what the dead job left");
  // The process may as well have died in the middle of a write.
  await appendFile(path, `event: log\nid: 3\ndata: half a li${"n".repeat(5000)}`);
  const [listed] = await jobs.store.list({ state: "running" });
  assert.deepEqual([listed?.jobId, listed?.stalled], [id, true]);
  assert.match(await jobs.store.control(id, "pause"), /^Pause requested for job .* no heartbeat/);
  const answers = await Promise.allSettled([1, 2, 3].map(() => jobs.store.control(id, "cancel", { force: true })));
  assert.deepEqual(answers.map(({ status }) => status).sort(), ["fulfilled", "rejected", "rejected"]);
  const record = await jobs.store.get(id);
  assert.deepEqual([record.state, record.stalled, record.result?.ok], ["cancelled", false, false]);
  assert.equal((await jobs.names()).length, 1);
  assert.ok((await jobs.file(id)).bytes.toString().endsWith("data: }\n\n"), "nothing of the half event is left");
  assert.deepEqual(
    eventsOf((await jobs.file(id)).bytes).map((event) => `${event.id} ${event.event}`),
    ["1 start_json", "2 log", "3 end_json"],
  );
});

test("a job without anything to say still gives signs of life", async (t) => {
  const jobs = await openJobs(t);
  const runner = createJobRunner({ jobsFolder: jobs.folder, controlPollMs: 5, heartbeatMs: 5 });
  const held = heldWork();
  const { jobId, done } = await runner.start(CRAWL, held.work);
  await untilLogged(jobs.store, jobId, "Working.");
  const { path } = await jobs.file(jobId);
  const before = (await stat(path)).mtimeMs;
  while ((await stat(path)).mtimeMs === before) await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual((await jobs.store.get(jobId)).stalled, false);
  held.release({ ok: true, error: "", data: {} });
  await done;
});

async function message<T>(child: ChildProcess): Promise<T> {
  const [value] = (await once(child, "message")) as [T];
  return value;
}

async function exited(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
}
