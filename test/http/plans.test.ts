// Plans over HTTP: stored by a dry run, shown whole, downloaded, applied and deleted; what moved meanwhile is left alone.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { DOMAIN } from "../engine/world.ts";
import { ask } from "./ask.ts";
import { type ServedWorld, serveWorld } from "./served-world.ts";

const FILES = 1203;

interface Reply {
  readonly data: {
    readonly view: string;
    readonly rows: readonly Row[];
    readonly estimate: Readonly<Record<string, unknown>>;
  };
  readonly page: { readonly total: number };
}

interface Row {
  readonly change: string;
  readonly folder?: string;
  readonly path?: string;
  readonly items?: number;
}

describe("/v2/crawler/plans", () => {
  let served: ServedWorld;
  let planId = "";
  const get = async (query: string) => {
    const { status, json } = await ask(served.url, `GET /v2/crawler/plans/get?plan_id=${planId}${query}`);
    assert.equal(status, 200, JSON.stringify(json));
    return json as unknown as Reply;
  };
  before(async () => {
    served = await serveWorld();
    for (let n = 0; n < FILES; n++) {
      await served.world.change("add", { path: `f${n % 7}/${n}.txt`, text: `Note number ${n}.` });
    }
  });
  after(() => served.close());

  it("plan=store is a dry run that names its plan, changes nothing, and is not asked first, whatever the mode", async () => {
    const asked = await ask(served.url, `GET /v2/crawler/crawl?domain_id=${DOMAIN}&mode=full&plan=store&format=html`, {
      headers: { "sec-fetch-site": "none", "sec-fetch-mode": "navigate" },
    });
    assert.doesNotMatch(asked.text, /Is this meant\?/);
    const { json } = await ask(served.url, `GET /v2/crawler/crawl?domain_id=${DOMAIN}&mode=incremental&plan=store`);
    assert.equal(json["error"], "");
    planId = String(json["data"]?.["plan_id"]);
    assert.match(planId, /^plan_[0-9a-f]{16}$/);
    assert.equal(json["data"]?.["dry_run"], true);
    assert.deepEqual(await served.world.disk(), []);
    const wrong = await ask(served.url, `GET /v2/crawler/crawl?domain_id=${DOMAIN}&plan=keep`);
    assert.deepEqual([wrong.status, wrong.json["error"]], [400, "'plan' must be store; got 'keep'."]);
  });

  it("shows all of it, group by group and item by item, in pages, however many there are", async () => {
    const { data, page } = await get("");
    const { rows, estimate } = data;
    assert.equal(data.view, "groups");
    assert.deepEqual(
      rows.map(({ change, folder, items }) => `${change} ${folder} ${items}`),
      Array.from({ length: 7 }, (_, n) => `added f${n} ${n < FILES % 7 ? 172 : 171}`),
    );
    assert.equal(page.total, 7);
    const paths = new Set<string>();
    for (let offset = 0; ; offset += 500) {
      const part = await get(`&view=items&limit=500&offset=${offset}`);
      assert.equal(part.page.total, FILES);
      for (const { path } of part.data.rows) paths.add(path ?? "");
      if (part.data.rows.length < 500) break;
    }
    assert.equal(paths.size, FILES);
    assert.equal((await get("&view=items&folder=f3&limit=1000")).data.rows.length, 172);
    assert.equal((await get("&view=items&folder=&limit=1000")).data.rows.length, 0);
    assert.deepEqual(
      (await get("&filter=f2/9.TXT")).data.rows.map(({ path }) => path),
      ["f2/9.txt"],
    );
    assert.equal((await get("&step=embed&change=added&view=items&limit=1")).page.total, FILES);
    assert.deepEqual([estimate["documents_to_embed"], estimate["documents_of_unknown_size"]], [FILES, 0]);
    assert.ok(Number(estimate["bytes_to_fetch"]) > FILES * 10);
  });

  it("a page shows names as text, whatever they say", async () => {
    const name = "<img src=x onerror=alert(1)>\u202Efdp.txt";
    const plan = "plan_hostile";
    const { plans } = served.world.app;
    const copy = await new Response(ReadableStream.from(await plans.file(planId))).text();
    const lines = copy.split("\n").map((line) => line.replaceAll('"f0/0.txt"', JSON.stringify(`f0/${name}`)));
    const { createHash } = await import("node:crypto");
    const body = `${lines.slice(0, -2).join("\n")}\n`;
    const end = { end: true, items: lines.length - 4, sha256: createHash("sha256").update(body).digest("hex") };
    async function* bytes(): AsyncGenerator<Uint8Array> {
      yield Buffer.from(`${body}${JSON.stringify(end)}\n`);
    }
    const taken = await plans.take(bytes(), plan);
    const { text } = await ask(
      served.url,
      `GET /v2/crawler/plans/get?plan_id=${taken}&format=ui&view=items&filter=onerror`,
    );
    assert.doesNotMatch(text, /<img src=x/);
    assert.match(text, /&lt;img src=x/);
    await plans.discard(taken);
  });

  it("can be downloaded, and is listed by domain", async () => {
    const { text, type, status } = await ask(served.url, `GET /v2/crawler/plans/file?plan_id=${planId}`);
    assert.deepEqual([status, type], [200, "application/jsonl"]);
    assert.equal(text.trimEnd().split("\n").length, 2 * FILES + 3);
    const listed = async (domain: string): Promise<unknown[]> => {
      const { json } = await ask(served.url, `GET /v2/crawler/plans?domain_id=${domain}`);
      return (json["data"] as unknown as { plan_id: string }[]).map((plan) => plan.plan_id);
    };
    assert.equal((await listed(DOMAIN)).length, 2);
    assert.equal((await listed(DOMAIN))[0], planId, "the newest first");
    assert.deepEqual(await listed("NOBODY"), []);
  });

  it("apply carries it out as a job of its name, names what moved, and asks a person first", async () => {
    await served.world.change("add", { path: "late.txt", text: "About the quokka." });
    const asked = await ask(served.url, `GET /v2/crawler/apply?plan_id=${planId}&format=html`, {
      headers: { "sec-fetch-site": "none", "sec-fetch-mode": "navigate" },
    });
    assert.match(asked.text, /Is this meant\?/);
    const strict = await ask(served.url, `POST /v2/crawler/apply?plan_id=${planId}&strict=true`);
    assert.match(String(strict.json["error"]), /1 change is not as planned/);
    assert.deepEqual(await served.world.disk(), []);
    const { json } = await ask(served.url, `POST /v2/crawler/apply?plan_id=${planId}`);
    assert.equal(json["error"], "");
    assert.equal(json["data"]?.["plan_id"], planId);
    assert.equal(json["data"]?.["sources"]?.["0"]?.["kept_to_plan"]?.["not_as_planned"]?.["0"]?.["path"], "late.txt");
    assert.equal((await served.world.disk()).length, FILES);
    const [job] = await served.world.app.jobs.list();
    assert.deepEqual([job?.action, job?.object, job?.dryRun], ["apply", DOMAIN, false]);
  });

  it("wrong ids are sentences; deleting removes the plan and nothing of what it was about", async () => {
    const unknown = "plan_0000000000000000";
    for (const call of ["GET /v2/crawler/plans/get", "GET /v2/crawler/plans/file", "POST /v2/crawler/apply"]) {
      const { status, json } = await ask(served.url, `${call}?plan_id=${unknown}`);
      assert.deepEqual([status, /^There is no plan 'plan_0{16}'/.test(String(json["error"]))], [404, true]);
      assert.equal((await ask(served.url, `${call}?plan_id=../x`)).status, 400);
      assert.equal((await ask(served.url, `${call}?plan_id=`)).status, 400);
    }
    const deleted = await ask(served.url, `DELETE /v2/crawler/plans/delete?plan_id=${planId}`);
    assert.equal(deleted.status, 200);
    assert.equal((await ask(served.url, `GET /v2/crawler/plans/get?plan_id=${planId}`)).status, 404);
    assert.equal((await served.world.disk()).length, FILES);
  });
});
