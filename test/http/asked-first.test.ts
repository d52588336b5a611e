// An address that deletes something asks first when a person opens it, and then does it once.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { parseDomainInput } from "../kinds.ts";
import { ask, type Reply } from "./ask.ts";
import { type Served, serveScripted } from "./scripted-app.ts";

type Headers = Record<string, string>;

const TYPED: Headers = { "sec-fetch-site": "none", "sec-fetch-dest": "document" };
/** What a browser sends to a server on another machine without https: nothing of where it comes from. */
const PLAIN: readonly Headers[] = [
  { "upgrade-insecure-requests": "1", accept: "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8" },
  { "upgrade-insecure-requests": "1" },
  { accept: "application/xhtml+xml, Text/HTML;q=0.9" },
  {
    accept: "image/avif,image/webp,*/*;q=0.8",
    "user-agent": "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101",
  },
];
const OWN: Headers = { "sec-fetch-site": "same-origin", "sec-fetch-dest": "document" };

/** The address that the button of the page leads to. */
function confirmed({ text }: Reply): string {
  const [, action = ""] = /<form[^>]* action="([^"]*)"[^>]* data-asks/.exec(text) ?? [];
  const fields = [...text.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)">/g)];
  return `${action}?${new URLSearchParams(fields.map(([, name = "", value = ""]): [string, string] => [name, value]))}`;
}

function isAsked({ status, type, text }: Reply): boolean {
  return status === 200 && type === "text/html" && text.includes("Nothing has been changed yet");
}

const ASKED = [
  "/v2/domains/delete?domain_id=DEMO",
  "/v2/domains/delete?domain_id=DEMO&mode=with_vector_store&format=json",
  "/v2/domains/delete?domain_id=DEMO&dry_run=false",
  "/v2/crawler/crawl?domain_id=DEMO",
  "/v2/crawler/crawl?domain_id=DEMO&mode=full&format=stream",
  "/v2/crawler/crawl?domain_id=DEMO&mode=incremental&confirm_deletes=true",
  "/v2/crawler/download_data?domain_id=DEMO&mode=full",
  "/v2/crawler/process_data?domain_id=DEMO&mode=full",
  "/v2/crawler/embed_data?domain_id=DEMO&mode=full",
  "/v2/crawler/cleanup_metadata?domain_id=DEMO",
  "/v2/maintenance?domain_id=DEMO",
  "/v2/jobs/delete?job_id=jb_1",
  "/v2/reports/delete?report_id=crawls/2026-01-15_14-25-00_DEMO_all_full",
  "/v2/keys/delete?key_id=lk_1",
  "/v2/ingest/rebuild?domain_id=DEMO&mode=blueGreen",
  "/v2/ingest/items/delete?item_id=url_abcdefghijklmnopqrstuvwxyz&domain_id=DEMO",
  "/v2/inventory/files/delete?file_id=file-1",
  "/v2/inventory/vector_stores/delete?vector_store_id=vs_1",
  "/v2/inventory/vector_stores/files/delete?vector_store_id=vs_1&file_id=file-1",
  "/v2/inventory/assistants/delete?assistant_id=asst_1",
  "/v2/inventory/responses/delete?response_id=resp_1",
  "/v2/inventory/vector_stores/replicate?source_vector_store_ids=vs_1&target_vector_store_ids=vs_2&remove_target_files_not_in_sources=true",
  "/v2/domains/generations/rollback?domain_id=DEMO&generation=1",
  "/v2/domains/generations/release?domain_id=DEMO",
  "/v2/domains/uploads/remove?domain_id=DEMO&path=a.md",
  "/v2/domains/questions/remove?domain_id=DEMO&question=why",
  "/v2/domains/questions/limits?domain_id=DEMO&max_drop=100&min_lost=1000",
  "/v2/crawler/crawl?domain_id=DEMO&mode=incremental&confirm_worse=true",
  "/v2/answers/choose?server=Ollama&model=llama3.2",
];
const ONE_CALL = [
  "/v2/domains/delete?domain_id=DEMO&dry_run=true",
  "/v2/crawler/crawl?domain_id=DEMO&mode=full&dry_run=true",
  "/v2/crawler/crawl?domain_id=DEMO&mode=incremental",
  "/v2/crawler/crawl?domain_id=DEMO&mode=incremental&format=stream",
  "/v2/jobs/control?job_id=jb_1&action=cancel",
  "/v2/ingest/rebuild?domain_id=DEMO",
  "/v2/maintenance?dry_run=true",
  "/v2/domains/delete",
];

