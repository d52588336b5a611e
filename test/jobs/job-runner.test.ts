// A job file is the job's event stream, whatever the job logs or throws.
import assert from "node:assert/strict";
import { test } from "node:test";
import { CancelledError, RemoteError } from "../../src/contracts/errors.ts";
import { CRAWL, endlessWork, eventsOf, FINE, heldWork, openJobs, untilLogged } from "./job-fixture.ts";

const UTC = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/;

test("a job file is its event stream, from start_json to end_json", async (t) => {
  const jobs = await openJobs(t);
  const { jobId, done } = await jobs.runner.start(CRAWL, async (job) => {
    job.log("[ 1 / 2 ] Downloading 'a.docx'...");
    job.log("  OK 'a\r\n[ 9 / 9 ] \u001b[2Jb.docx'.");
    return FINE;
  });
  assert.equal(jobId, "jb_1");
  const record = await done;
  const { name, bytes } = await jobs.file(jobId);
  assert.match(name, /^\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d_\[crawl\]_\[jb_1\]_\[DEMO\]\.completed$/);
  const events = eventsOf(bytes);
  assert.deepEqual(
    events.map(({ id, event }) => `${id} ${event}`),
    ["1 start_json", "2 log", "3 log", "4 end_json"],
  );
  assert.equal(events[2]?.data, "  OK 'a\\u000d\\u000a[ 9 / 9 ] \\u001b[2Jb.docx'.", "a name writes no line");
  const start = JSON.parse(events[0]?.data ?? "") as Record<string, unknown>;
  assert.equal(start["state"], "running");
  assert.equal(start["endpoint"], CRAWL.endpoint);
  assert.match(String(start["start_utc"]), UTC);
  const end = JSON.parse(events[3]?.data ?? "") as Record<string, unknown>;
  assert.deepEqual(
    { ...end, end_utc: "" },
    {
      job_id: "jb_1",
      endpoint: CRAWL.endpoint,
      state: "completed",
      start_utc: start["start_utc"],
      end_utc: "",
      result: FINE,
      dry_run: false,
    },
  );
  assert.match(String(end["end_utc"]), UTC);
  const { lastModifiedAt: _ours, ...told } = record;
  const { lastModifiedAt: _disks, ...stored } = await jobs.store.get(jobId);
  assert.deepEqual(told, stored);
});

test("log text of any kind stays inside its event", async (t) => {
  const jobs = await openJobs(t);
  const hostile = 'x\r\n\r\nevent: end_json\nid: 9\ndata: {"state":"completed"}\n\n\u0000\u001b[31m\ud800 ü 漢 ';
  const { jobId, done } = await jobs.runner.start(CRAWL, async (job) => {
    job.log(hostile);
    job.log("");
    return FINE;
  });
  await done;
  const events = eventsOf((await jobs.file(jobId)).bytes);
  assert.deepEqual(
    events.map(({ id, event }) => `${id} ${event}`),
    ["1 start_json", "2 log", "3 log", "4 end_json"],
  );
  assert.equal(
    events[1]?.data,
    'x\\u000d\\u000a\\u000d\\u000aevent: end_json\\u000aid: 9\\u000adata: {"state":"completed"}\\u000a\\u000a\\u0000\\u001b[31m\ufffd ü 漢 ',
  );
  assert.equal(await jobs.store.lastLog(jobId), "");
});

