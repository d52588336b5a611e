// Jobs are listed, sorted and filtered, and a job whose process is gone can be ended.
import assert from "node:assert/strict";
import { mkdir, readdir, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { JobId } from "../../src/contracts/ids.ts";
import { encodeLog, encodeStart } from "../../src/jobs/job-file.ts";
import { parseSseEvents } from "../../src/lib/sse.ts";
import { ask, type Reading } from "./ask.ts";
import { type Served, serveScripted } from "./scripted-app.ts";

const CRAWL = { router: "crawler", action: "crawl", object: "DEMO", endpoint: "/v2/crawler/crawl", dryRun: false };

describe("the list of jobs", () => {
  let served: Served;
  before(async () => {
    served = await serveScripted();
    for (let i = 0; i < 5; i++) await run({});
    await run({ router: "inventory/vector_stores", action: "create", object: "vs_1" });
  });
  after(() => served.close());

  async function run(start: Partial<typeof CRAWL>): Promise<void> {
    const job = await served.app.runner.start({ ...CRAWL, ...start }, async () => ({ ok: true, error: "", data: {} }));
    await job.done;
  }

  async function list(query: string): Promise<{ ids: string; page: Reading | undefined }> {
    const { status, json } = await ask(served.url, `GET /v2/jobs?${query}`);
    assert.equal(status, 200);
    const rows = json["data"] as unknown as { job_id: string }[];
    return { ids: rows.map(({ job_id }) => job_id).join(" "), page: json["page"] };
  }

  it("comes whole or in parts, in the order asked for", async () => {
    assert.deepEqual(await list("format=json"), { ids: "jb_6 jb_5 jb_4 jb_3 jb_2 jb_1", page: undefined });
    const page = { limit: 2, offset: 1, total: 6, more: true };
    assert.deepEqual(await list("limit=2&offset=1"), { ids: "jb_5 jb_4", page });
    assert.deepEqual((await list("limit=2&sort=job_id")).ids, "jb_1 jb_2");
    assert.deepEqual((await list("limit=2&offset=4&sort=-router")).ids, "jb_2 jb_1");
    const last = await list("offset=5");
    assert.deepEqual([last.ids, last.page?.["more"]], ["jb_1", false]);
  });

  it("can be narrowed by router, state, object and words", async () => {
    assert.equal((await list("router=inventory")).ids, "jb_6");
    assert.equal((await list("router=inventory/vector_stores&state=completed")).ids, "jb_6");
    assert.equal((await list("state=cancelled")).ids, "");
    assert.equal((await list("object=vs_1")).ids, "jb_6");
    assert.deepEqual((await list("filter=DEMO&limit=1")).page, { limit: 1, offset: 0, total: 5, more: true });
  });

  it("refuses what is no order", async () => {
    const { status, json } = await ask(served.url, "GET /v2/jobs?sort=colour");
    assert.equal(status, 400);
    assert.match(String(json["error"]), /^'sort' must be job_id, state, router, action, object, or one of them after/);
  });
});

describe("a job whose process is gone", () => {
  let served: Served;
  before(async () => {
    served = await serveScripted();
    const folder = join(served.folder, "jobs", "crawler");
    await mkdir(folder, { recursive: true });
    const facts = {
      ...CRAWL,
      jobId: "jb_7" as JobId,
      state: "running",
      startedAt: "2026-01-15T10:00:00.000000Z",
    } as const;
    const start = encodeStart(1, { ...facts, endedAt: "", result: null, process: null });
    const path = join(folder, "2026-01-15_10-00-00_[crawl]_[jb_7]_[DEMO].running");
    await writeFile(path, `${start}${encodeLog(2, "[ 1 / 9 ] Downloading 'a.docx'...")}event: log\nid: 3\ndata: half`);
    const longAgo = new Date(Date.now() - 6 * 60_000);
    await utimes(path, longAgo, longAgo);
  });
  after(() => served.close());

  it("is shown as stalled; its stream ends where its file does; force gives it an end", async () => {
    const listed = (await ask(served.url, "GET /v2/jobs?state=running")).json["data"] as unknown as {
      stalled: boolean;
    }[];
    assert.deepEqual(
      listed.map(({ stalled }) => stalled),
      [true],
    );
    const stream = async (headers: Record<string, string> = {}): Promise<string[]> => {
      const { text } = await ask(served.url, "GET /v2/jobs/monitor?job_id=jb_7&format=stream", { headers });
      return parseSseEvents(text).map(({ id, event }) => `${id} ${event}`);
    };
    assert.deepEqual(await stream(), ["1 start_json", "2 log"]);
    const asked = await ask(served.url, "GET /v2/jobs/control?job_id=jb_7&action=cancel");
    assert.match(String(asked.json["data"]?.["message"]), /no heartbeat; cancel it with force=true/);

    const forced = await ask(served.url, "GET /v2/jobs/control?job_id=jb_7&action=cancel&force=true");
    assert.equal(forced.status, 200, forced.text);
    assert.deepEqual(await stream(), ["1 start_json", "2 log", "3 end_json"]);
    assert.deepEqual(await stream({ "last-event-id": "2" }), ["3 end_json"]);
    const { json } = await ask(served.url, "GET /v2/jobs/results?job_id=jb_7");
    assert.deepEqual(json, { ok: false, error: "Cancelled by user.", data: {} });
    assert.deepEqual(await readdir(join(served.folder, "jobs", "crawler")), [
      "2026-01-15_10-00-00_[crawl]_[jb_7]_[DEMO].cancelled",
    ]);
  });
});

describe("HEAD of a stream", () => {
  it("tells what it would be and follows nothing", async () => {
    const served = await serveScripted();
    const { jobId, done } = await served.app.runner.start(CRAWL, async (job) => {
      await new Promise((resolve) => job.signal.addEventListener("abort", resolve, { once: true }));
      return { ok: false, error: "", data: {} };
    });
    const reply = await ask(served.url, `HEAD /v2/jobs/monitor?job_id=${jobId}&format=stream`);
    assert.equal(`${reply.status} ${reply.type}`, "200 text/event-stream");
    await served.app.close();
    assert.equal((await done).state, "cancelled");
    await served.close();
  });
});