describe("an address that was typed, or opened from a mail", () => {
  let served: Served;
  before(async () => {
    served = await serveScripted({ settings: { RATE_LIMIT_PER_SECOND: "0" } });
    await served.app.domains.create(parseDomainInput({ domain_id: "DEMO", name: "Demo" }));
  });
  after(() => served.close());

  const names = async (): Promise<string[]> => (await served.app.domains.list()).domains.map((one) => one.domainId);

  for (const path of ASKED) {
    it(`is asked about first: ${path}`, async () => {
      const before = (await served.app.jobs.list()).length;
      const reply = await ask(served.url, `GET ${path}`, { headers: TYPED });
      assert.ok(isAsked(reply), `${reply.status} ${reply.text.slice(0, 200)}`);
      assert.deepEqual(await names(), ["DEMO"]);
      assert.equal((await served.app.jobs.list()).length, before);
      const { entries } = await served.app.audit.list({ limit: 10, offset: 0, filter: "" });
      assert.deepEqual(entries, [], "nothing was done");
    });
  }

  it("and whoever says yes gets what was asked for, once", async () => {
    await served.app.domains.create(parseDomainInput({ domain_id: "OTHER", name: "Other" }));
    const path = "/v2/domains/delete?domain_id=OTHER&format=html";
    const address = confirmed(await ask(served.url, `GET ${path}`, { headers: TYPED }));
    assert.match(address, /^\/v2\/domains\/delete\?.*domain_id=OTHER/);
    const elsewhere = address.replace("OTHER", "DEMO");
    assert.ok(isAsked(await ask(served.url, `GET ${elsewhere}`, { headers: OWN })), "yes to this is not yes to that");
    const done = await ask(served.url, `GET ${address}`, { headers: OWN });
    assert.equal(done.status, 200);
    assert.ok(!isAsked(done));
    assert.deepEqual(await names(), ["DEMO"]);
    await served.app.domains.create(parseDomainInput({ domain_id: "OTHER", name: "Other" }));
    assert.ok(isAsked(await ask(served.url, `GET ${address}`, { headers: OWN })), "a reload asks again");
    assert.deepEqual((await names()).sort(), ["DEMO", "OTHER"]);
  });

  it("and what it starts does not remember the token", async () => {
    const path = "/v2/crawler/crawl?domain_id=DEMO&mode=full&format=json";
    const address = confirmed(await ask(served.url, `GET ${path}`, { headers: TYPED }));
    const token = new URLSearchParams(address.split("?")[1]).get("confirmation") ?? "";
    assert.ok(token.length >= 20);
    const done = await ask(served.url, `GET ${address}`, { headers: OWN });
    const jobId = String(done.json["data"]?.["job_id"] ?? done.json["job_id"] ?? "jb_1");
    assert.equal(done.json["ok"], true, done.text);
    assert.doesNotMatch(String(await served.readJobFile(jobId)), new RegExp(token));
    const { entries } = await served.app.audit.list({ limit: 10, offset: 0, filter: "crawl" });
    assert.doesNotMatch(JSON.stringify(entries), new RegExp(token));
  });

  for (const path of ONE_CALL) {
    it(`is one call: ${path}`, async () => {
      const reply = await ask(served.url, `GET ${path}`, { headers: TYPED });
      assert.ok(!isAsked(reply), path);
      assert.notEqual(reply.status, 403, path);
    });
  }

  it("is asked about first also where a browser says nothing of where it comes from", async () => {
    for (const headers of PLAIN) {
      const reply = await ask(served.url, "GET /v2/domains/delete?domain_id=DEMO", { headers });
      assert.ok(isAsked(reply), `${JSON.stringify(headers)}: ${reply.status} ${reply.text.slice(0, 200)}`);
      assert.ok((await names()).includes("DEMO"));
      const crawl = await ask(served.url, "GET /v2/crawler/crawl?domain_id=DEMO&mode=incremental", { headers });
      assert.ok(!isAsked(crawl) && crawl.status === 200, crawl.text);
    }
  });

  it("a yes counts also for values of several lines, which a form sends with CR LF", async () => {
    for (const lineEnd of ["%0A", "%0D", "%0D%0A"]) {
      const path = `/v2/inventory/vector_stores/replicate?source_vector_store_ids=vs_1,${lineEnd}vs_2&target_vector_store_ids=vs_3&remove_target_files_not_in_sources=true&format=json`;
      const asked = await ask(served.url, `GET ${path}`, { headers: TYPED });
      assert.ok(isAsked(asked), asked.text.slice(0, 200));
      const address = confirmed(asked).replace(/%0D%0A|%0D|%0A/g, "%0D%0A");
      assert.ok(!isAsked(await ask(served.url, `GET ${address}`, { headers: OWN })), lineEnd);
    }
  });

  it("programs, and our own pages, are not asked", async () => {
    const own = { ...OWN, referer: `${served.url}/v2/crawler?format=ui` };
    const fetched = { "sec-fetch-site": "same-origin", "sec-fetch-dest": "empty" };
    for (const headers of [{}, own, fetched, { origin: served.url }] as Headers[]) {
      const reply = await ask(served.url, "GET /v2/crawler/crawl?domain_id=DEMO&mode=full&format=json", { headers });
      assert.equal(reply.json["ok"], true, JSON.stringify(headers));
    }
  });
});

