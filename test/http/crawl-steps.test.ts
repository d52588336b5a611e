// The endpoints of a crawl and its steps pass every parameter on and refuse what they cannot do.
import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { compose } from "../../src/app/compose.ts";
import { readConfig } from "../../src/app/config.ts";
import { parseSourceId } from "../../src/contracts/ids.ts";
import { type CrawlRequest, STEPS, type Step } from "../../src/engine/crawl-request.ts";
import { noCounts } from "../../src/engine/tally.ts";
import { serveHttp } from "../../src/http/serve-http.ts";
import { ask } from "./ask.ts";
import { countToThree, crawlResult, type Served, serveScripted } from "./scripted-app.ts";

const SOURCE = {
  source_id: "documents",
  site_url: "https://example.sharepoint.com/sites/demo",
  sharepoint_url_part: "/Shared Documents",
  filter: "",
};
const DEMO = { domain_id: "DEMO", name: "Demo", file_sources: [SOURCE] };
const ACTIONS: readonly [action: string, steps: readonly Step[]][] = [
  ["crawl", STEPS],
  ["download_data", ["download"]],
  ["process_data", ["process"]],
  ["embed_data", ["embed"]],
];

describe("/v2/crawler: a crawl and its steps", () => {
  let served: Served;
  let asked: CrawlRequest | undefined;
  let dryRun = false;
  /** Without their state, which a job that has just ended may still be about to change. */
  const jobNames = async (): Promise<string[]> =>
    (await readdir(join(served.folder, "jobs", "crawler"))).map((name) => name.replace(/\.\w+$/, "")).sort();
  before(async () => {
    served = await serveScripted();
    served.script.crawl = (request, job) => {
      asked = request;
      dryRun = job.dryRun;
      return countToThree(request, job);
    };
    await ask(served.url, "POST /v2/domains/create", { json: DEMO });
  });
  after(() => served.close());

  for (const [action, steps] of ACTIONS) {
    it(`${action} asks for ${steps.join(", ")}: everything, unless told otherwise`, async () => {
      const reply = await ask(served.url, `GET /v2/crawler/${action}?domain_id=DEMO`);
      assert.equal(reply.status, 200, reply.text);
      assert.equal(reply.json["data"]?.["state"], "completed");
      assert.deepEqual(asked, {
        domainId: "DEMO",
        steps,
        mode: "full",
        scope: "all",
        sourceId: undefined,
        vectorStoreId: undefined,
        swap: false,
        force: false,
        visibility: "crawl",
        confirmDeletes: false,
        confirmWorse: false,
        retryBatches: 2,
        retryFailed: false,
        checksum: false,
      });
    });

    it(`${action} passes every parameter on, and its job is called after it`, async () => {
      const all =
        "domain_id=DEMO&mode=incremental&scope=files&source_id=documents&dry_run=true&retry_batches=10&retry_failed=true&confirm_deletes=true&confirm_worse=true&checksum=true&visibility=source";
      const reply = await ask(served.url, `GET /v2/crawler/${action}?${all}&format=stream`);
      assert.equal(reply.type, "text/event-stream");
      assert.deepEqual(asked, {
        domainId: "DEMO",
        steps,
        mode: "incremental",
        scope: "files",
        sourceId: "documents",
        vectorStoreId: undefined,
        swap: false,
        force: false,
        visibility: "source",
        confirmDeletes: true,
        confirmWorse: true,
        retryBatches: 10,
        retryFailed: true,
        checksum: true,
      });
      const { json } = await ask(served.url, "GET /v2/jobs?router=crawler");
      const job = json["data"]?.["0"];
      assert.deepEqual([job?.["action"], job?.["object"], dryRun], [action, "DEMO", true]);
      const name = `_[${action}]_[${String(job?.["job_id"])}]_[DEMO]`;
      assert.ok((await jobNames()).some((known) => known.endsWith(name)));
    });

    it(`${action} passes force on`, async () => {
      await ask(served.url, `GET /v2/crawler/${action}?domain_id=DEMO&mode=full&force=true`);
      assert.equal(asked?.force, true);
    });

    it(`${action} answers as a page too, and explains itself`, async () => {
      assert.equal((await ask(served.url, `GET /v2/crawler/${action}?domain_id=DEMO&format=html`)).type, "text/html");
      const { text } = await ask(served.url, `GET /v2/crawler/${action}`);
      for (const part of ["retry_batches", "from 1 to 10. Default: 2.", "full or incremental. Default: full."]) {
        assert.ok(text.includes(part), `${part} in ${text}`);
      }
    });

    const REFUSED: readonly [query: string, status: number, error: RegExp][] = [
      ["format=json", 400, /^Missing 'domain_id'\.$/],
      ["domain_id=NOPE", 404, /^Domain 'NOPE' does not exist\.$/],
      ["domain_id=..%2fx", 400, /^'domain_id' must be 1 to 64 letters/],
      ["domain_id=DEMO&source_id=nope", 404, /^Source 'nope' does not exist/],
      ["domain_id=DEMO&mode=fast", 400, /^'mode' must be full or incremental; got 'fast'\.$/],
      [
        "domain_id=DEMO&scope=mail",
        400,
        /^'scope' must be all or files or lists or sitepages or web or folders or blobs or s3 or git; got 'mail'\.$/,
      ],
      ["domain_id=DEMO&retry_batches=0", 400, /^'retry_batches' must be a whole number from 1 to 10; got '0'\.$/],
      ["domain_id=DEMO&retry_batches=11", 400, /^'retry_batches' must be/],
      ["domain_id=DEMO&dryrun=true", 400, /^Unknown parameter 'dryrun'\. Accepted: .*dry_run/],
      ["domain_id=DEMO&dry_run=", 400, /^'dry_run' must be true or false/],
    ];
    it(`${action} refuses what it cannot do, and makes no job of it`, async () => {
      const before = await jobNames();
      for (const [query, status, error] of REFUSED) {
        for (const format of ["", "&format=stream"]) {
          if (query.startsWith("format") && format) continue;
          const reply = await ask(served.url, `GET /v2/crawler/${action}?${query}${format}`);
          assert.equal(reply.status, status, `${query}: ${reply.text}`);
          assert.match(String(reply.json["error"]), error);
        }
      }
      assert.deepEqual(await jobNames(), before);
      const foreign = { headers: { "sec-fetch-site": "cross-site" } };
      assert.equal((await ask(served.url, `GET /v2/crawler/${action}?domain_id=DEMO`, foreign)).status, 403);
      assert.deepEqual(await jobNames(), before);
    });
  }

  it("cleanup_metadata is a job too, and answers with the counts", async () => {
    const path = "/v2/crawler/cleanup_metadata";
    const reply = await ask(served.url, `GET ${path}?domain_id=DEMO&dry_run=true`);
    const { job_id, ...data } = reply.json["data"] as unknown as Record<string, unknown>;
    assert.deepEqual(data, { state: "completed", domain_id: "DEMO", dry_run: true, removed: 1, remaining: 2 });
    const job = await ask(served.url, `GET /v2/jobs/get?job_id=${String(job_id)}`);
    assert.equal(job.json["data"]?.["action"], "cleanup_metadata");
    assert.match((await ask(served.url, `GET ${path}?domain_id=DEMO&format=html`)).text, />remaining</);
    assert.equal((await ask(served.url, `GET ${path}?domain_id=NOPE`)).status, 404);
    assert.equal((await ask(served.url, `GET ${path}?domain_id=DEMO&mode=full`)).status, 400);
    const foreign = { headers: { "sec-fetch-site": "cross-site" } };
    assert.equal((await ask(served.url, `GET ${path}?domain_id=DEMO`, foreign)).status, 403);
    assert.match((await ask(served.url, `GET ${path}`)).text, /^\/v2\/crawler\/cleanup_metadata\n/);
  });

  it("maintenance is a job for administrators, of one domain or of all, and answers with what was freed", async () => {
    const path = "/v2/maintenance";
    const reply = await ask(served.url, `GET ${path}?dry_run=true`);
    const { job_id, state, domain_id, dry_run, freed } = reply.json["data"] as unknown as Record<string, unknown>;
    assert.deepEqual([state, domain_id, dry_run], ["completed", "", true]);
    assert.deepEqual(freed, [{ kind: "staging", count: 2, bytes: 2048 }]);
    const job = await ask(served.url, `GET /v2/jobs/get?job_id=${String(job_id)}`);
    assert.deepEqual([job.json["data"]?.["action"], job.json["data"]?.["dry_run"]], ["maintenance", true]);
    assert.match((await ask(served.url, `GET ${path}?domain_id=DEMO&format=html`)).text, />staging</);
    assert.match((await ask(served.url, `GET ${path}?domain_id=DEMO&format=stream`)).text, /event: end_json/);
    assert.equal((await ask(served.url, `GET ${path}?domain_id=NOPE`)).status, 404);
    assert.equal((await ask(served.url, `GET ${path}?dryrun=true`)).status, 400);
    const foreign = { headers: { "sec-fetch-site": "cross-site" } };
    assert.equal((await ask(served.url, `GET ${path}?dry_run=true`, foreign)).status, 403);
    const audit = await readdir(join(served.folder, "audit"));
    const lines = (await Promise.all(audit.map((name) => readFile(join(served.folder, "audit", name), "utf8")))).join(
      "",
    );
    assert.match(lines, /\/v2\/maintenance/);
  });

  it("the overview tells what a step did, and links the report of a crawl; a step is not taken for a crawl", async () => {
    const usual = served.script.crawl;
    const counts = noCounts();
    const report_id = "crawls/2026-01-15_14-25-00_DEMO_all_full";
    served.script.crawl = async (request, job) => {
      const embed = { ...counts, added: request.steps.length === 1 ? 5 : 7 };
      const source_id = parseSourceId("documents");
      const told = { source_id, source_type: "file_sources", complete: true, error: "" } as const;
      const sources = [{ ...told, download: { ...counts, added: 3 }, process: counts, embed }];
      const result = { ...crawlResult(request, job), sources };
      return request.steps.length === 1 ? result : { ...result, report_id };
    };
    await ask(served.url, "GET /v2/crawler/crawl?domain_id=DEMO");
    await ask(served.url, "GET /v2/crawler/embed_data?domain_id=DEMO");
    served.script.crawl = usual;
    const { text } = await ask(served.url, "GET /");
    assert.match(text, /Embedding of <bdi>DEMO<\/bdi>[\s\S]*?<div class="outcome">5 added<\/div>/);
    assert.match(text, /<p class="outcome">3 added · /);
    const link = `/v2/reports/get?report_id=${encodeURIComponent(report_id)}&amp;format=html`;
    assert.ok(text.includes(`3 added · <a href="${link}">Report`), text.slice(text.indexOf('id="jobs"')));
  });

  it("a vector store can be named where nothing but the embedding is asked for", async () => {
    await ask(served.url, "GET /v2/crawler/embed_data?domain_id=DEMO&vector_store_id=vs_other");
    assert.equal(asked?.vectorStoreId, "vs_other");
    for (const action of ["crawl", "download_data", "process_data"]) {
      const reply = await ask(served.url, `GET /v2/crawler/${action}?domain_id=DEMO&vector_store_id=vs_other`);
      assert.equal(reply.status, 400);
      assert.match(String(reply.json["error"]), /^Unknown parameter 'vector_store_id'/);
    }
    const bad = await ask(served.url, "GET /v2/crawler/embed_data?domain_id=DEMO&vector_store_id=..%2f..%2fx");
    assert.match(String(bad.json["error"]), /^'vector_store_id' must be/);
  });
});

