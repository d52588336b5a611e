// /describe and /describe2 answer in the schema that older clients read.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { readConfig } from "../../src/app/config.ts";
import { parseDomainInput } from "../kinds.ts";
import { ask } from "./ask.ts";
import { type Served, serveScripted } from "./scripted-app.ts";

describe("/describe and /describe2", () => {
  let served: Served;
  const EXPECTED = {
    data: {
      description: "This tool can search the content of documents.",
      domains: [
        { name: "Human resources", description: "Handbooks." },
        { name: "Twice", description: "The later one." },
      ],
      content_root: "https://contoso.sharepoint.com",
    },
  };
  before(async () => {
    const settings = {
      SEARCH_DEFAULT_SHAREPOINT_ROOT_URL: "https://contoso.sharepoint.com",
      SEARCH_DEFAULT_GLOBAL_VECTOR_STORE_ID: "vs_all",
    };
    served = await serveScripted({ settings });
    const create = (fields: object): Promise<unknown> => served.app.domains.create(parseDomainInput(fields));
    await create({ domain_id: "HR", name: "Human resources", description: "Handbooks." });
    await create({ domain_id: "_hidden", name: "Hidden", description: "Not for clients." });
    await create({
      domain_id: "EVERYTHING",
      name: "Everything",
      description: "The default.",
      vector_store_id: "vs_all",
    });
    await create({ domain_id: "T1", name: "Twice", description: "The earlier one." });
    await create({ domain_id: "T2", name: "Twice", description: "The later one." });
  });
  after(() => served.close());

  it("POST /describe answers in the schema that older clients read, whatever they send", async () => {
    for (const init of [{}, { json: {} }, { json: { data: {} } }, { body: "no json" }]) {
      const reply = await ask(served.url, "POST /describe?trace=1", init);
      assert.equal(`${reply.status} ${reply.type}`, "200 application/json");
      assert.deepEqual(reply.json, EXPECTED);
    }
  });

  it("GET /describe2 answers the same as JSON and, by default, as a page", async () => {
    assert.deepEqual((await ask(served.url, "GET /describe2?format=json")).json, EXPECTED);
    for (const query of ["format=html", "x=1"]) {
      const page = await ask(served.url, `GET /describe2?${query}`);
      assert.equal(`${page.status} ${page.type}`, "200 text/html");
      assert.match(page.text, /Human resources/);
      assert.doesNotMatch(page.text, /Not for clients/);
    }
  });

  it("without parameters both document themselves as text; errors are {error}", async () => {
    for (const path of ["/describe", "/describe2"]) {
      const bare = await ask(served.url, `GET ${path}`);
      assert.equal(`${bare.status} ${bare.type}`, "200 text/plain");
      const wrong = await ask(served.url, `PUT ${path}?format=json`);
      assert.equal(wrong.status, 400);
      assert.deepEqual(wrong.json, { error: "HTTP method 'PUT' not supported." });
    }
    const stream = await ask(served.url, "GET /describe2?format=stream");
    assert.deepEqual(stream.json, { error: "Format 'stream' not supported." });
  });

  it("the root is an address, or the server does not start", () => {
    assert.equal(readConfig({}).search.contentRoot, "");
    assert.throws(() => readConfig({ SEARCH_DEFAULT_SHAREPOINT_ROOT_URL: "contoso" }), /SHAREPOINT_ROOT_URL must be/);
  });
});
