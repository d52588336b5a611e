// The registry's answers call an item indexed when readers are shown it, whatever its record says.
import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, describe, it } from "node:test";
import type { ItemId } from "../../src/contracts/ids.ts";
import type { IngestStatus } from "../../src/contracts/registry.ts";
import { type RunningServer, serveHttp } from "../../src/http/serve-http.ts";
import { storageFolder } from "../../src/mirror/layout.ts";
import { runCommand } from "../cli/run-command.ts";
import { ask, type Reading } from "../http/ask.ts";
import { INGEST, IngestStage } from "./ingest-stage.ts";

describe("what the registry tells", () => {
  let stage: IngestStage;
  let server: RunningServer;
  let [first, second] = ["" as ItemId, "" as ItemId];
  before(async () => {
    stage = await IngestStage.open();
    stage.pages.answers.set("/first", { text: "The oldword stands." });
    first = await stage.add("/first");
    await stage.round();
    stage.pages.answers.set("/first", { text: "The newword stands." });
    stage.pages.answers.set("/second", { text: "The secondword stands." });
    second = await stage.add("/second");
    stage.later(2);
    await stage.round();
    server = await serveHttp(stage.app, { host: "127.0.0.1", port: 0, log: () => undefined });
  });
  after(async () => {
    await server.close();
    await stage.close();
  });

  const get = async (path: string): Promise<Reading> => (await ask(server.url, `GET ${path}`)).json;
  const listed = async (more = ""): Promise<unknown[]> => {
    const { data } = await get(`/v2/ingest/items?format=json&sort=displaySource${more}`);
    return (data as unknown as Reading[]).map((row) => [
      row["id"],
      row["status"],
      String(row["lastIndexedDocId"]) !== "",
    ]);
  };
  const counted = async (): Promise<unknown[]> => {
    const status = await get("/api/SearchStatus");
    const { Indexed, Crawled } = (status["byStatus"] ?? {}) as unknown as Record<IngestStatus, number>;
    const { status: word, shownGeneration, newestGeneration, pinned } = status as unknown as Record<string, unknown>;
    return [word, shownGeneration, newestGeneration, pinned, Indexed, Crawled];
  };

  it("counts and lists what readers are shown, and names both generations", async () => {
    assert.deepEqual(await counted(), ["Ready", 2, 2, false, 2, 0]);
    assert.deepEqual(await listed(), [
      [first, "Indexed", true],
      [second, "Indexed", true],
    ]);
  });

  it("while the domain is rolled back, says of each item what readers are shown, in every answer", async () => {
    const stored = await get(`/v2/ingest/items/get?item_id=${first}`);
    await stage.app.rollback(INGEST, 1, { dryRun: false });
    assert.deepEqual(await counted(), ["RolledBack", 1, 2, true, 0, 2]);
    assert.deepEqual(await listed(), [
      [first, "Crawled", true],
      [second, "Crawled", false],
    ]);
    assert.deepEqual(await listed("&status=Indexed"), []);
    assert.equal((await listed("&status=Crawled&limit=1&offset=1")).length, 1);
    const { page } = await get("/v2/ingest/items?format=json&status=Crawled&limit=1");
    assert.deepEqual(page, { offset: 0, limit: 1, total: 2, more: true });

    const { data } = await get(`/v2/ingest/items/get?item_id=${first}`);
    assert.notEqual(data?.["lastIndexedDocId"], stored["data"]?.["lastIndexedDocId"], "the document of generation 1");
    const [member] = (data?.["members"] ?? []) as unknown as Reading[];
    assert.equal(member?.["lastIndexedDocId"], data?.["lastIndexedDocId"]);
    assert.notEqual(member?.["contentHash"], data?.["contentHash"], "the registry has a newer one");
    const heldBack = [{ domain_id: "INGEST", shownGeneration: 1, newestGeneration: 2 }];
    assert.deepEqual((await get("/v2/ingest/status?domain_id=INGEST"))["data"]?.["heldBack"], heldBack);
    const ui = await ask(server.url, "GET /v2/ingest/items?format=ui");
    assert.match(ui.text, /is rolled back to <a[^>]*>generation 1 of 2<\/a>/);
    assert.deepEqual(await stage.app.ingest.behind(), [], "the index has everything");
    const cli = await runCommand(stage.storage, ["items"], stage.settings);
    assert.match(cli.out, /^Crawled .*\nCrawled /);
  });

  it("goes on crawling meanwhile, finds nothing behind, and says Indexed as soon as the rollback is released", async () => {
    stage.pages.answers.set("/second", { text: "The laterword stands." });
    stage.later(2);
    assert.equal((await stage.round()).length, 1);
    assert.deepEqual(await counted(), ["RolledBack", 1, 3, true, 0, 2]);
    assert.deepEqual([await stage.round(), await stage.found("laterword")], [[], []]);
    await stage.app.release(INGEST);
    assert.deepEqual(await counted(), ["Ready", 3, 3, false, 2, 0]);
    assert.deepEqual(await stage.found("laterword"), ["/second"]);
  });

  it("searches as of a generation over /api/Search, by GET and POST; numbers that mean nothing get a sentence", async () => {
    const texts = async (path: string, json?: object): Promise<unknown[]> => {
      const reply = await ask(server.url, path, json && { json });
      assert.equal(reply.status, 200, reply.text);
      return (reply.json["results"] as unknown as Reading[]).map((one) => one["content"]?.["text"]);
    };
    const said = async (generation: number): Promise<string> =>
      String([
        await texts(`GET /api/Search?q=first&generation=${generation}`),
        await texts("POST /api/Search", { query: "first", generation }),
      ]);
    assert.match(await said(1), /oldword.*oldword/s);
    assert.doesNotMatch(await said(1), /newword/);
    const { json } = await ask(server.url, "GET /v2/search?query=first&domain_id=INGEST&generation=99");
    for (const [number, status] of [
      ["99", 400],
      ["x", 400],
      ["-1", 400],
    ] as const) {
      const there = await ask(server.url, `GET /api/Search?q=first&generation=${number}`);
      const elsewhere = await ask(server.url, `GET /v2/search?query=first&domain_id=INGEST&generation=${number}`);
      assert.deepEqual([there.status, there.json["error"]], [status, elsewhere.json["error"]], number);
    }
    assert.match(String(json["error"]), /generation 99 is not kept/);
  });

  it("finds documents that were lost in the index alone, and the next round brings them back", async () => {
    assert.deepEqual((await counted()).slice(3), [false, 2, 0]);
    assert.deepEqual(await stage.found("newword"), ["/first"]);
    const { vectorStoreId } = await stage.app.domains.get(INGEST);
    const db = new DatabaseSync(join(storageFolder(stage.storage, "index"), `${vectorStoreId}.sqlite`));
    db.exec("DELETE FROM documents WHERE item_id = (SELECT item_id FROM documents_active WHERE path LIKE '%second%')");
    db.exec("UPDATE state SET visible_revision = visible_revision + 1");
    db.close();
    assert.equal((await stage.item(second)).status, "Crawled", "readers are not shown it");
    assert.deepEqual(
      (await stage.app.ingest.behind()).map(({ sourceId, items }) => [sourceId, items]),
      [["urls", 1]],
    );
    await stage.round();
    assert.equal((await stage.item(second)).status, "Indexed");
    assert.deepEqual(await stage.found("laterword"), ["/second"]);
    assert.deepEqual(await stage.app.ingest.behind(), []);
  });
});