describe("the same with keys", () => {
  let served: Served;
  let key = "";
  let cookie = "";
  let other = "";
  const DELETE = "GET /v2/domains/delete?domain_id=DEMO&format=json";
  before(async () => {
    served = await serveScripted({ settings: { RATE_LIMIT_PER_SECOND: "0" } });
    await served.app.domains.create(parseDomainInput({ domain_id: "DEMO", name: "Demo" }));
    const signIn = async (name: string): Promise<string> => {
      const made = await served.app.access.keys.create({ name, role: "admin", expiresAt: "" });
      key = made.key;
      const reply = await ask(served.url, "POST /sign-in", {
        form: { key: made.key },
        headers: { origin: served.url },
      });
      return (reply.headers.get("set-cookie") ?? "").split(";")[0] ?? "";
    };
    cookie = await signIn("ada");
    other = await signIn("bob");
  });
  after(() => served.close());

  it("a browser that is signed in is asked, also where it says nothing of where it comes from", async () => {
    const plain: Headers[] = [TYPED, {}, { authorization: "Basic dTpw" }, { ...TYPED, authorization: "Basic dTpw" }];
    for (const headers of plain) {
      const reply = await ask(served.url, DELETE, { headers: { ...headers, cookie } });
      assert.ok(isAsked(reply), JSON.stringify(headers));
    }
    assert.equal((await ask(served.url, DELETE, { headers: { cookie, referer: "http://evil.example/" } })).status, 403);
    assert.equal((await served.app.domains.list()).domains.length, 1);
  });

  it("is asked about first where a document's own address, shown as a link on our page, leads there", async () => {
    assert.ok(isAsked(await ask(served.url, DELETE, { headers: { ...OWN, cookie } })));
    assert.equal((await served.app.domains.list()).domains.length, 1);
  });

  it("a yes counts for who was asked", async () => {
    const address = confirmed(await ask(served.url, DELETE, { headers: { ...TYPED, cookie } }));
    assert.ok(isAsked(await ask(served.url, `GET ${address}`, { headers: { ...OWN, cookie: other } })));
    assert.equal((await ask(served.url, `GET ${address}`, { headers: OWN })).status, 401);
  });

  it("a yes counts also where the browser hides where it comes from", async () => {
    const address = confirmed(await ask(served.url, DELETE, { headers: { cookie } }));
    const reply = await ask(served.url, `GET ${address}`, { headers: { cookie } });
    assert.equal(reply.json["ok"], true, reply.text);
    assert.deepEqual((await served.app.domains.list()).domains, []);
  });

  it("a key is only sent by who means it", async () => {
    for (const headers of [{ authorization: `Bearer ${key}` }, { "x-api-key": key, cookie }] as Headers[]) {
      await served.app.domains.create(parseDomainInput({ domain_id: "DEMO", name: "Demo" }));
      const reply = await ask(served.url, DELETE, { headers: { ...TYPED, ...headers } });
      assert.equal(reply.json["ok"], true, reply.text);
    }
  });
});
