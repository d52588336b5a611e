// Crawls run as jobs whose stream is the job file, and which end as one would expect.
import assert from "node:assert/strict";
import { after, before, beforeEach, describe, it } from "node:test";
import { setImmediate } from "node:timers/promises";
import { parseDomainInput } from "../kinds.ts";
import { ask } from "./ask.ts";
import { countToThree, crawlResult, type Served, serveScripted } from "./scripted-app.ts";

/** A crawl that works on its first item, heeding control, until told to go on. */
function gateCrawl(served: Served): { readonly begun: Promise<void>; readonly goOn: () => void } {
  const begun = Promise.withResolvers<void>();
  let open = false;
  served.script.crawl = async (request, job) => {
    job.log("[ 1 / 2 ] Waiting...");
    begun.resolve();
    while (!open) {
      await job.checkpoint();
      await setImmediate();
    }
    job.log("[ 2 / 2 ] Going on...");
    return crawlResult(request, job);
  };
  const goOn = (): void => {
    open = true;
  };
  return { begun: begun.promise, goOn };
}

async function createDemo(served: Served): Promise<void> {
  await served.app.domains.create(parseDomainInput({ domain_id: "DEMO", name: "Demo" }));
}

describe("crawls as jobs", () => {
  let served: Served;
  before(async () => {
    served = await serveScripted();
    await createDemo(served);
  });
  beforeEach(() => {
    served.script.crawl = countToThree;
  });
  after(() => served.close());

  it("json answers at the end, with the job and the outcome", async () => {
    const { status, json } = await ask(served.url, "GET /v2/crawler/crawl?domain_id=DEMO");
    assert.equal(status, 200);
    assert.equal(json["ok"], true);
    assert.equal(json["data"]?.["state"], "completed");
    assert.equal(json["data"]?.["mode"], "full");
    assert.equal(json["data"]?.["dry_run"], false);
    const job = await ask(served.url, `GET /v2/jobs/get?job_id=${json["data"]?.["job_id"]}`);
    assert.equal(job.json["data"]?.["endpoint"], "/v2/crawler/crawl?domain_id=DEMO");
    assert.equal(job.json["data"]?.["state"], "completed");
  });

  it("parameters reach the crawl", async () => {
    const query = "domain_id=DEMO&mode=incremental&scope=files&dry_run=true&confirm_deletes=true&format=html";
    let seen: unknown;
    served.script.crawl = async (request, job) => {
      const { mode, scope, confirmDeletes } = request;
      seen = { mode, scope, confirmDeletes, dryRun: job.dryRun };
      return crawlResult(request, job);
    };
    const reply = await ask(served.url, `GET /v2/crawler/crawl?${query}`);
    assert.equal(reply.type, "text/html");
    assert.match(
      reply.text,
      /<h1><bdi>Crawl of DEMO, incremental, dry run<\/bdi> <span class="quiet">jb_\d+<\/span><\/h1>/,
    );
    assert.deepEqual(seen, { mode: "incremental", scope: "files", confirmDeletes: true, dryRun: true });
  });

  it("problems and failures are 200 with ok=false", async () => {
    served.script.crawl = async (request, job) => crawlResult(request, job, ["Two files failed."]);
    const problems = await ask(served.url, "GET /v2/crawler/crawl?domain_id=DEMO");
    assert.equal(problems.status, 200);
    assert.equal(problems.json["ok"], false);
    assert.equal(problems.json["error"], "Two files failed.");
    served.script.crawl = async () => {
      throw new Error("list source: it broke");
    };
    const failure = await ask(served.url, "GET /v2/crawler/crawl?domain_id=DEMO");
    assert.equal(failure.status, 200);
    assert.match(String(failure.json["error"]), /list source: it broke/);
    assert.match(String(failure.json["data"]?.["job_id"]), /^jb_\d+$/);
  });

  it("the stream is the job file, byte for byte, live and afterwards", async () => {
    served.script.crawl = async (request, job) => {
      job.log("Eine Zeile ✓");
      return countToThree(request, job);
    };
    const live = await ask(served.url, "GET /v2/crawler/crawl?domain_id=DEMO&format=stream");
    assert.equal(live.type, "text/event-stream");
    const jobId = /"job_id":\s*"(jb_\d+)"/.exec(live.text)?.[1] ?? "";
    const file = (await served.readJobFile(jobId)).toString("utf8");
    assert.equal(live.text, file);
    const monitored = await ask(served.url, `GET /v2/jobs/monitor?job_id=${jobId}&format=stream`);
    assert.equal(monitored.text, file);
    assert.match(file, /^event: start_json\n[\s\S]*event: log\n[\s\S]*event: end_json\n/);
  });

  it("Last-Event-ID continues after that event; after the last there is nothing to wait for", async () => {
    const live = await ask(served.url, "GET /v2/crawler/crawl?domain_id=DEMO&format=stream");
    const jobId = /"job_id":\s*"(jb_\d+)"/.exec(live.text)?.[1] ?? "";
    const path = `GET /v2/jobs/monitor?job_id=${jobId}&format=stream`;
    const events = live.text.split(/(?<=\n\n)/);
    for (let seen = 1; seen < events.length; seen++) {
      const rest = await ask(served.url, path, { headers: { "last-event-id": String(seen) } });
      assert.equal(rest.text, events.slice(seen).join(""), `after event ${seen}`);
    }
    const done = await ask(served.url, path, { headers: { "last-event-id": String(events.length) } });
    assert.equal(done.status, 204);
    const wrong = await ask(served.url, path, { headers: { "last-event-id": "x" } });
    assert.equal(wrong.status, 400);
  });

  it("a client that hangs up does not stop the job", async () => {
    const { goOn } = gateCrawl(served);
    const hangUp = new AbortController();
    const response = await fetch(`${served.url}/v2/crawler/crawl?domain_id=DEMO&format=stream`, {
      signal: hangUp.signal,
    });
    const reader = response.body?.getReader();
    const first = new TextDecoder().decode((await reader?.read())?.value);
    const jobId = /"job_id":\s*"(jb_\d+)"/.exec(first)?.[1] ?? "";
    hangUp.abort();
    goOn();
    const end = await ask(served.url, `GET /v2/jobs/monitor?job_id=${jobId}&format=stream`);
    assert.match(end.text, /"state": "completed"/);
    const results = await ask(served.url, `GET /v2/jobs/results?job_id=${jobId}`);
    assert.equal(results.json["ok"], true);
    assert.equal(results.json["data"]?.["domain_id"], "DEMO");
  });

  it("silence is filled with comments in the stream, never in the file or inside an event", async (t) => {
    const served = await serveScripted({ keepAliveMs: 20 });
    t.after(() => served.close());
    await createDemo(served);
    const { begun, goOn } = gateCrawl(served);
    const response = await fetch(`${served.url}/v2/crawler/crawl?domain_id=DEMO&format=stream`);
    await begun;
    let text = "";
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += chunk;
      if (text.split(": keep-alive\n\n").length > 3) goOn();
    }
    const jobId = /"job_id":\s*"(jb_\d+)"/.exec(text)?.[1] ?? "";
    const file = (await served.readJobFile(jobId)).toString("utf8");
    assert.doesNotMatch(file, /keep-alive/);
    assert.equal(text.replaceAll(": keep-alive\n\n", ""), file);
    for (const event of text.split(/(?<=\n\n)/)) assert.match(event, /^(event: |: keep-alive\n\n$)/);
  });

  it("pause, resume and cancel; results wait for the end; the monitor tells the last line", async () => {
    const { begun } = gateCrawl(served);
    const crawl = ask(served.url, "GET /v2/crawler/crawl?domain_id=DEMO");
    await begun;
    const running = await ask(served.url, "GET /v2/jobs?state=running&router=crawler");
    assert.equal(running.json["data"]?.length, 1);
    const jobId = String((running.json["data"] as unknown as { job_id: string }[])[0]?.job_id);

    const early = await ask(served.url, `GET /v2/jobs/results?job_id=${jobId}`);
    assert.equal(early.status, 400);
    assert.equal(early.json["error"], `Results not available. Job '${jobId}' state is 'running'.`);
    assert.equal((await ask(served.url, `DELETE /v2/jobs/delete?job_id=${jobId}`)).status, 400);
    assert.equal((await ask(served.url, `GET /v2/jobs/control?job_id=${jobId}&action=resume`)).status, 400);
    assert.equal((await ask(served.url, `GET /v2/jobs/control?job_id=${jobId}&action=pause&force=true`)).status, 400);

    const paused = await ask(served.url, `GET /v2/jobs/control?job_id=${jobId}&action=pause`);
    assert.equal(paused.status, 200, paused.text);
    assert.equal(paused.json["data"]?.["action"], "pause");
    await until(jobId, "state", "paused");
    await until(jobId, "log", "Paused.");

    assert.equal((await ask(served.url, `GET /v2/jobs/control?job_id=${jobId}&action=resume`)).status, 200);
    await until(jobId, "state", "running");

    const asPage = await ask(served.url, `GET /v2/jobs/control?job_id=${jobId}&action=cancel&format=html`);
    assert.equal(asPage.json["error"], "Format 'html' not supported.");
    await until(jobId, "state", "running");
    assert.equal((await ask(served.url, `GET /v2/jobs/control?job_id=${jobId}&action=cancel`)).status, 200);
    const { status, json } = await crawl;
    assert.equal(status, 200);
    assert.equal(json["ok"], false);
    assert.equal(json["data"]?.["state"], "cancelled");
    assert.equal((await ask(served.url, `GET /v2/jobs/control?job_id=${jobId}&action=pause`)).status, 400);

    const page = (await ask(served.url, `GET /v2/jobs/monitor?job_id=${jobId}&format=html`)).text;
    assert.match(page, /<dt>Started<\/dt><dd><time/);
    assert.doesNotMatch(page, /start_utc/);
    const removed = await ask(served.url, `DELETE /v2/jobs/delete?job_id=${jobId}`);
    assert.equal(removed.json["data"]?.["job_id"], jobId);
    assert.equal((await ask(served.url, `GET /v2/jobs/get?job_id=${jobId}`)).status, 404);
  });

  /** Asks the monitor until it says so; a job that never gets there runs into the limit of the test. */
  async function until(jobId: string, field: string, value: string): Promise<void> {
    for (;;) {
      const { json } = await ask(served.url, `GET /v2/jobs/monitor?job_id=${jobId}`);
      if (String(json["data"]?.[field]) === value) return;
    }
  }

  it("an unknown source is 404 and leaves no job", async () => {
    const before = (await ask(served.url, "GET /v2/jobs?format=json")).json["data"]?.length;
    const reply = await ask(served.url, "GET /v2/crawler/crawl?domain_id=DEMO&source_id=nobody&format=stream");
    assert.equal(reply.status, 404);
    assert.equal((await ask(served.url, "GET /v2/jobs?format=json")).json["data"]?.length, before);
  });
});
