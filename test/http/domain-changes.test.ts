// Renaming and deleting a domain over HTTP are jobs with dry runs and clear refusals.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { type RunningServer, serveHttp } from "../../src/http/serve-http.ts";
import { openStage, type Stage } from "../stories/stage.ts";
import { ask, type Reply } from "./ask.ts";

/** The whole product against the sandbox tenant, over HTTP. */
async function serve(backend?: "remote"): Promise<{ stage: Stage; server: RunningServer; close(): Promise<void> }> {
  const stage = await openStage({}, backend);
  await stage.plant();
  const server = await serveHttp(stage.world.app, { host: "127.0.0.1", port: 0 });
  return {
    stage,
    server,
    async close() {
      await server.close();
      await stage.close();
    },
  };
}

describe("renaming a domain over HTTP", () => {
  let served: Awaited<ReturnType<typeof serve>>;
  before(async () => {
    served = await serve();
  });
  after(() => served.close());
  const update = (from: string, body: object, more = ""): Promise<Reply> =>
    ask(served.server.url, `PUT /v2/domains/update?domain_id=${from}${more}`, { json: body });
  const search = async (id: string): Promise<unknown> =>
    (await ask(served.server.url, `GET /v2/search?domain_id=${id}&query=zebra&format=json`)).json["ok"];

  it("a dry run tells what would be renamed, and makes no job", async () => {
    const jobs = await ask(served.server.url, "GET /v2/jobs?router=domains&format=json");
    const { status, json } = await update("STORY", { domain_id: "NEXT" }, "&dry_run=true");
    assert.equal(status, 200);
    assert.equal(json["data"]?.["domain_id"], "NEXT");
    assert.match(String(json["data"]?.["would_rename"]), /crawler\/STORY\/01_files\/docs/);
    assert.equal((await ask(served.server.url, "GET /v2/domains/get?domain_id=NEXT")).status, 404);
    assert.equal((await ask(served.server.url, "GET /v2/jobs?router=domains&format=json")).text, jobs.text);
  });

  it("renames and changes in one go, as a job with progress, and the search goes on", async () => {
    const stream = await update("STORY", { domain_id: "NEXT", name: "Next", schedule: "0 2 * * *" }, "&format=stream");
    assert.equal(stream.type, "text/event-stream");
    assert.match(stream.text, /\[ 1 \/ 3 \] Paths in the map files[\s\S]*\[ 3 \/ 3 \] Marks in the vector store/);
    assert.match(stream.text, /event: end_json[\s\S]*"ok": ?true[\s\S]*"domain_id": ?"NEXT"/);
    const { json } = await ask(served.server.url, "GET /v2/domains/get?domain_id=NEXT&format=json");
    assert.equal(json["data"]?.["name"], "Next");
    assert.match(String(json["data"]?.["next_run_utc"]), /T02:00:00\.000000Z$/);
    assert.equal((await ask(served.server.url, "GET /v2/domains/get?domain_id=STORY")).status, 404);
    assert.equal(await search("NEXT"), true);
  });

  it("json answers at the end of that job", async () => {
    const { status, json } = await update("NEXT", { domain_id: "THIRD" });
    assert.equal(status, 200, JSON.stringify(json));
    assert.equal(json["ok"], true);
    assert.match(String(json["data"]?.["job_id"]), /^jb_\d+$/);
    assert.deepEqual([json["data"]?.["domain_id"], json["data"]?.["name"]], ["THIRD", "Next"]);
    assert.equal(existsSync(join(served.stage.world.storage, "crawler", "THIRD", "01_files")), true);
  });

  it("refuses what cannot be: a name that is taken, a bad one, a bad field beside it, a domain in use", async () => {
    await ask(served.server.url, "POST /v2/domains/create", {
      json: { domain_id: "TAKEN", name: "EndpointArguments" },
    });
    const refusals: readonly [body: object, status: number, error: RegExp][] = [
      [{ domain_id: "taken" }, 400, /Domain 'TAKEN' already exists/],
      [{ domain_id: "../x" }, 400, /^'domain_id' must be 1 to 64 letters/],
      [{ domain_id: "FINE", schedule: "at night" }, 400, /'schedule' must be five fields.*"0 2 \* \* \*"/],
    ];
    for (const [body, status, error] of refusals) {
      const reply = await update("THIRD", body);
      assert.equal(reply.status, status, reply.text);
      assert.match(String(reply.json["error"]), error);
    }
    const { runner } = served.stage.world.app;
    let finish = (): void => {};
    const finished = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const start = { router: "crawler", action: "crawl", object: "THIRD", dryRun: false, endpoint: "test" };
    const running = await runner.start(start, async () => {
      await finished;
      return { ok: true, error: "", data: {} };
    });
    const busy = await update("THIRD", { domain_id: "FINE" });
    assert.equal(busy.status, 409);
    assert.match(String(busy.json["error"]), new RegExp(running.jobId));
    finish();
    await running.done;
    assert.equal((await update("THIRD", { domain_id: "FINE" })).status, 200);
  });
});

