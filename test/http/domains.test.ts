// Domains are created, listed, changed and deleted over HTTP, by admins.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { domainEndpoints } from "../../src/http/endpoints/domain-endpoints.ts";
import { ask } from "./ask.ts";
import { countToThree, type Served, serveScripted } from "./scripted-app.ts";

const SOURCE = {
  source_id: "documents",
  site_url: "https://example.sharepoint.com/sites/demo",
  sharepoint_url_part: "/Shared Documents",
  filter: "",
};
const DEMO = { domain_id: "DEMO", name: "Demo", description: "For trying out", file_sources: [SOURCE] };

describe("/v2/domains", () => {
  let served: Served;
  const fileOf = (id: string): string => join(served.folder, "domains", id, "domain.json");
  before(async () => {
    served = await serveScripted();
  });
  after(() => served.close());

  it("creates, lists, gets, updates and deletes", async () => {
    const created = await ask(served.url, "POST /v2/domains/create", { json: DEMO });
    assert.equal(created.status, 200, created.text);
    assert.equal(created.json["data"]?.["domain_id"], "DEMO");
    assert.deepEqual(created.json["data"]?.["file_sources"], [SOURCE]);

    const listed = await ask(served.url, "GET /v2/domains?format=json");
    assert.deepEqual(listed.json, { ok: true, error: "", data: [created.json["data"]] });

    const got = await ask(served.url, "GET /v2/domains/get?domain_id=DEMO");
    assert.deepEqual(got.json["data"], created.json["data"]);

    const updated = await ask(served.url, "PUT /v2/domains/update?domain_id=DEMO", { json: { name: "Renamed" } });
    assert.deepEqual(updated.json["data"], { ...(created.json["data"] as object), name: "Renamed" });
    assert.equal(JSON.parse(readFileSync(fileOf("DEMO"), "utf8")).name, "Renamed");

    const deleted = await ask(served.url, "DELETE /v2/domains/delete?domain_id=DEMO");
    assert.deepEqual(deleted.json["data"], updated.json["data"]);
    assert.equal(existsSync(fileOf("DEMO")), false);
    assert.equal((await ask(served.url, "GET /v2/domains/get?domain_id=DEMO")).status, 404);
  });

  it("lists a part, in the order asked for, and as a page", async () => {
    for (const [domain_id, name] of [
      ["A", "Zebra"],
      ["B", "Okapi"],
      ["C", "Gnu <b>"],
    ]) {
      await ask(served.url, "POST /v2/domains/create", { json: { domain_id, name } });
    }
    const ids = async (query: string): Promise<unknown> => {
      const { json } = await ask(served.url, `GET /v2/domains?format=json&${query}`);
      return [...(json["data"] as unknown as { domain_id: string }[])].map(({ domain_id }) => domain_id).join();
    };
    assert.equal(await ids("sort=name"), "C,B,A");
    assert.equal(await ids("sort=-domain_id&limit=2"), "C,B");
    assert.equal(await ids("limit=2&offset=2"), "C");
    assert.equal(await ids("filter=okapi"), "B");
    assert.equal((await ask(served.url, "GET /v2/domains?format=json&sort=colour")).status, 400);
    const page = await ask(served.url, "GET /v2/domains?format=ui&filter=gnu");
    assert.equal(page.status, 200);
    assert.match(page.text, /Gnu &lt;b&gt;/);
    assert.doesNotMatch(page.text, /Okapi/);
    for (const id of ["A", "B", "C"]) await ask(served.url, `DELETE /v2/domains/delete?domain_id=${id}`);
  });

  it("creating, changing and deleting is for admins", async () => {
    const roles = domainEndpoints(served.app).map(({ path, role }) => `${path.split("/").at(-1)} ${role}`);
    assert.deepEqual(roles, ["domains read", "get read", "create admin", "update admin", "delete admin"]);
  });

  it("takes a form, with the sources in one JSON text", async () => {
    const form = { domain_id: "FORM", name: "Form & <b>", sources_json: JSON.stringify({ file_sources: [SOURCE] }) };
    const reply = await ask(served.url, "POST /v2/domains/create?format=html", { form });
    assert.equal(reply.status, 200);
    assert.match(reply.text, /Form &amp; &lt;b&gt;/);
    assert.deepEqual(JSON.parse(readFileSync(fileOf("FORM"), "utf8")).file_sources, [SOURCE]);
    const multipart = new FormData();
    multipart.set("name", "Again");
    const response = await fetch(`${served.url}/v2/domains/update?domain_id=FORM`, { method: "PUT", body: multipart });
    assert.equal(response.status, 200);
    assert.equal(JSON.parse(readFileSync(fileOf("FORM"), "utf8")).name, "Again");
    assert.equal((await ask(served.url, "GET /v2/domains/delete?domain_id=FORM&format=html")).status, 200);
    assert.equal(existsSync(fileOf("FORM")), false);
  });

  it("a dry run answers the same and changes nothing", async () => {
    const dry = await ask(served.url, "POST /v2/domains/create?dry_run=true", { json: DEMO });
    assert.equal(dry.status, 200);
    assert.equal(existsSync(fileOf("DEMO")), false);
    const real = await ask(served.url, "POST /v2/domains/create", { json: DEMO });
    assert.deepEqual(dry.json, real.json);

    const update = await ask(served.url, "PUT /v2/domains/update?domain_id=DEMO&dry_run=true", { json: { name: "X" } });
    assert.equal(update.json["data"]?.["name"], "X");
    assert.equal(JSON.parse(readFileSync(fileOf("DEMO"), "utf8")).name, "Demo");

    const removal = await ask(served.url, "DELETE /v2/domains/delete?domain_id=DEMO&dry_run=true");
    const { would_delete, ...shown } = removal.json["data"] as unknown as Record<string, unknown>;
    assert.deepEqual(shown, real.json["data"]);
    assert.match(String(would_delete), /domains\/DEMO .*crawler\/DEMO/);
    assert.equal(existsSync(fileOf("DEMO")), true);

    const again = await ask(served.url, "POST /v2/domains/create?dry_run=true", { json: DEMO });
    assert.equal(again.status, 400);
    assert.equal(again.json["error"], "Domain 'DEMO' already exists.");
    await ask(served.url, "DELETE /v2/domains/delete?domain_id=DEMO");
  });

  it("a vector store of another domain is refused, also in a dry run", async () => {
    const store = { vector_store_id: "vs_1" };
    await ask(served.url, "POST /v2/domains/create", { json: { ...DEMO, ...store } });
    const rival = { domain_id: "RIVAL", name: "Rival" };
    const refused = "The vector store 'vs_1' belongs to domain 'DEMO'.";
    for (const dry of ["true", "false"]) {
      const create = await ask(served.url, `POST /v2/domains/create?dry_run=${dry}`, { json: { ...rival, ...store } });
      assert.equal(create.status, 400);
      assert.ok(String(create.json["error"]).startsWith(refused), create.text);
    }
    assert.equal(existsSync(fileOf("RIVAL")), false);
    await ask(served.url, "POST /v2/domains/create", { json: rival });
    for (const dry of ["true", "false"]) {
      const path = `PUT /v2/domains/update?domain_id=RIVAL&dry_run=${dry}`;
      const update = await ask(served.url, path, { json: store });
      assert.equal(update.status, 400);
      assert.ok(String(update.json["error"]).startsWith(refused), update.text);
    }
    assert.equal(JSON.parse(readFileSync(fileOf("RIVAL"), "utf8")).vector_store_id, "");
    for (const id of ["DEMO", "RIVAL"]) await ask(served.url, `DELETE /v2/domains/delete?domain_id=${id}`);
  });

  it("takes libraries, lists and site pages; a change of one kind leaves the others, sources_json replaces all", async () => {
    const list_sources = [{ source_id: "tasks", site_url: SOURCE.site_url, list_name: "Tasks", filter: "" }];
    const sitepage_sources = [{ ...SOURCE, source_id: "pages", sharepoint_url_part: "/SitePages" }];
    const kinds = { file_sources: [SOURCE], list_sources, sitepage_sources };
    const onDisk = (): unknown => {
      const { file_sources, list_sources, sitepage_sources } = JSON.parse(readFileSync(fileOf("DEMO"), "utf8"));
      return { file_sources, list_sources, sitepage_sources };
    };
    const created = await ask(served.url, "POST /v2/domains/create", { json: { ...DEMO, ...kinds } });
    assert.deepEqual(created.json["data"]?.["list_sources"], list_sources, created.text);
    assert.deepEqual(onDisk(), kinds);

    const more = [...list_sources, { ...list_sources[0], source_id: "risks", list_name: "Risks" }];
    await ask(served.url, "PUT /v2/domains/update?domain_id=DEMO", { json: { list_sources: more } });
    assert.deepEqual(onDisk(), { ...kinds, list_sources: more });

    const bad = await ask(served.url, "PUT /v2/domains/update?domain_id=DEMO", {
      json: { list_sources: [{ source_id: "tasks", site_url: SOURCE.site_url, title: "Tasks" }] },
    });
    assert.equal(bad.status, 400);
    assert.match(
      String(bad.json["error"]),
      /Unknown field 'title' in list_sources\[0\]\. Accepted: source_id, .*list_name/,
    );
    assert.match(String(bad.json["error"]), /list_sources\[0\]\.list_name must be the title/);
    assert.deepEqual(onDisk(), { ...kinds, list_sources: more });

    const sources_json = JSON.stringify({ sitepage_sources });
    await ask(served.url, "PUT /v2/domains/update?domain_id=DEMO", { form: { sources_json } });
    assert.deepEqual(onDisk(), { file_sources: [], list_sources: [], sitepage_sources });
    await ask(served.url, "DELETE /v2/domains/delete?domain_id=DEMO");
  });

  it("takes folders and containers, as arrays and in one JSON text; a pasted SAS is neither kept nor repeated", async () => {
    const folder_sources = [{ source_id: "share", root: "/srv/share", exclude: ["My drafts/**"] }];
    const container = { source_id: "blobs", container_url: "https://contoso.blob.core.windows.net/handbook" };
    const blob_sources = [{ ...container, credential: "HANDBOOK_SAS" }];
    const onDisk = (): { folder_sources?: unknown; blob_sources?: unknown } =>
      JSON.parse(readFileSync(fileOf("DEMO"), "utf8"));
    const created = await ask(served.url, "POST /v2/domains/create", { json: { ...DEMO, folder_sources } });
    assert.deepEqual(created.json["data"]?.["folder_sources"], folder_sources, created.text);
    assert.deepEqual([onDisk().folder_sources, "blob_sources" in onDisk()], [folder_sources, false]);
    const sources_json = JSON.stringify({ folder_sources, blob_sources });
    await ask(served.url, "PUT /v2/domains/update?domain_id=DEMO", { form: { sources_json } });
    assert.deepEqual([onDisk().folder_sources, onDisk().blob_sources], [folder_sources, blob_sources]);
    const pasted = { blob_sources: [{ ...container, credential: "sv=2026&sig=hunter2" }] };
    const refused = await ask(served.url, "PUT /v2/domains/update?domain_id=DEMO", { json: pasted });
    assert.equal(refused.status, 400);
    assert.match(refused.text, /blob_sources\[0\]\.credential must be the name of an environment variable/);
    assert.doesNotMatch(refused.text, /hunter2/);
    assert.deepEqual(onDisk().blob_sources, blob_sources);
    await ask(served.url, "DELETE /v2/domains/delete?domain_id=DEMO");
  });

  it("as stream it runs as a job, and a bad request makes none", async () => {
    const stream = await ask(served.url, "POST /v2/domains/create?format=stream", { json: DEMO });
    assert.equal(stream.type, "text/event-stream");
    assert.match(stream.text, /^event: start_json\n/);
    assert.match(stream.text, /event: end_json\n[\s\S]*"state": "completed"[\s\S]*"domain_id": "DEMO"/);
    assert.equal(existsSync(fileOf("DEMO")), true);
    const jobs = await ask(served.url, "GET /v2/jobs?router=domains");
    assert.equal((await ask(served.url, "POST /v2/domains/create?format=stream", { json: DEMO })).status, 400);
    assert.equal((await ask(served.url, "GET /v2/jobs?router=domains")).text, jobs.text);
    await ask(served.url, "DELETE /v2/domains/delete?domain_id=DEMO");
  });

  it("does not delete a domain under a running crawl", async () => {
    await ask(served.url, "POST /v2/domains/create", { json: DEMO });
    let finish = (): void => {};
    const finished = new Promise<void>((resolve) => {
      finish = resolve;
    });
    served.script.crawl = async (request, job) => {
      await finished;
      return countToThree(request, job);
    };
    const crawl = await fetch(`${served.url}/v2/crawler/crawl?domain_id=DEMO&format=stream`);
    const refused = await ask(served.url, "DELETE /v2/domains/delete?domain_id=DEMO");
    assert.equal(refused.status, 409);
    assert.match(String(refused.json["error"]), /in use by job 'jb_\d+'/);
    assert.equal(existsSync(fileOf("DEMO")), true);
    finish();
    await crawl.text();
    assert.equal((await ask(served.url, "DELETE /v2/domains/delete?domain_id=DEMO")).status, 200);
  });

  it("a domain.json that cannot be read is named, and the others are still listed", async () => {
    await ask(served.url, "POST /v2/domains/create", { json: DEMO });
    mkdirSync(join(served.folder, "domains", "BROKEN"));
    writeFileSync(fileOf("BROKEN"), "{");
    const { json } = await ask(served.url, "GET /v2/domains?format=json");
    assert.equal(json["ok"], false);
    assert.match(String(json["error"]), /BROKEN/);
    assert.equal(json["data"]?.length, 1);
    assert.match((await ask(served.url, "GET /")).text, /BROKEN/);
  });

  const BAD_BODIES: readonly [title: string, body: string, type: string, error: RegExp][] = [
    ["no body", "", "application/json", /^Missing 'domain_id'\.$/],
    ["no name", '{"domain_id":"X"}', "application/json", /^Missing 'name'\.$/],
    ["not JSON", "{", "application/json", /not valid JSON/],
    ["an array", "[]", "application/json", /must be a JSON object/],
    ["another type", "<x/>", "application/xml", /'application\/xml' not supported/],
    ["not UTF-8", "\u{fffd}", "application/json", /JSON|UTF-8/],
    [
      "an unknown field",
      '{"domain_id":"X","name":"X","nmae":"Y"}',
      "application/json",
      /Unknown field 'nmae'\. Accepted: /,
    ],
    ["__proto__", '{"domain_id":"X","name":"X","__proto__":{}}', "application/json", /Unknown field '__proto__'/],
    ["a path for an id", '{"domain_id":"../x","name":"X"}', "application/json", /^'domain_id' must be/],
    ["a number for an id", '{"domain_id":7,"name":"X"}', "application/json", /^'domain_id' must be/],
    ["a field twice", "domain_id=X&domain_id=Y&name=X", "application/x-www-form-urlencoded", /more than once/],
    ["sources that are none", '{"domain_id":"X","name":"X","file_sources":{}}', "application/json", /file_sources/],
  ];
  for (const [title, body, type, error] of BAD_BODIES) {
    it(`create refuses ${title}`, async () => {
      const reply = await ask(served.url, "POST /v2/domains/create", { body, headers: { "content-type": type } });
      assert.equal(reply.status, 400, reply.text);
      assert.match(String(reply.json["error"]), error);
      assert.equal(existsSync(fileOf("X")), false);
    });
  }

  it("update wants the id in the query or the body", async () => {
    const missing = await ask(served.url, "PUT /v2/domains/update?format=json", { json: { name: "X" } });
    assert.deepEqual(missing.json, { ok: false, error: "Missing 'domain_id'.", data: {} });
    const inBody = await ask(served.url, "PUT /v2/domains/update?format=json", {
      json: { domain_id: "DEMO", name: "B" },
    });
    assert.equal(inBody.json["data"]?.["name"], "B");
  });
});
