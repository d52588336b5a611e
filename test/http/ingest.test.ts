// Addresses are registered, fetched, indexed and found over HTTP.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type JobId, parseDomainId } from "../../src/contracts/ids.ts";
import { type SandboxSite, startCompanySite } from "../../src/sandbox/site/start-site.ts";
import { type AskInit, ask, type Reading, type Reply } from "./ask.ts";
import { type OpenServer, openServer } from "./open-server.ts";

const INGEST = parseDomainId("INGEST");

describe("registered addresses, from the first request to the search", () => {
  let site: SandboxSite;
  let server: OpenServer;
  let id = "";
  before(async () => {
    site = await startCompanySite();
    server = await openServer({ WEB_ALLOW_PRIVATE_NETWORKS: "true", WEB_HOST_DELAY_MS: "0" });
  });
  after(async () => {
    await server?.close();
    await site?.close();
  });

  const post = (path: string, json: unknown, init: AskInit = {}): Promise<Reply> =>
    ask(server.url, `POST ${path}`, { ...init, json });
  const get = async (path: string): Promise<Reading> => {
    const reply = await ask(server.url, `GET ${path}`);
    assert.equal(reply.status, 200, reply.text);
    return reply.json;
  };
  const item = async (): Promise<Reading> =>
    (await get(`/v2/ingest/items/get?item_id=${id}`))["data"] ?? assert.fail("no item");
  const rows = async (query: string): Promise<readonly Record<string, unknown>[]> =>
    (await get(`/v2/ingest/items?format=json${query}`))["data"] as unknown as Record<string, unknown>[];
  const look = async (): Promise<void> => {
    while (await server.app.ingest.workOne("test", AbortSignal.timeout(600_000)));
  };
  const crawl = async (): Promise<void> => {
    const ended = await get("/v2/crawler/crawl?domain_id=INGEST&mode=incremental&scope=web");
    assert.deepEqual([ended["ok"], ended["error"]], [true, ""], JSON.stringify(ended));
  };
  const ended = async (job: Reading | undefined): Promise<Reading> => {
    for await (const _event of server.app.jobs.follow(String(job) as JobId, { signal: AbortSignal.timeout(600_000) }));
    return get(`/v2/jobs/results?job_id=${String(job)}`);
  };

  it("knows an address under one id, however it is written, and fetches nothing to tell it", async () => {
    const address = `${site.origin}/guides/winter`;
    const preview = await post("/v2/ingest/items/create?dry_run=true", { url: address });
    assert.deepEqual([preview.status, (await rows("")).length], [200, 0], preview.text);
    const first = await post("/api/AddUrlDocument", { url: `${address}/?utm_source=mail#top`, includeImages: true });
    assert.equal(first.status, 202, first.text);
    id = String(first.json["id"]);
    assert.match(id, /^url_[a-z2-7]{26}$/);
    assert.equal(preview.json["data"]?.["id"], id);
    const { nextCrawlAt, message, ...told } = first.json as unknown as Record<string, unknown>;
    assert.ok(Date.parse(String(nextCrawlAt)) <= Date.now());
    assert.match(String(message), /^The address is registered\./);
    assert.deepEqual(told, {
      id,
      status: "Pending",
      domain_id: "INGEST",
      reindexGeneration: 0,
      normalizedSource: address,
      displaySource: address,
    });
    const again = await post("/api/AddUrlDocument", { url: address.replace("http", "HTTP"), title: "Snow" });
    assert.equal(again.json["id"], id);
    assert.match(String(again.json["message"]), /registered before/);
    assert.deepEqual(
      (await rows("")).map((row) => [row["id"], row["title"], row["status"]]),
      [[id, "Snow", "Pending"]],
    );
  });

  it("refuses what is no address, and what it does not understand", async () => {
    const refused = async (json: unknown, words: RegExp): Promise<void> => {
      const reply = await post("/api/AddUrlDocument", json);
      assert.equal(reply.status, 400, reply.text);
      assert.deepEqual(Object.keys(reply.json), ["error"]);
      assert.match(String(reply.json["error"]), words);
    };
    await refused({}, /^Missing 'url'\.$/);
    await refused({ url: "file:///etc/passwd" }, /http/);
    await refused({ url: "not an address" }, /http/);
    await refused({ url: site.origin, dryrun: true }, /^Unknown field 'dryrun'/);
    await refused({ url: site.origin, force: "yes" }, /'force' must be true or false/);
    await refused({ url: site.origin, domain_id: "no/domain" }, /domain_id/);
    assert.equal((await post("/api/AddUrlDocument", { url: site.origin, domain_id: "NOBODYS" })).status, 404);
  });

  it("is looked at, indexed, and found with its picture", async () => {
    await look();
    assert.equal((await item())["status"], "Crawled", JSON.stringify(await item()));
    await crawl();
    const known = await item();
    assert.deepEqual([known["status"], known["httpStatusCode"], known["imageCount"]], ["Indexed", 200, 1]);
    assert.equal(known["members"]?.[0]?.["domain_id"], "INGEST");
    const events = (known["history"] as unknown as { event: string }[]).map(({ event }) => event);
    assert.deepEqual([events[0], events.at(-1)], ["registered", "indexed"]);
    const found = await get("/api/Search?q=studded+tyres&nestImages=true");
    const [result] = found["results"] as unknown as Reading[];
    assert.equal(result?.["id"], id, JSON.stringify(found));
    assert.equal(result?.["content"]?.["metadata"]?.["title"], "Snow");
    const image = result?.["images"]?.[0];
    assert.equal(image?.["alt"], "A Dray on studded tyres in the snow");
    const thumbnail = await ask(server.url, `GET ${String(image?.["thumbnail"])}`);
    assert.deepEqual([thumbnail.status, thumbnail.type], [200, "image/jpeg"]);
    const vectors = await get("/api/Search?q=winter&type=vector&content=image");
    assert.equal(vectors["results"]?.[0]?.["id"], image?.["id"]);
    const { host, hostname } = new URL(site.origin);
    for (const [sourceHost, count] of [
      ["example.com", 0],
      [host, 1],
      [hostname, 1],
    ] as const) {
      const reply = await post("/api/Search", { query: "studded tyres", filters: { sourceHost } });
      assert.equal(reply.json["totalResults"], count, `${sourceHost}: ${reply.text}`);
    }
  });

  it("tells how many there are, in which state", async () => {
    const status = await get("/api/SearchStatus");
    assert.deepEqual(
      [status["status"], status["documentCount"], status["itemCount"], status["byStatus"]?.["Indexed"], status["due"]],
      ["Ready", 1, 1, 1, 0],
    );
    assert.deepEqual([status["changeRate"], status["errorRate"]], [1, 0]);
    assert.ok(Date.parse(String(status["lastUpdated"])) > 0);
    assert.equal((await get("/v2/ingest/status?domain_id=INGEST"))["data"]?.["itemCount"], 1);
    const page = (await ask(server.url, "GET /v2/ingest/status?domain_id=INGEST&format=html")).text;
    assert.match(page, /1 address is known\./);
    assert.doesNotMatch(page, /itemCount|oldestDue/);
    assert.equal((await ask(server.url, "GET /api/SearchStatus?domain_id=NOBODYS")).status, 404);
  });

  it("refuses an address with a secret in a sentence that does not repeat it, and takes one that only looks like it", async () => {
    const before = (await rows("")).length;
    const at = "https://docs.example.com/wiki";
    const secrets = [
      ...[
        "private_token=hunter2",
        "a=1&feed_token=hunter2",
        "access_key=hunter2",
        "sessionid=hunter2",
        "rssToken=hunter2",
      ],
      ...["code=hunter2e9f86d081884c7d659a2f&x=1", "key=sk-hunter2abcdefgh1234", "auth=Bearer%20hunter2hunter2"],
    ].map((query) => `${at}?${query}`);
    for (const url of [...secrets, "https://bob:hunter2@docs.example.com/", `${at}#id_token=hunter2`]) {
      for (const path of ["/api/AddUrlDocument", "/v2/ingest/items/create", "/v2/ingest/items/create?format=html"]) {
        const reply = await post(path, { url });
        assert.equal(reply.status, 400, url);
        assert.match(reply.text, /^(?!.*hunter2).*The address holds .*neither kept nor used/s);
      }
    }
    assert.equal((await rows("")).length, before);
    for (const query of ["key=red", "code=DE", "auth=basic", "sessionid=42", "page_token=CAUQAA"]) {
      const reply = await post("/v2/ingest/items/create?dry_run=true", { url: `${at}?${query}` });
      assert.deepEqual([reply.status, reply.json["data"]?.["normalizedSource"]], [200, `${at}?${query}`], reply.text);
    }
  });

  it("counts every request to index it again, by id and by address", async () => {
    const byId = await post("/api/ReindexItem", { id, force: true });
    assert.deepEqual([byId.status, byId.json["reindexGeneration"]], [202, 1], byId.text);
    const byAddress = await post("/api/ReindexItem", { source: `${site.origin}/guides/winter/` });
    assert.deepEqual([byAddress.json["id"], byAddress.json["reindexGeneration"]], [id, 2]);
    const put = await ask(server.url, `PUT /v2/ingest/items/update?item_id=${id}`);
    assert.deepEqual([put.status, put.json["data"]?.["reindexGeneration"]], [200, 3], put.text);
    await look();
    const known = await item();
    assert.deepEqual([known["processedGeneration"], known["reindexRequested"]], [3, false]);
    for (const [json, status] of [
      [{}, 400],
      [{ id, source: "https://docs.example.com" }, 400],
      [{ id, force: false }, 400],
      [{ id: "url_nobody" }, 404],
      [{ source: "https://docs.example.com" }, 404],
    ] as const) {
      assert.equal((await post("/api/ReindexItem", json)).status, status, JSON.stringify(json));
    }
    const secret = await post("/api/ReindexItem", { source: "https://bob:hidden@docs.example.com/?sig=hidden&a=1" });
    assert.deepEqual([secret.status, secret.text.includes("hidden")], [404, false], secret.text);
  });

  it("rebuilds softly by queueing everything, and blue-green by replacing what readers see in one generation", async () => {
    const soft = await post("/api/RebuildIndex", { mode: "soft" });
    assert.equal(soft.status, 202, soft.text);
    const queued = await ended(soft.json["job_id"]);
    assert.deepEqual([queued["ok"], queued["data"]?.["queued"]], [true, 1], JSON.stringify(queued));
    await look();
    await crawl();
    const before = (await server.app.generations(INGEST)).newest;
    site.site.edit("/guides/winter", "Studs are sold out.");
    const replaced = await post("/api/RebuildIndex", { mode: "blueGreen", force: true });
    const result = await ended(replaced.json["job_id"]);
    assert.deepEqual([result["ok"], result["error"]], [true, ""], JSON.stringify(result));
    assert.equal((await item())["status"], "Indexed");
    assert.match(JSON.stringify((await get("/api/Search?q=sold+out"))["results"]), /Studs are sold out/);
    assert.equal((await server.app.generations(INGEST)).newest, before + 1);
    const foreseen = (await get("/v2/ingest/rebuild?dry_run=true"))["data"];
    assert.deepEqual([foreseen?.["would_queue"], foreseen?.["queued"]], [1, undefined]);
    assert.equal((await post("/api/RebuildIndex", { mode: "hard" })).status, 400);
    assert.equal((await post("/api/RebuildIndex", { domain_id: "NOBODYS" })).status, 404);
  });

  it("lists the registry in parts, sorted and filtered", async () => {
    for (const path of ["/guides/keys", "/nowhere", "/trial"]) {
      await post("/v2/ingest/items/create", { url: site.origin + path });
    }
    const paths = async (query: string): Promise<string[]> =>
      (await rows(query)).map((row) => new URL(String(row["normalizedSource"])).pathname);
    assert.deepEqual(await paths("&sort=displaySource"), ["/guides/keys", "/guides/winter", "/nowhere", "/trial"]);
    assert.deepEqual(await paths("&sort=-displaySource&limit=2"), ["/trial", "/nowhere"]);
    assert.deepEqual(await paths("&sort=displaySource&limit=2&offset=3"), ["/trial"]);
    assert.deepEqual(await paths("&status=Indexed"), ["/guides/winter"]);
    assert.deepEqual(await paths("&filter=SNOW"), ["/guides/winter"]);
    assert.deepEqual(await paths("&host=docs.example.com"), []);
    await post("/v2/ingest/items/create", { url: "https://münchen.example/rathaus" });
    const [munich, ...others] = await rows(`&host=${encodeURIComponent(" MÜNCHEN.example")}`);
    assert.deepEqual([munich?.["sourceHost"], others], ["xn--mnchen-3ya.example", []]);
    await ask(server.url, `DELETE /v2/ingest/items/delete?item_id=${String(munich?.["id"])}`);
    assert.deepEqual(await paths("&domain_id=NOBODYS"), []);
    const page = (await get("/v2/ingest/items?limit=3"))["page"];
    assert.deepEqual(page, { offset: 0, limit: 3, total: 4, more: true });
    assert.equal((await ask(server.url, "GET /v2/ingest/items?status=Fresh")).status, 400);
    assert.equal((await ask(server.url, "GET /v2/ingest/status?domain_id=NOBODYS")).status, 404);
    const domains = await ask(server.url, "GET /v2/domains?format=ui");
    assert.match(domains.text, /registered addresses/);
  });

  it("leaves search when it is taken out", async () => {
    const before = await get("/api/Search?q=studded+tyres");
    assert.equal(before["results"]?.[0]?.["url"], `${site.origin}/guides/winter`);
    const gone = await ask(server.url, `DELETE /v2/ingest/items/delete?item_id=${id}`);
    assert.equal(gone.status, 200, gone.text);
    await crawl();
    assert.equal((await ask(server.url, `GET /v2/ingest/items/get?item_id=${id}`)).status, 404);
    const found = await get("/api/Search?q=studded+tyres");
    const urls = (found["results"] as unknown as { url: string }[]).map(({ url }) => url);
    assert.ok(!urls.includes(`${site.origin}/guides/winter`), urls.join());
  });

  it("needs the role to change, not to look, and writes down who changed what", async () => {
    await server.app.access.keys.create({ name: "eve", role: "admin", expiresAt: "" });
    const reader = await server.app.access.keys.create({ name: "ada", role: "read", expiresAt: "" });
    const operator = await server.app.access.keys.create({ name: "bob", role: "operate", expiresAt: "" });
    const as = (key: string): AskInit => ({ headers: { "api-key": key } });
    for (const path of ["/api/AddUrlDocument", "/api/ReindexItem", "/api/RebuildIndex"]) {
      const refused = await post(path, { url: site.origin }, as(reader.key));
      assert.equal(refused.status, 403, path);
      assert.deepEqual(Object.keys(refused.json), ["error"]);
    }
    assert.equal((await ask(server.url, "GET /api/Search?q=keys", as(reader.key))).status, 200);
    assert.equal((await post("/api/Search", { query: "keys" }, as(reader.key))).status, 200);
    assert.equal((await ask(server.url, "GET /api/SearchStatus", as(reader.key))).status, 200);
    const stranger = await ask(server.url, "GET /api/SearchStatus");
    assert.deepEqual([stranger.status, Object.keys(stranger.json)], [401, ["error"]]);
    assert.equal((await post("/api/AddUrlDocument", { url: site.origin }, as(operator.key))).status, 202);
    const { entries } = await server.app.audit.list({ limit: 50, offset: 0, filter: "" });
    const lines = entries.map(({ who, action, what }) => `${who.name} ${action} ${JSON.stringify(what)}`);
    assert.ok(
      lines.some((line) => /^bob POST \/api\/AddUrlDocument .*127\.0\.0\.1/.test(line)),
      lines.join("\n"),
    );
  });
});