describe("/v2/crawler/embed_data and the vector store", () => {
  let folder: string;
  let url: string;
  let close: () => Promise<void>;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "lockstep-steps-"));
    const app = await compose(readConfig({ PERSISTENT_STORAGE_PATH: folder }));
    const server = await serveHttp(app, { host: "127.0.0.1", port: 0 });
    url = server.url;
    close = async () => {
      await app.close();
      await server.close();
    };
    await ask(url, "POST /v2/domains/create", { json: { ...DEMO, vector_store_id: "vs_gone" } });
    await ask(url, "POST /v2/domains/create", {
      json: { domain_id: "OTHER", name: "O", vector_store_id: "vs_theirs" },
    });
  });
  after(async () => {
    await close();
    await rm(folder, { recursive: true, force: true });
  });

  const REFUSED: readonly [query: string, status: number, error: RegExp][] = [
    ["", 404, /^The vector store 'vs_gone' of domain 'DEMO' does not exist any more\. Clear vector_store_id/],
    ["&vector_store_id=vs_nope", 404, /^The vector store 'vs_nope' does not exist\. Name one that does, or none/],
    ["&vector_store_id=vs_theirs", 400, /^The vector store 'vs_theirs' belongs to domain 'OTHER'\./],
    ["&source_id=nope", 404, /^Source 'nope' does not exist in domain 'DEMO'\. It has: 'documents'\.$/],
    ["&scope=lists&source_id=documents", 404, /^Source 'documents' does not exist in domain 'DEMO'/],
  ];
  for (const [query, status, error] of REFUSED) {
    it(`refuses '${query}' before there is a job`, async () => {
      const reply = await ask(url, `GET /v2/crawler/embed_data?domain_id=DEMO${query}`);
      assert.equal(reply.status, status, reply.text);
      assert.match(String(reply.json["error"]), error);
      assert.deepEqual((await ask(url, "GET /v2/jobs?format=json")).json["data"], []);
    });
  }
});