for (const backend of [undefined, "remote"] as const) {
  describe(`deleting a domain over HTTP, ${backend ?? "embedded"} backend`, () => {
    let served: Awaited<ReturnType<typeof serve>>;
    before(async () => {
      served = await serve(backend);
    });
    after(() => served.close());
    const stores = async (): Promise<string[]> => {
      const ids: string[] = [];
      for await (const { id } of served.stage.world.openai().vectorStores.list()) ids.push(id);
      return ids.sort();
    };
    const remove = (more: string): Promise<Reply> =>
      ask(served.server.url, `DELETE /v2/domains/delete?domain_id=STORY${more}`);

    it("with_vector_store takes the store along, and those it was swapped for", async () => {
      if (backend === "remote") await served.stage.crawl({ mode: "full", swap: true });
      const before = await stores();
      assert.equal(before.length, backend === "remote" ? 2 : 1);
      const dry = await remove("&mode=with_vector_store&dry_run=true");
      for (const id of before) assert.match(String(dry.json["data"]?.["would_delete"]), new RegExp(id));
      assert.deepEqual(await stores(), before);
      const stream = await remove("&mode=with_vector_store&format=stream");
      assert.match(stream.text, /Deleting vector store 'vs_[\s\S]*Deleting domain 'STORY'[\s\S]*"ok": ?true/);
      assert.deepEqual(await stores(), []);
      assert.equal(existsSync(join(served.stage.world.storage, "crawler", "STORY")), false);
    });
  });
}

describe("deleting a domain", () => {
  it("leaves its store, and never takes one that another domain names", async (t) => {
    const served = await serve();
    t.after(() => served.close());
    const { world } = served.stage;
    const domain = join(world.storage, "domains", "STORY", "domain.json");
    const { vector_store_id } = JSON.parse(readFileSync(domain, "utf8")) as { vector_store_id: string };
    const url = served.server.url;
    const wrong = await ask(url, "DELETE /v2/domains/delete?domain_id=STORY&mode=everything");
    assert.equal(wrong.status, 400);
    assert.match(String(wrong.json["error"]), /'mode' must be default or with_vector_store/);
    assert.equal((await ask(url, "DELETE /v2/domains/delete?domain_id=STORY")).status, 200);
    const json = { domain_id: "HEIR", name: "Heir", vector_store_id };
    assert.equal((await ask(url, "POST /v2/domains/create", { json })).status, 200);
    const hits = await ask(url, "GET /v2/search?domain_id=HEIR&query=zebra&format=json");
    assert.match(hits.text, /zebra desk/);

    // By hand, since the endpoints refuse it.
    const folder = join(world.storage, "domains", "RIVAL");
    mkdirSync(folder);
    writeFileSync(join(folder, "domain.json"), JSON.stringify({ name: "Rival", vector_store_id }));
    assert.equal((await ask(url, "DELETE /v2/domains/delete?domain_id=HEIR&mode=with_vector_store")).status, 200);
    assert.match((await ask(url, "GET /v2/search?domain_id=RIVAL&query=zebra&format=json")).text, /zebra desk/);
  });
});
