// /api/Search answers pages, passages and pictures in both versions of its words.
import assert from "node:assert/strict";
import { after, before, beforeEach, describe, it } from "node:test";
import { NotFoundError } from "../../src/contracts/errors.ts";
import type { DomainId, ItemId, VectorStoreId } from "../../src/contracts/ids.ts";
import type { StoredImage } from "../../src/contracts/web.ts";
import type { QueryRequest, QuerySource } from "../../src/engine/query.ts";
import { identifyUrl, USUAL_RULES } from "../../src/plan/web/item-identity.ts";
import { newItem } from "../../src/plan/web/item-state.ts";
import { ask } from "./ask.ts";
import { type Served, serveScripted } from "./scripted-app.ts";

const PAGE = newItem(identifyUrl("https://docs.example.com/wombats", USUAL_RULES), new Date("2026-01-02T03:04:05Z"));
const PICTURE: StoredImage = {
  id: "img_8e2f",
  parentPageId: PAGE.id,
  parentPageUrl: "https://docs.example.com/wombats",
  url: "https://docs.example.com/wombat.jpg",
  alt: "A wombat in its burrow",
  caption: "Burrows are cool",
  surroundings: "Wombats dig.",
  position: 0,
  isPagePicture: false,
  contentHash: "sha256:8e2f",
  width: 640,
  height: 480,
  bytes: 9000,
  mimeType: "image/jpeg",
};

