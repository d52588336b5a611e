// Failures below /openai are logged, and the client learns only what it may.
import assert from "node:assert/strict";
import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, afterEach, before, beforeEach, describe, it } from "node:test";
import { compose } from "../../src/app/compose.ts";
import { readConfig } from "../../src/app/config.ts";
import { serveHttp } from "../../src/http/serve-http.ts";
import { ask } from "./ask.ts";
import { type InventoryStage, openInventoryStage } from "./inventory-stage.ts";
import { type ProxiedServer, serveProxied } from "./scripted-service.ts";

const UNEXPECTED = "Something went wrong on the server. The reason is in its log.";

describe("a failure of the embedded backend below /openai", () => {
  let stage: InventoryStage;
  before(async () => {
    stage = await openInventoryStage();
  });
  after(() => stage.close());

  it("is in the log of the server, and the client learns no more than that", async () => {
    const id = await stage.store("lost");
    const { app } = stage;
    // Nothing is left to answer from.
    await app.close();
    const { status, json } = await ask(stage.url, `GET /openai/v1/vector_stores/${id}`);
    assert.deepEqual([status, json["error"]?.["message"], json["error"]?.["type"]], [500, UNEXPECTED, "server_error"]);
    const said = stage.logged.find((line) => line.startsWith(`GET /openai/v1/vector_stores/${id}: `)) ?? "";
    assert.match(said, /\n +at /, "with its stack");
    const inventory = await stage.ask(`GET vector_stores/get?vector_store_id=${id}`);
    assert.deepEqual([inventory.status, inventory.json.error], [500, UNEXPECTED]);
    assert.ok(stage.logged.some((line) => line.startsWith("GET /v2/inventory/vector_stores/get: ")));
  });
});

describe("a damaged store", () => {
  it("is told in the same words below /openai as elsewhere, and is in the log", async () => {
    const first = await openInventoryStage();
    const id = await first.store("damaged");
    await first.app.close();
    const index = join(first.folder, "index");
    for (const name of (await readdir(index)).filter((one) => one.startsWith(id)))
      await writeFile(join(index, name), "garbage ".repeat(1000));
    const app = await compose(readConfig({ PERSISTENT_STORAGE_PATH: first.folder }));
    const logged: string[] = [];
    const server = await serveHttp(app, { host: "127.0.0.1", port: 0, log: (line) => logged.push(line) });
    try {
      const wire = await ask(server.url, `POST /openai/v1/vector_stores/${id}/search`, { json: { query: "x" } });
      const query = await ask(server.url, `GET /query2?query=x&vsid=${id}&format=json`);
      assert.deepEqual([wire.status, query.status], [502, 502], wire.text);
      assert.equal(wire.json["error"]?.["message"], query.json["error"]);
      assert.equal(logged.filter((line) => line.startsWith(`POST /openai/v1/vector_stores/${id}/search: `)).length, 1);
    } finally {
      await server.close();
      await app.close();
      await first.close();
    }
  });
});

describe("a failure on the way to the service", () => {
  let at: ProxiedServer;
  beforeEach(async () => {
    at = await serveProxied();
  });
  afterEach(() => at.close());

  it("is in the log of the server when it cannot be reached", async () => {
    at.point({ baseUrl: "http://127.0.0.1:9/v1" });
    const { status, text } = await ask(at.url, "GET /openai/v1/models");
    assert.equal(status, 502);
    assert.doesNotMatch(text, /127\.0\.0\.1/);
    assert.match(at.logged[0] ?? "", /^GET \/openai\/v1\/models: .*ECONNREFUSED 127\.0\.0\.1:9/);
    assert.equal(at.logged.length, 1);
  });

  it("is in the log when it does not answer in time, or with a redirect", async () => {
    at.point({}, { idleTimeoutMs: 50 });
    at.service.answer = () => undefined;
    assert.equal((await ask(at.url, "GET /openai/v1/models")).status, 504);
    at.point({});
    at.service.answer = (_, outgoing) => void outgoing.writeHead(302, { location: "https://elsewhere.example/" }).end();
    const redirected = await ask(at.url, "GET /openai/v1/models");
    assert.equal(redirected.status, 502);
    assert.match(redirected.text, /answered with a redirect: its address is not set right/);
    assert.match(at.logged.join("\n"), /Headers Timeout[\s\S]*answered with a redirect/);
  });

  it("is none of ours when the service itself says so", async () => {
    at.service.answer = (_, outgoing) => void outgoing.writeHead(500).end("{}");
    assert.equal((await ask(at.url, "GET /openai/v1/models")).status, 500);
    assert.deepEqual(at.logged, []);
  });
});
