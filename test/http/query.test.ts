// /query and /query2 answer in the schema that older clients read.
import assert from "node:assert/strict";
import { after, before, beforeEach, describe, it } from "node:test";
import { BadInputError, NotFoundError, RemoteError } from "../../src/contracts/errors.ts";
import type { DomainId, VectorStoreId } from "../../src/contracts/ids.ts";
import type { QueryAnswer, QueryRequest, QuerySource } from "../../src/engine/query.ts";
import { sayFreshness } from "../../src/lib/freshness.ts";
import { ask } from "./ask.ts";
import { type Served, serveScripted } from "./scripted-app.ts";
import { type ServedWorld, serveWorld } from "./served-world.ts";

const HOTEL: QuerySource = {
  text: "Hotels above 180 EUR need an approval.",
  sectionPath: "Travel > Hotels",
  score: 0.87,
  fileId: "file-1",
  domainId: "DEMO" as DomainId,
  name: "Travel.docx",
  title: "Travel policy",
  url: "https://example.sharepoint.com/sites/demo/Travel.docx",
  webUrl: "https://example.sharepoint.com/sites/demo/Travel.docx",
  checkedAt: "2026-03-05T10:30:00.000Z",
  isBehind: true,
  modifiedAt: "2026-03-04T10:30:00.000000Z",
  attributes: { domain_id: "DEMO", file_type: "docx" },
  metadata: { url: "https://example.sharepoint.com/sites/demo/Travel.docx", filename: "Travel.docx", author: "Ada" },
  details: null,
};
const HOSTILE: QuerySource = {
  ...HOTEL,
  text: "<script>alert(1)</script> hotel <img src=x onerror=alert(1)>",
  sectionPath: '"><svg onload=alert(1)>',
  name: "<img src=x onerror=alert(1)>.pdf",
  title: "<img src=x onerror=alert(1)>.pdf",
  url: "javascript:alert(1)",
  webUrl: "",
  metadata: null,
  attributes: {},
};
const UNKNOWN: QuerySource = {
  ...HOTEL,
  sectionPath: "",
  name: "",
  title: "file-1",
  url: "",
  webUrl: "",
  metadata: null,
  attributes: { score: "mine" },
};