describe("/api/Search", () => {
  let served: Served;
  let asked: QueryRequest[];
  before(async () => {
    served = await serveScripted({ settings: { INGEST_DEFAULT_DOMAIN: "WEB" } });
    const web_sources = [{ source_id: "site", start_urls: ["https://docs.example.com/"] }];
    await ask(served.url, "POST /v2/domains/create", { json: { domain_id: "WEB", name: "Web", web_sources } });
  });
  after(() => served.close());
  beforeEach(() => {
    asked = [];
    served.script.query = async (request) => {
      asked.push(request);
      const sources = [found("file-1", PAGE.id, "Wombats dig. ".repeat(30)), found("file-1", PAGE.id, "And sleep.")];
      const other = { ...found("file-2", "f00", "Wombat budget"), url: "https://contoso.sharepoint.com/b.docx" };
      return { query: request.text, vectorStoreId: "vs_1" as VectorStoreId, sources: [...sources, other] };
    };
    const view = { item: PAGE, members: [], images: [PICTURE] };
    served.script.ingest = {
      ...served.script.ingest,
      item: async (id) => (id === PAGE.id ? view : assert.fail(`asked for ${id}`)),
      images: { of: async () => [PICTURE], read: async () => undefined },
    };
  });

  it("answers a page once, with its passages, and the pictures that belong to it", async () => {
    const reply = await ask(served.url, "GET /api/Search?q=wombats&nestImages=true");
    assert.equal(reply.status, 200, reply.text);
    const { executionTime, results, ...head } = reply.json as unknown as {
      executionTime: number;
      results: Record<string, unknown>[];
    };
    assert.equal(typeof executionTime, "number");
    assert.deepEqual(head, {
      schemaVersion: "1.1",
      query: "wombats",
      totalResults: 2,
      searchType: "keyword",
      page: 1,
      pageSize: 10,
      notes: [],
    });
    const [first, second] = results;
    assert.ok(first && second);
    assert.deepEqual([first["id"], first["type"], first["score"]], [PAGE.id, "text", 0.5]);
    assert.match(String(first["summary"]), /^Wombats dig\. .{130,140}\.\.\.$/);
    const { text, metadata } = first["content"] as { text: string; metadata: Record<string, unknown> };
    assert.match(text, /^Wombats dig\. .*\n\nAnd sleep\.$/s);
    assert.deepEqual([metadata["sourceType"], metadata["sourceHost"]], ["url", "docs.example.com"]);
    const [image] = first["images"] as Record<string, unknown>[];
    assert.deepEqual([image?.["id"], image?.["alt"], image?.["parentPageId"]], ["img_8e2f", PICTURE.alt, PAGE.id]);
    const thumbnail = `/v2/ingest/images/get?item_id=${PAGE.id}&image_id=img_8e2f&size=thumbnail`;
    assert.equal(image?.["thumbnail"], thumbnail);
    assert.deepEqual([second["id"], second["images"]], ["file-2", []]);
    assert.equal(asked[0]?.using, "text");
    assert.equal(asked[0]?.domainId, "WEB");
  });

  it("takes the words and filters of either version, by POST", async () => {
    const filters = {
      fileTypes: [".PDF", "md"],
      dateRange: { start: "2026-01-01", end: "2026-01-31" },
      sourceType: "url",
      sourceHost: "Docs.Example.com",
    };
    const body = { query: "wombats", searchType: "Vector", maxResults: 5, filters };
    const reply = await ask(served.url, "POST /api/Search", { json: body });
    assert.equal(reply.status, 200, reply.text);
    assert.deepEqual(asked[0]?.scope, {
      pathPrefix: "docs.example.com",
      fileTypes: ["pdf", "md"],
      modifiedFrom: "2026-01-01T00:00:00.000Z",
      modifiedBefore: "2026-02-01T00:00:00.000Z",
    });
    assert.equal(asked[0]?.using, "vectors");
    assert.deepEqual(asked[0]?.filter, {
      type: "and",
      filters: [
        { type: "in", key: "source_id", value: ["site"] },
        { type: "gte", key: "item_id", value: "url_" },
      ],
    });
    assert.equal(reply.json["totalResults"], 1, "the other host is left out");
    asked = [];
    await ask(served.url, "POST /api/Search", {
      json: { query: "wombats", filters: { dateRange: { from: "2025-12-01" } } },
    });
    assert.deepEqual([asked[0]?.using, asked[0]?.scope], [undefined, { modifiedFrom: "2025-12-01T00:00:00.000Z" }]);
  });

  it("gives pictures as results of their own, and results in pages", async () => {
    const both = await ask(served.url, "GET /api/Search?q=wombats&content=text,image&page=2&pageSize=1");
    const [picture] = both.json["results"] as unknown as Record<string, unknown>[];
    assert.deepEqual([both.json["totalResults"], picture?.["type"], picture?.["id"]], [3, "image", "img_8e2f"]);
    assert.equal(picture?.["url"], PICTURE.url);
    const images = await ask(served.url, "GET /api/Search?q=wombats&content=image");
    assert.equal(images.json["totalResults"], 1);
  });

  it("goes on behind a document that has all the passages at first", async () => {
    const titles = ["long", "b", "c", "d"];
    served.script.query = async (request) => {
      asked.push(request);
      const { filter } = request;
      const seen = filter?.type === "nin" && filter.key === "item_id" ? filter.value : [];
      const all = titles.flatMap((title) => Array.from({ length: title === "long" ? 60 : 20 }, () => title));
      const left = all.filter((title) => !seen.includes(`f_${title}`)).slice(0, request.limit);
      const sources = left.map((title) => found(`file-${title}`, `f_${title}`, title));
      return { query: request.text, vectorStoreId: "vs_1" as VectorStoreId, sources };
    };
    const idsOf = async (most: number): Promise<unknown[]> => {
      asked = [];
      const { json } = await ask(served.url, `GET /api/Search?q=wombats&maxResults=${most}`);
      return (json["results"] as unknown as { id: string }[]).map(({ id }) => id);
    };
    const files = titles.map((title) => `file-${title}`);
    assert.deepEqual([await idsOf(10), asked.length], [files, 3]);
    assert.deepEqual([await idsOf(3), asked.length], [files.slice(0, 3), 2]);
    assert.deepEqual([await idsOf(1), asked.length], [files.slice(0, 1), 1]);
  });

  it("refuses what it does not understand, in its own words", async () => {
    const refused = async (what: string, json?: unknown): Promise<string> => {
      const reply = await ask(served.url, what, json === undefined ? {} : { json });
      assert.equal(reply.status, 400, reply.text);
      assert.deepEqual(Object.keys(reply.json), ["error"]);
      return String(reply.json["error"]);
    };
    assert.equal(await refused("GET /api/Search"), "Query parameter is required");
    assert.equal(await refused("GET /api/Search?q=+"), "Query parameter is required");
    assert.equal(await refused("POST /api/Search", {}), "Query is required");
    assert.match(await refused("GET /api/Search?q=x&top=5"), /^Unknown parameter 'top'\. Accepted: query, q,/);
    assert.match(await refused("POST /api/Search", { query: "x", filters: { size: 1 } }), /'filters\.size'/);
    assert.match(
      await refused("POST /api/Search", { query: "x", filters: { dateRange: { from: "May" } } }),
      /'filters\.dateRange\.from'/,
    );
    assert.match(await refused("GET /api/Search?q=x&type=semantic"), /keyword or vector or hybrid/);
    assert.match(await refused("GET /api/Search?q=x&maxResults=51"), /1 to 50/);
    assert.deepEqual(asked, []);
  });

  it("finds nothing in a default domain that nobody has filled, but misses one that somebody names", async () => {
    served.script.query = async () => {
      throw new NotFoundError("Domain 'WEB' has no vector store yet. Crawl it first.");
    };
    const empty = await ask(served.url, "GET /api/Search?q=wombats");
    assert.deepEqual([empty.status, empty.json["totalResults"]], [200, 0]);
    const unknown = await ask(served.url, "GET /api/Search?q=wombats&domain_id=NOBODYS");
    assert.equal(unknown.status, 404, unknown.text);
  });

  it("the search page shows the pictures of a page once", async () => {
    const { text } = await ask(served.url, "GET /v2/search?query=wombats&domain_id=WEB&format=ui");
    assert.equal(text.match(/size=thumbnail/g)?.length, 1);
    assert.ok(text.includes('alt="A wombat in its burrow"'));
  });
});

