// Files are registered one by one over HTTP and found, and signatures are dropped.
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { ask, type Reply } from "./ask.ts";
import { type OpenServer, openServer } from "./open-server.ts";

describe("files that are registered one by one", () => {
  let server: OpenServer;
  let folder: string;
  let file: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "lockstep-files-"));
    file = join(folder, "plan.md");
    await writeFile(file, "# Plan\n\nWalruses next year.");
    server = await openServer({ INGEST_FILE_ROOTS: folder });
  });
  after(async () => {
    await server?.close();
    await rm(folder, { recursive: true, force: true });
  });
  const post = (path: string, json: unknown): Promise<Reply> => ask(server.url, `POST ${path}`, { json });

  it("AddFileDocument answers as AddUrlDocument does, and search finds the file with what is known of it", async () => {
    const preview = await post("/v2/ingest/items/create?dry_run=true", { file });
    assert.equal(preview.status, 200, preview.text);
    const first = await post("/api/AddFileDocument", { source: file });
    assert.equal(first.status, 202, first.text);
    const { nextCrawlAt, message, ...told } = first.json as unknown as Record<string, unknown>;
    const id = String(told["id"]);
    assert.match(id, /^file_[a-z2-7]{26}$/);
    assert.equal(preview.json["data"]?.["id"], id);
    assert.ok(Date.parse(String(nextCrawlAt)) <= Date.now());
    assert.match(String(message), /^The file is registered\. It is queued/);
    const normalizedSource = `file://${file}`;
    assert.deepEqual(told, {
      id,
      status: "Pending",
      domain_id: "INGEST",
      reindexGeneration: 0,
      normalizedSource,
      displaySource: file,
    });
    const again = await post("/api/AddFileDocument", { source: normalizedSource, force: true });
    assert.deepEqual([again.json["id"], again.json["reindexGeneration"]], [id, 1]);
    assert.match(String(again.json["message"]), /registered before/);
    while (await server.app.ingest.workOne("test", AbortSignal.timeout(600_000)));
    const crawled = await ask(server.url, "GET /v2/crawler/crawl?domain_id=INGEST&mode=incremental&scope=web");
    assert.equal(crawled.json["ok"], true, crawled.text);
    const found = await ask(server.url, "GET /api/Search?q=walruses");
    const [result] = found.json["results"] as unknown as Record<string, Record<string, unknown>>[];
    assert.equal(result?.["id"], id, found.text);
    const { sourceType, fileSize } = (result?.["content"]?.["metadata"] ?? {}) as Record<string, unknown>;
    assert.deepEqual([sourceType, fileSize], ["file", 27]);
    const counts: Record<string, unknown> = {};
    for (const filters of [
      { sourceType: "file" },
      { sourceType: "url" },
      { sourceType: "blob" },
      { sourceHost: "file" },
      { sourceHost: "docs.example.com" },
    ]) {
      const reply = await post("/api/Search", { query: "walruses", filters });
      counts[Object.entries(filters).join()] = reply.json["totalResults"];
    }
    assert.deepEqual(counts, {
      "sourceType,file": 1,
      "sourceType,url": 0,
      "sourceType,blob": 0,
      "sourceHost,file": 1,
      "sourceHost,docs.example.com": 0,
    });
    const page = await ask(server.url, `GET /v2/ingest/items/get?item_id=${id}&format=html`);
    assert.deepEqual([page.status, page.text.includes("plan.md")], [200, true]);
  });

  it("drops the signature of a blob, and says so in every answer", async () => {
    const source = "https://a.blob.core.windows.net/abc/plan.pdf?sv=1&sp=r&sig=hunter2";
    const replies = [
      await post("/api/AddFileDocument", { source }),
      await post("/v2/ingest/items/create", { file: source }),
      await post("/v2/ingest/items/create?format=html", { file: source }),
    ];
    for (const { text } of replies)
      assert.match(text, /^(?!.*hunter2).*was dropped: a signature is neither kept nor used/s);
  });

  it("refuses what must not be read and what it does not understand", async () => {
    const wrong: readonly [string, unknown, RegExp][] = [
      ["/api/AddFileDocument", {}, /^Missing 'source'\.$/],
      ["/api/AddFileDocument", { source: "/etc/passwd" }, /INGEST_FILE_ROOTS allows/],
      ["/api/AddFileDocument", { source: "plan.md" }, /no absolute path/],
      ["/api/AddFileDocument", { source: file, title: "Plan" }, /^Unknown field 'title'/],
      ["/api/AddFileDocument", { source: "https://example.com/plan.md" }, /Register other addresses as web pages/],
    ];
    for (const [path, json, words] of wrong) {
      const reply = await post(path, json);
      assert.equal(reply.status, 400, reply.text);
      assert.match(String(reply.json["error"]), words);
    }
    assert.equal((await post("/api/AddFileDocument", { source: file, domain_id: "NOBODYS" })).status, 404);
    for (const json of [{}, { url: "https://example.com", file }, { file, title: "Plan" }]) {
      assert.equal((await post("/v2/ingest/items/create", json)).status, 400);
    }
  });
});