test("thousands of lines keep their order", async (t) => {
  const jobs = await openJobs(t);
  const { jobId, done } = await jobs.runner.start(CRAWL, async (job) => {
    for (let i = 1; i <= 5000; i++) {
      job.log(`[ ${i} / 5000 ] ${"x".repeat(i % 97)}`);
      if (i % 500 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    return FINE;
  });
  await done;
  const events = eventsOf((await jobs.file(jobId)).bytes);
  assert.deepEqual(
    events.map(({ id }) => Number(id)),
    Array.from({ length: 5002 }, (_, i) => i + 1),
  );
  assert.deepEqual(
    events.slice(1, -1).map(({ data }) => Number(/\[ (\d+) /.exec(data)?.[1])),
    Array.from({ length: 5000 }, (_, i) => i + 1),
  );
  assert.match(await jobs.store.lastLog(jobId), /^\[ 5000 /);
});

test("what is thrown is a failure: completed, not ok, with the reason", async (t) => {
  const jobs = await openJobs(t);
  const { jobId, done } = await jobs.runner.start(CRAWL, async () => {
    throw new RemoteError("list library 'Documents'", { cause: new Error("HTTP 503") });
  });
  const record = await done;
  assert.equal(record.state, "completed");
  assert.deepEqual(record.result, { ok: false, error: "list library 'Documents': HTTP 503", data: {} });
  assert.match((await jobs.file(jobId)).name, /\.completed$/);
});

test("work may give up as cancelled by itself", async (t) => {
  const jobs = await openJobs(t);
  const { done } = await jobs.runner.start(CRAWL, async () => {
    throw new CancelledError("Not wanted any more.");
  });
  const record = await done;
  assert.deepEqual([record.state, record.result?.error], ["cancelled", "Not wanted any more."]);
});

test("a result that is no JSON does not cost the job its end", async (t) => {
  const jobs = await openJobs(t);
  const { jobId, done } = await jobs.runner.start(CRAWL, async () => ({ ok: true, error: "", data: 1n }));
  assert.equal((await done).result?.ok, false);
  const stored = await jobs.store.get(jobId);
  assert.equal(stored.state, "completed");
  assert.match(stored.result?.error ?? "", /cannot be written as JSON/);
});

test("pause, resume, pause, cancel: the file tells each state and no request is left", async (t) => {
  const jobs = await openJobs(t);
  const { jobId, done } = await jobs.runner.start(CRAWL, endlessWork);
  assert.equal(await jobs.store.control(jobId, "pause"), "Pause requested for job 'jb_1'.");
  await untilLogged(jobs.store, jobId, "Paused.");
  await untilState("paused");
  await assert.rejects(jobs.store.control(jobId, "pause"), /Cannot pause paused job 'jb_1'\./);
  assert.equal(await jobs.store.control(jobId, "resume"), "Resume requested for job 'jb_1'.");
  await untilLogged(jobs.store, jobId, "Resumed.");
  assert.match((await jobs.file(jobId)).name, /\.running$/);
  await assert.rejects(jobs.store.control(jobId, "resume"), /Cannot resume running job 'jb_1'\./);
  await jobs.store.control(jobId, "pause");
  await untilState("paused");
  assert.equal(await jobs.store.control(jobId, "cancel"), "Cancel requested for job 'jb_1'.");
  const record = await done;
  assert.deepEqual(record.result, { ok: false, error: "Cancelled by user.", data: {} });
  assert.equal(record.state, "cancelled");
  assert.match((await jobs.file(jobId)).name, /\.cancelled$/);
  assert.equal((await jobs.names()).length, 1);
  await assert.rejects(jobs.store.control(jobId, "cancel"), /Job 'jb_1' is already cancelled\./);

  async function untilState(state: string): Promise<void> {
    while ((await jobs.store.get(jobId)).state !== state) await new Promise((resolve) => setImmediate(resolve));
  }
});

test("cancel reaches work between two checkpoints through its signal", async (t) => {
  const jobs = await openJobs(t);
  const { jobId, done } = await jobs.runner.start(
    CRAWL,
    (job) => new Promise((_, reject) => job.signal.addEventListener("abort", () => reject(new Error("socket closed")))),
  );
  await jobs.store.control(jobId, "cancel");
  const record = await done;
  assert.deepEqual([record.state, record.result?.error], ["cancelled", "Cancelled by user."]);
});

test("a cancel that comes too late does not deny what was done; a failed end is the cancel's", async (t) => {
  const jobs = await openJobs(t);
  for (const [result, state] of [
    [FINE, "completed"],
    [{ ok: false, error: "2 items failed.", data: { failed: 2 } }, "cancelled"],
  ] as const) {
    const { jobId, done } = await jobs.runner.start(CRAWL, async (job) => {
      await new Promise((resolve) => job.signal.addEventListener("abort", resolve));
      return result;
    });
    await jobs.store.control(jobId, "cancel");
    const record = await done;
    assert.equal(record.state, state);
    assert.deepEqual(record.result?.data, result.data);
  }
});

test("checkpoints in a tight loop still let requests through", async (t) => {
  const jobs = await openJobs(t);
  const { jobId, done } = await jobs.runner.start(CRAWL, async (job) => {
    for (;;) await job.checkpoint();
  });
  await jobs.store.control(jobId, "cancel");
  assert.equal((await done).state, "cancelled");
});

test("stop ends every job with its reason, hung ones too, and nothing starts afterwards", async (t) => {
  const jobs = await openJobs(t, { stopGraceMs: 20 });
  const held = heldWork();
  const polite = await jobs.runner.start(CRAWL, endlessWork);
  const hung = await jobs.runner.start(CRAWL, held.work);
  await jobs.runner.stop("Server stopped.");
  for (const { jobId, done } of [polite, hung]) {
    const record = await done;
    assert.deepEqual([record.state, record.result?.error], ["cancelled", "Server stopped."]);
    const stored = await jobs.store.get(jobId);
    assert.deepEqual([stored.state, stored.result?.error], ["cancelled", "Server stopped."]);
  }
  const before = (await jobs.file(hung.jobId)).bytes;
  held.release(FINE);
  await assert.rejects(jobs.runner.start(CRAWL, endlessWork), /Server stopped/);
  assert.deepEqual((await jobs.file(hung.jobId)).bytes, before);
});

test("nothing is logged after the end", async (t) => {
  const jobs = await openJobs(t);
  let late: (line: string) => void = () => assert.fail("the work did not run");
  const { jobId, done } = await jobs.runner.start(CRAWL, async (job) => {
    late = job.log;
    return FINE;
  });
  await done;
  late("too late");
  await jobs.runner.stop("Server stopped.");
  assert.equal(eventsOf((await jobs.file(jobId)).bytes).at(-1)?.event, "end_json");
});

test("a router that would leave the jobs folder is refused", async (t) => {
  const jobs = await openJobs(t);
  for (const router of ["../x", "", "/etc", "a//b", ".lockstep"]) {
    await assert.rejects(jobs.runner.start({ ...CRAWL, router }, endlessWork), /is no router name/);
  }
});