describe("pictures of pages", () => {
  let served: Served;
  before(async () => {
    served = await serveScripted();
  });
  after(() => served.close());

  const serve = (mimeType: string): void => {
    const bytes = new TextEncoder().encode("<svg onload=alert(1)>");
    const read = async (page: ItemId): Promise<{ bytes: Uint8Array; mimeType: string } | undefined> =>
      page === PAGE.id ? { bytes, mimeType } : undefined;
    served.script.ingest = { ...served.script.ingest, images: { of: async () => [], read } };
  };
  const address = `/v2/ingest/images/get?item_id=${PAGE.id}&image_id=img_8e2f`;

  it("are told to be pictures only when a browser cannot run them", async () => {
    serve("image/png");
    const picture = await ask(served.url, `GET ${address}`);
    assert.deepEqual([picture.status, picture.type], [200, "image/png"]);
    assert.equal(picture.headers.get("x-content-type-options"), "nosniff");
    assert.match(picture.headers.get("content-security-policy") ?? "", /default-src 'none'/);
    assert.match(picture.headers.get("cache-control") ?? "", /private.*immutable/);
    serve("image/svg+xml");
    const drawing = await ask(served.url, `GET ${address}`);
    assert.equal(drawing.type, "application/octet-stream");
    assert.match(drawing.headers.get("content-disposition") ?? "", /^attachment/);
  });

  it("that are not there are missed", async () => {
    serve("image/png");
    const reply = await ask(served.url, "GET /v2/ingest/images/get?item_id=url_nobody&image_id=img_8e2f");
    assert.equal(reply.status, 404, reply.text);
    const odd = await ask(served.url, `GET /v2/ingest/images/get?item_id=${PAGE.id}&image_id=../secret`);
    assert.equal(odd.status, 400, odd.text);
  });
});

function found(fileId: string, itemId: string, text: string): QuerySource {
  return {
    text,
    sectionPath: "",
    score: 0.5,
    fileId,
    domainId: "WEB" as DomainId,
    name: "wombats.md",
    title: "Wombats",
    url: "https://docs.example.com/wombats",
    webUrl: "https://docs.example.com/wombats",
    checkedAt: "",
    isBehind: false,
    modifiedAt: "2026-01-02T03:04:05Z",
    attributes: { item_id: itemId, source_id: "site", domain_id: "WEB" as DomainId },
    metadata: null,
    details: null,
  };
}