describe("/query and /query2", () => {
  let served: Served;
  let asked: QueryRequest[];
  before(async () => {
    served = await serveScripted();
  });
  beforeEach(() => {
    asked = [];
    served.script.query = async (request) => {
      asked.push(request);
      return answer(request, [HOTEL, HOSTILE, UNKNOWN]);
    };
  });
  after(() => served.close());

  function answer(request: QueryRequest, sources: QuerySource[]): QueryAnswer {
    return { query: request.text, vectorStoreId: request.vectorStoreId ?? ("vs_1" as VectorStoreId), sources };
  }

  it("POST /query answers in the schema that older clients read", async () => {
    const json = { data: { query: "hotel", vsid: " vs_9\t", results: 5, instructions: "be brief" }, more: 1 };
    const reply = await ask(served.url, "POST /query?trace=1", { json });
    assert.equal(reply.status, 200);
    const freshness = sayFreshness({ ...HOTEL, changedAt: HOTEL.modifiedAt });
    const ours = { source_checked_utc: HOTEL.checkedAt, freshness };
    assert.match(freshness, /^its last update failed or is held; changed 4 March/);
    assert.deepEqual(reply.json, {
      data: {
        query: "hotel",
        answer: "",
        source_markers: ["【", "】"],
        sources: [
          {
            data: HOTEL.text,
            source: HOTEL.url,
            metadata: {
              file_id: "file-1",
              score: 0.87,
              section_path: "Travel > Hotels",
              domain_id: "DEMO",
              file_type: "docx",
              filename: "Travel.docx",
              author: "Ada",
              title: "Travel policy",
              ...ours,
            },
          },
          {
            data: HOSTILE.text,
            source: `${served.url}/v2/documents/read?domain_id=DEMO&item_id=file-1&format=html`,
            metadata: {
              file_id: "file-1",
              score: 0.87,
              section_path: HOSTILE.sectionPath,
              title: HOSTILE.title,
              ...ours,
            },
          },
          {
            data: UNKNOWN.text,
            source: `${served.url}/v2/documents/read?domain_id=DEMO&item_id=file-1&format=html`,
            metadata: { file_id: "file-1", score: 0.87, title: "file-1", ...ours },
          },
        ],
      },
    });
    assert.deepEqual(asked, [{ text: "hotel", vectorStoreId: "vs_9", domainId: undefined, limit: 5 }]);
  });

  it("GET /query2?format=json answers the same", async () => {
    const post = await ask(served.url, "POST /query", { json: { data: { query: "hotel", vsid: "vs_9", results: 5 } } });
    const get = await ask(served.url, "GET /query2?query=hotel&vsid=vs_9&results=5&format=json&whatever=1");
    assert.equal(get.text, post.text);
    assert.deepEqual(asked[0], asked[1]);
  });

  it("an empty query is an empty answer and asks nobody", async () => {
    const empty = { data: { query: "", answer: "", source_markers: ["【", "】"], sources: [] } };
    assert.deepEqual((await ask(served.url, "POST /query", { json: { data: { query: "  " } } })).json, empty);
    assert.deepEqual((await ask(served.url, "POST /query", { json: { data: {} } })).json, empty);
    assert.deepEqual((await ask(served.url, "GET /query2?query=&format=json")).json, empty);
    assert.deepEqual(asked, []);
  });

  it("what is left empty, or null, is left to the server", async () => {
    const searched = { text: "hotel", vectorStoreId: undefined, domainId: undefined, limit: 20 };
    for (const data of [
      { query: "hotel" },
      { query: "hotel", vsid: "", results: "" },
      { query: "hotel", vsid: null, results: null },
      { query: " hotel ", results: "20" },
    ]) {
      assert.equal((await ask(served.url, "POST /query", { json: { data } })).status, 200);
      assert.deepEqual(asked.pop(), searched);
    }
    const form = { data: JSON.stringify({ query: "hotel" }) };
    assert.equal((await ask(served.url, "POST /query", { form })).status, 200);
    assert.deepEqual(asked.pop(), searched);
    assert.equal((await ask(served.url, "GET /query2?query=hotel&vsid=&results=&format=json")).status, 200);
    assert.deepEqual(asked.pop(), searched);
  });

  it("GET /query2 is a page for people, and hostile text stays text", async () => {
    const { status, type, text } = await ask(served.url, "GET /query2?query=hotel");
    assert.equal(status, 200);
    assert.equal(type, "text/html");
    assert.match(text, /<mark>Hotels<\/mark> above 180 EUR/);
    assert.match(text, /Travel › Hotels/);
    assert.match(
      text,
      /<a href="https:\/\/example\.sharepoint\.com\/[^"]*" target="_blank" rel="noopener noreferrer">Travel/,
    );
    assert.doesNotMatch(text, /href="javascript:/);
    assert.doesNotMatch(text, /<script>|<img src=x|<svg onload/);
    assert.match(text, /&lt;script&gt;alert\(1\)/);
  });

  const BAD: readonly [title: string, body: unknown, error: RegExp][] = [
    ["no data", {}, /^Missing 'data' attribute in request JSON\.$/],
    ["data that is no object", { data: "hotel" }, /data/],
    ["a list for data", { data: [] }, /^'data' must be a JSON object\.$/],
    ["a number for the query", { data: { query: 1 } }, /^'data\.query' must be/],
    [
      "too many results",
      { data: { query: "x", results: 51 } },
      /^'data\.results' must be a whole number from 1 to 50\.$/,
    ],
    ["no results", { data: { query: "x", results: 0 } }, /^'data\.results' must be a whole number from 1 to 50\.$/],
    ["half a result", { data: { query: "x", results: 1.5 } }, /^'data\.results' must be/],
    ["a number for the store", { data: { query: "x", vsid: 5 } }, /^'data\.vsid' must be/],
  ];
  for (const [title, json, error] of BAD) {
    it(`POST /query refuses ${title}`, async () => {
      const reply = await ask(served.url, "POST /query", { json });
      assert.equal(reply.status, 400);
      assert.deepEqual(Object.keys(reply.json), ["error"]);
      assert.match(String(reply.json["error"]), error);
    });
  }

  const FAILURES: readonly [error: Error, status: number, message: string][] = [
    [new BadInputError("Several domains: say which."), 400, "Several domains: say which."],
    [new NotFoundError("Vector store 'vs_9' does not exist."), 404, "Vector store 'vs_9' does not exist."],
    [new RemoteError("search: OpenAI answered 503"), 502, "search: OpenAI answered 503"],
    [new Error("secret internals"), 500, "Something went wrong on the server. The reason is in its log."],
  ];
  for (const [error, status, message] of FAILURES) {
    it(`${error.name} is ${status}, in every format`, async () => {
      served.script.query = async () => {
        throw error;
      };
      const post = await ask(served.url, "POST /query", { json: { data: { query: "x" } } });
      assert.equal(post.status, status);
      assert.deepEqual(post.json, { error: message });
      const page = await ask(served.url, "GET /query2?query=x");
      assert.equal(page.status, status);
      assert.equal(page.type, "text/html");
      assert.doesNotMatch(page.text, /secret internals|\.ts:\d+/);
      assert.equal(
        served.logged.some((line) => line.includes("secret internals")),
        status === 500,
      );
    });
  }
});

describe("/query and /query2 against the real product", () => {
  let served: ServedWorld;
  before(async () => {
    served = await serveWorld({}, async (world) => {
      await world.change("add", { path: "Travel.md", text: "# Travel\n\nHotels above 180 EUR need an approval." });
    });
  });
  after(() => served?.close());

  it("says that nothing was crawled before something was, and finds the passage with its address afterwards", async () => {
    const early = await ask(served.url, "GET /query2?query=hotels&format=json");
    assert.equal(early.status, 400);
    assert.match(String(early.json["error"]), /^There is nothing to search yet: no domain was crawled/);
    await served.world.crawl();
    const { status, json } = await ask(served.url, "POST /query", { json: { data: { query: "hotels", results: 1 } } });
    assert.equal(status, 200);
    const sources = json["data"]?.["sources"] as unknown as { data: string; source: string; metadata: object }[];
    const source = sources[0];
    assert.match(source?.data ?? "", /180 EUR/);
    assert.equal(source?.source, `${served.world.sandbox.siteUrl}/Shared%20Documents/Travel.md`);
    assert.deepEqual(Object.keys(source?.metadata ?? {}).slice(0, 3), ["title", "file_id", "score"]);
  });

  const STORES = ["vs_nobody", "../../../etc/passwd", "..%2F..", "a b", "vs_1;drop", "[NO_METADATA]", "x".repeat(5000)];
  for (const vsid of STORES) {
    it(`a store that does not exist is 404: ${vsid.slice(0, 30)}`, async () => {
      const post = await ask(served.url, "POST /query", { json: { data: { query: "x", vsid } } });
      assert.equal(post.status, 404, post.text);
      assert.deepEqual(Object.keys(post.json), ["error"]);
      const get = await ask(served.url, `GET /query2?${new URLSearchParams({ query: "x", vsid, format: "json" })}`);
      assert.equal(get.text, post.text);
    });
  }
});
