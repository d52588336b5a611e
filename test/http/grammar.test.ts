// Requests that do not follow the grammar of endpoints are refused by name.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { ask } from "./ask.ts";
import { type Served, serveScripted } from "./scripted-app.ts";

// That every endpoint keeps to the notation is checked in notation.test.ts, and that it does as it says in openapi.test.ts.
describe("the grammar", () => {
  let served: Served;
  before(async () => {
    served = await serveScripted();
  });
  after(() => served.close());

  const BAD_VALUES = [
    ["GET /v2/domains/get?domain_id=../x", "domain_id"],
    ["GET /v2/domains/get?domain_id=..%2Fx", "domain_id"],
    [`GET /v2/domains/get?domain_id=${"x".repeat(65)}`, "domain_id"],
    ["DELETE /v2/domains/delete?domain_id=..%5Cx", "domain_id"],
    ["DELETE /v2/domains/delete?domain_id=D&dry_run=yes", "dry_run"],
    ["DELETE /v2/domains/delete?domain_id=D&dry_run=", "dry_run"],
    ["GET /v2/crawler/crawl?domain_id=d%C3%B6m", "domain_id"],
    ["GET /v2/crawler/crawl?domain_id=D&mode=fast", "mode"],
    ["GET /v2/crawler/crawl?domain_id=D&scope=planets", "scope"],
    ["GET /v2/crawler/crawl?domain_id=D&source_id=../../etc", "source_id"],
    ["GET /v2/crawler/crawl?domain_id=D&dry_run=TRUE", "dry_run"],
    ["GET /v2/crawler/crawl?domain_id=D&confirm_deletes=1", "confirm_deletes"],
    ["GET /v2/jobs?state=failed", "state"],
    ["GET /v2/jobs/get?job_id=42", "job_id"],
    ["GET /v2/jobs/get?job_id=jb_1.running", "job_id"],
    ["GET /v2/jobs/monitor?job_id=*", "job_id"],
    ["GET /v2/jobs/control?job_id=jb_1&action=stop", "action"],
    ["GET /v2/jobs/control?job_id=jb_1&action=cancel&force=please", "force"],
    ["GET /query2?query=x&results=0&format=json", "results"],
    ["GET /query2?query=x&results=51&format=json", "results"],
    ["GET /query2?query=x&results=1e1&format=json", "results"],
  ] as const;
  for (const [request, name] of BAD_VALUES) {
    it(`${request.slice(0, 80)}: 400 naming '${name}' and what is accepted`, async () => {
      const reply = await ask(served.url, request);
      assert.equal(reply.status, 400);
      assert.match(String(reply.json["error"]), new RegExp(`^'${name}' must be .+; got '`));
    });
  }

  const UNKNOWN_IDS = [
    "GET /v2/domains/get?domain_id=NOBODY",
    "PUT /v2/domains/update?domain_id=NOBODY",
    "DELETE /v2/domains/delete?domain_id=NOBODY",
    "GET /v2/crawler/crawl?domain_id=NOBODY",
    "GET /v2/crawler/crawl?domain_id=NOBODY&format=stream",
    "GET /v2/jobs/get?job_id=jb_999",
    "GET /v2/jobs/control?job_id=jb_999&action=cancel",
    "GET /v2/jobs/monitor?job_id=jb_999",
    "GET /v2/jobs/monitor?job_id=jb_999&format=stream",
    "GET /v2/jobs/results?job_id=jb_999",
    "DELETE /v2/jobs/delete?job_id=jb_999",
    "GET /v2/nothing",
    "POST /nothing",
    "GET /assets/../http-app.ts",
    "GET /assets/..%2Fhttp-app.ts",
  ];
  for (const request of UNKNOWN_IDS) {
    it(`${request}: 404`, async () => {
      const reply = await ask(served.url, request);
      assert.equal(reply.status, 404);
      assert.equal(reply.json["ok"], false);
      assert.notEqual(reply.json["error"], "");
    });
  }

  it("HEAD reads, and never changes", async () => {
    assert.equal((await ask(served.url, "HEAD /v2/jobs?format=json")).status, 200);
    assert.equal((await ask(served.url, "HEAD /v2/crawler/crawl?domain_id=D")).status, 400);
    assert.equal((await ask(served.url, "HEAD /v2/crawler/crawl")).type, "text/plain", "as the bare GET");
  });

  it("/health tells version, backend and uptime", async () => {
    const { status, json } = await ask(served.url, "GET /health");
    assert.equal(status, 200);
    assert.equal(json["ok"], true);
    assert.match(String(json["version"]), /^\d+\.\d+\.\d+$/);
    assert.equal(json["backend"], "embedded");
    assert.equal(typeof json["uptime_seconds"], "number");
  });
});
