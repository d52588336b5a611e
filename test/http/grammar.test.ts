import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { ask } from "./ask.ts";
import { type Served, serveScripted } from "./scripted-app.ts";

/** The specification's notation, spelled out: what each address takes. `good` is a query that gets past the grammar. */
const ENDPOINTS = [
  { path: "/v2/domains", methods: ["GET"], formats: ["json", "html"], good: "format=json" },
  { path: "/v2/domains/get", methods: ["GET"], formats: ["json", "html"], good: "domain_id=D", missing: ["domain_id"] },
  { path: "/v2/domains/create", methods: ["POST"], formats: ["json", "html", "stream"], good: "dry_run=true" },
  { path: "/v2/domains/update", methods: ["PUT"], formats: ["json", "html", "stream"], good: "domain_id=D" },
  {
    path: "/v2/domains/delete",
    methods: ["DELETE", "GET"],
    formats: ["json", "html", "stream"],
    good: "domain_id=D&dry_run=true",
    missing: ["domain_id"],
  },
  {
    path: "/v2/crawler/crawl",
    methods: ["GET"],
    formats: ["json", "html", "stream"],
    good: "domain_id=D",
    missing: ["domain_id"],
  },
  { path: "/v2/jobs", methods: ["GET"], formats: ["json", "html"], good: "format=json" },
  { path: "/v2/jobs/get", methods: ["GET"], formats: ["json", "html"], good: "job_id=jb_1", missing: ["job_id"] },
  {
    path: "/v2/jobs/control",
    methods: ["GET"],
    formats: ["json", "html"],
    good: "job_id=jb_1&action=pause",
    missing: ["job_id", "action"],
  },
  {
    path: "/v2/jobs/monitor",
    methods: ["GET"],
    formats: ["json", "html", "stream"],
    good: "job_id=jb_1",
    missing: ["job_id"],
  },
  { path: "/v2/jobs/results", methods: ["GET"], formats: ["json", "html"], good: "job_id=jb_1", missing: ["job_id"] },
  {
    path: "/v2/jobs/delete",
    methods: ["DELETE", "GET"],
    formats: ["json", "html"],
    good: "job_id=jb_1",
    missing: ["job_id"],
  },
  { path: "/query2", methods: ["GET"], formats: ["html", "json"], good: "query=" },
  { path: "/query", methods: ["POST"], formats: ["json"], good: "x=1" },
] as const;

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
const FORMATS = ["json", "html", "ui", "stream", "zip", "", "JSON"];

function inJson(query: string): string {
  const params = new URLSearchParams(query);
  params.set("format", "json");
  return params.toString();
}

describe("the grammar", () => {
  let served: Served;
  before(async () => {
    served = await serveScripted();
  });
  after(() => served.close());

  for (const { path, methods, formats, good, ...rest } of ENDPOINTS) {
    const [first = "GET"] = methods;

    it(`${path}: a bare GET documents it as text`, async () => {
      const reply = await ask(served.url, `GET ${path}`);
      assert.equal(reply.status, 200);
      assert.equal(reply.type, "text/plain");
      assert.match(reply.headers.get("content-type") ?? "", /utf-8/i);
      assert.ok(reply.text.startsWith(`${path}\n`));
      assert.ok(reply.text.includes(`Method   ${methods.join(", ")}`), reply.text);
      assert.ok(reply.text.includes(`Format   ${formats[0]} (default)`), reply.text);
      for (const name of new URLSearchParams(good).keys()) {
        if (name !== "format" && name !== "x") assert.ok(reply.text.includes(`  ${name} `), `${name} is documented`);
      }
    });

    it(`${path}: other methods are refused in the specified words`, async () => {
      for (const method of METHODS.filter((one) => !methods.some((known) => known === one))) {
        const reply = await ask(served.url, `${method} ${path}?${inJson(good)}`);
        assert.equal(reply.status, 400, method);
        assert.equal(reply.json["error"], `HTTP method '${method}' not supported.`);
      }
    });

    it(`${path}: other formats are refused in the specified words`, async () => {
      for (const format of FORMATS.filter((one) => !formats.some((known) => known === one))) {
        const query = new URLSearchParams(good);
        query.set("format", format);
        const reply = await ask(served.url, `${first} ${path}?${query}`);
        assert.equal(reply.status, 400, format);
        assert.equal(reply.json["error"], `Format '${format}' not supported.`);
      }
    });

    it(`${path}: every format it has is answered in that format, errors too`, async () => {
      for (const format of formats) {
        const query = new URLSearchParams(good);
        query.set("format", format);
        const reply = await ask(served.url, `${first} ${path}?${query}`);
        const expected = format === "html" ? "text/html" : "application/json";
        if (reply.status !== 200 || format !== "stream") assert.equal(reply.type, expected, format);
      }
    });

    for (const name of "missing" in rest ? rest.missing : []) {
      it(`${path}: Missing '${name}'.`, async () => {
        const query = new URLSearchParams(good);
        query.set("format", "json");
        query.delete(name);
        for (const variant of [query.toString(), `${query}&${name}=`]) {
          const reply = await ask(served.url, `${first} ${path}?${variant}`);
          assert.equal(reply.status, 400);
          assert.deepEqual(reply.json, { ok: false, error: `Missing '${name}'.`, data: {} });
        }
      });
    }

    it(`${path}: an unknown parameter is ${path.startsWith("/v2") ? "refused, naming the accepted ones" : "tolerated"}`, async () => {
      const reply = await ask(served.url, `${first} ${path}?${inJson(good)}&dryrun=true`);
      if (path.startsWith("/v2")) {
        assert.equal(reply.status, 400);
        assert.match(String(reply.json["error"]), /^Unknown parameter 'dryrun'\. Accepted: .*format\.$/);
      } else {
        assert.doesNotMatch(reply.text, /dryrun/);
      }
    });

    it(`${path}: a parameter given twice is refused`, async () => {
      const [name, value] = [...new URLSearchParams(good)][0] ?? ["x", ""];
      const reply = await ask(served.url, `${first} ${path}?${name}=${value}&${name}=${value}`);
      assert.equal(reply.status, 400);
      assert.match(reply.text, /is given more than once/);
    });
  }

  const BAD_VALUES = [
    ["GET /v2/domains/get?domain_id=../x", "domain_id"],
    ["GET /v2/domains/get?domain_id=..%2Fx", "domain_id"],
    ["GET /v2/domains/get?domain_id=a%00b", "domain_id"],
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

  it("GET /v2 lists every endpoint", async () => {
    const { text } = await ask(served.url, "GET /v2");
    for (const { path, methods } of ENDPOINTS) assert.ok(text.includes(`${methods.join(", ")} ${path} `), path);
  });

  it("HEAD reads, and never changes", async () => {
    assert.equal((await ask(served.url, "HEAD /v2/jobs?format=json")).status, 200);
    assert.equal((await ask(served.url, "HEAD /v2/crawler/crawl?domain_id=D")).status, 400);
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
