import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, test } from "node:test";
import type OpenAI from "openai";
import { BadRequestError, NotFoundError } from "openai";
import { DEMO, LIBRARY } from "../index/index-fixture.ts";
import { type EmbeddedFixture, embeddedFixture, type OpenHouse, openIndex } from "./embedded-fixture.ts";

const DAY_SECONDS = 24 * 3600;

/** What vector stores and their search promise over the wire, wherever they live. */
export function vectorStoresSuite(name: string, open: OpenHouse): void {
  describe(`vector stores over the wire: ${name}`, () => {
    let at: EmbeddedFixture;
    let client: OpenAI;
    beforeEach(async () => {
      at = await embeddedFixture(open);
      client = at.client;
    });
    afterEach(() => at.close());

    const attach = async (fileName: string, text: string, attributes = {}): Promise<string> => {
      const id = await at.upload(fileName, text);
      await client.vectorStores.files.createAndPoll(at.store, { file_id: id, attributes });
      return id;
    };

    test("create, look, change, list, delete", async () => {
      const created = await client.vectorStores.create({
        name: "Handbook",
        description: "What everybody should know.",
        metadata: { owner: "me" },
      });
      assert.match(created.id, /^vs_[0-9A-Za-z]{24}$/);
      assert.deepEqual([created.name, created.metadata, created.status], ["Handbook", { owner: "me" }, "completed"]);
      assert.deepEqual(created.file_counts, { in_progress: 0, completed: 0, failed: 0, cancelled: 0, total: 0 });
      assert.ok(!("expires_after" in created));
      assert.deepEqual(await client.vectorStores.retrieve(created.id), created);
      at.advance(10);
      const updated = await client.vectorStores.update(created.id, { name: "Guide" });
      assert.deepEqual([updated.name, updated.metadata], ["Guide", { owner: "me" }]);
      assert.ok((updated.last_active_at ?? 0) >= (created.last_active_at ?? 0) + 10);
      const cleared = await client.vectorStores.update(created.id, { name: null, metadata: null });
      assert.deepEqual([cleared.name, cleared.metadata], ["", {}]);
      const nameless = await client.vectorStores.create({});
      assert.equal(nameless.name, "");
      const ids = (await client.vectorStores.list({ order: "asc" })).data.map((store) => store.id);
      assert.deepEqual(ids, [at.store, created.id, nameless.id]);
      const deleted = await client.vectorStores.delete(created.id);
      assert.deepEqual(deleted, { id: created.id, object: "vector_store.deleted", deleted: true });
      await assert.rejects(client.vectorStores.retrieve(created.id), NotFoundError);
      await assert.rejects(client.vectorStores.update(created.id, { name: "x" }), NotFoundError);
      await assert.rejects(client.vectorStores.delete(created.id), NotFoundError);
      await assert.rejects(client.vectorStores.search(created.id, { query: "x" }), NotFoundError);
      await assert.rejects(client.vectorStores.files.list(created.id), NotFoundError);
      assert.equal(await at.backend.openIndex(created.id as typeof at.store, undefined), undefined);
    });

    test("deleting a store leaves its files, and the backend can do it too", async () => {
      const id = await attach("a.md", "The zyzzomat hums.");
      await at.backend.deleteVectorStore(at.store);
      await at.backend.deleteVectorStore(at.store);
      await assert.rejects(client.vectorStores.retrieve(at.store), NotFoundError);
      assert.equal((await client.files.retrieve(id)).filename, "a.md");
      const other = await client.vectorStores.create({ name: "test", file_ids: [id] });
      assert.notEqual(other.id, at.store);
      await client.vectorStores.files.poll(other.id, id);
      assert.deepEqual(await at.search(other.id, { query: "zyzzomat" }), ["a.md"]);
    });

    test("lists page forwards and backwards", async () => {
      const ids: string[] = [at.store];
      for (let i = 0; i < 4; i++) ids.push((await client.vectorStores.create({ name: "same" })).id);
      const list = async (query: OpenAI.VectorStoreListParams): Promise<[string[], boolean]> => {
        const page = await client.vectorStores.list(query);
        return [page.data.map((store) => store.id), page.has_more];
      };
      assert.deepEqual(await list({ order: "asc", limit: 2 }), [ids.slice(0, 2), true]);
      assert.deepEqual(await list({ order: "asc", limit: 3, after: ids[1] as string }), [ids.slice(2), false]);
      assert.deepEqual(await list({ order: "asc", limit: 2, before: ids[3] as string }), [ids.slice(1, 3), true]);
      assert.deepEqual(await list({ limit: 2, before: ids[0] as string }), [ids.slice(1, 3).toReversed(), true]);
      assert.deepEqual(await list({ limit: 10, after: ids[0] as string }), [[], false]);
    });

    test("a store expires that many days after its last activity, and then can only be looked at and deleted", async () => {
      const id = await at.upload("a.md", "The zyzzomat hums.");
      const store = await client.vectorStores.create({
        file_ids: [id],
        expires_after: { anchor: "last_active_at", days: 2 },
      });
      await client.vectorStores.files.poll(store.id, id);
      assert.deepEqual(store.expires_after, { anchor: "last_active_at", days: 2 });
      assert.equal(store.expires_at, (store.last_active_at ?? 0) + 2 * DAY_SECONDS);
      at.advance(DAY_SECONDS);
      await client.vectorStores.search(store.id, { query: "zyzzomat" });
      at.advance(1.5 * DAY_SECONDS);
      assert.equal((await client.vectorStores.retrieve(store.id)).status, "completed", "the search was an activity");
      at.advance(DAY_SECONDS);
      const expired = await client.vectorStores.retrieve(store.id);
      assert.equal(expired.status, "expired");
      const listed = await client.vectorStores.list();
      assert.deepEqual(listed.data.map(({ status }) => status).sort(), ["completed", "expired"]);
      await assert.rejects(client.vectorStores.search(store.id, { query: "zyzzomat" }), BadRequestError);
      await assert.rejects(client.vectorStores.files.create(store.id, { file_id: id }), BadRequestError);
      await assert.rejects(client.vectorStores.fileBatches.create(store.id, { file_ids: [id] }), BadRequestError);
      await assert.rejects(client.vectorStores.update(store.id, { expires_after: null }), BadRequestError);
      assert.equal(await at.backend.openIndex(store.id as typeof at.store, undefined), undefined);
      await client.vectorStores.delete(store.id);
    });

    test("searches and drafts past the wire are activity too, noted once a minute", async () => {
      const expiry = { anchor: "last_active_at", days: 2 } as const;
      const { id, ...store } = await client.vectorStores.create({ expires_after: expiry });
      const lastActive = async (): Promise<number> =>
        ((await client.vectorStores.retrieve(id)).last_active_at ?? 0) - (store.last_active_at ?? 0);
      const index = await openIndex(at.backend, id as typeof at.store, DEMO);
      at.advance(30);
      await index.search({ text: "zyzzomat", limit: 1 });
      assert.equal(await lastActive(), 0);
      at.advance(DAY_SECONDS);
      await index.search({ text: "zyzzomat", limit: 1 });
      assert.ok((await lastActive()) >= DAY_SECONDS);
      at.advance(1.5 * DAY_SECONDS);
      await (await index.draft(LIBRARY)).discard();
      at.advance(1.5 * DAY_SECONDS);
      assert.equal((await client.vectorStores.retrieve(id)).status, "completed");
      at.advance(DAY_SECONDS);
      await index.search({ text: "zyzzomat", limit: 1 });
      assert.equal((await client.vectorStores.retrieve(id)).status, "expired", "what has expired stays so");
    });

    test("expiry can be set and taken back", async () => {
      const set = await client.vectorStores.update(at.store, {
        expires_after: { anchor: "last_active_at", days: 365 },
      });
      assert.equal(set.expires_at, (set.last_active_at ?? 0) + 365 * DAY_SECONDS);
      const renamed = await client.vectorStores.update(at.store, { name: "kept" });
      assert.deepEqual(renamed.expires_after, { anchor: "last_active_at", days: 365 });
      const back = await client.vectorStores.update(at.store, { expires_after: null });
      assert.ok(!("expires_after" in back));
      assert.equal(back.expires_at, null);
    });

    test("an empty store gives an empty page; several queries give one list", async () => {
      const page = await at.ask("POST", `/v1/vector_stores/${at.store}/search`, { query: "x", rewrite_query: true });
      assert.deepEqual(page.json, {
        object: "vector_store.search_results.page",
        search_query: ["x"],
        data: [],
        has_more: false,
        next_page: null,
      });
      await attach("a.md", "The zyzzomat hums.");
      await attach("b.md", "The quibblet hums.");
      const both = await at.search(at.store, { query: ["zyzzomat", "quibblet"], ranking_options: { ranker: "auto" } });
      assert.deepEqual(both.sort(), ["a.md", "b.md"]);
      assert.equal((await at.search(at.store, { query: "hums", max_num_results: 1 })).length, 1);
      const { data } = await client.vectorStores.search(at.store, { query: "zyzzomat hums" });
      const [best, next] = data.map(({ score }) => score);
      assert.ok(best !== undefined && next !== undefined && best > next);
      const strict = { query: "zyzzomat hums", ranking_options: { score_threshold: (best + next) / 2 } };
      assert.deepEqual(await at.search(at.store, strict), ["a.md"]);
      const asked = await at.ask("POST", `/v1/vector_stores/${at.store}/search`, { query: ["a", "b"] });
      assert.deepEqual(asked.json["search_query"], ["a", "b"]);
    });

    test("filters compare by type, and combine", async () => {
      await attach("a.md", "The zyzzomat hums.", { year: 2024, region: "north", draft: true });
      await attach("b.md", "The zyzzomat sings and hums.", { year: 2025, region: "south", draft: false });
      await attach("c.md", "The zyzzomat hums at night.", { region: "north" });
      const found = async (filters: OpenAI.VectorStoreSearchParams["filters"]): Promise<string[]> =>
        (await at.search(at.store, { query: "zyzzomat", ...(filters && { filters }) })).sort();
      type Comparison = OpenAI.ComparisonFilter;
      const is = (type: Comparison["type"], key: string, value: Comparison["value"]): Comparison => ({
        type,
        key,
        value,
      });
      assert.deepEqual(await found(is("eq", "region", "north")), ["a.md", "c.md"]);
      assert.deepEqual(await found(is("eq", "year", 2025)), ["b.md"]);
      assert.deepEqual(await found(is("eq", "year", "2025")), []);
      assert.deepEqual(await found(is("gt", "year", 2024)), ["b.md"]);
      assert.deepEqual(await found(is("gte", "year", 2024)), ["a.md", "b.md"]);
      assert.deepEqual(await found(is("lt", "year", 2025)), ["a.md"]);
      assert.deepEqual(await found(is("lte", "year", 2025)), ["a.md", "b.md"]);
      assert.deepEqual(await found(is("eq", "draft", true)), ["a.md"]);
      assert.deepEqual(await found(is("in", "year", [2024, 1])), ["a.md"]);
      assert.ok(!(await found(is("ne", "region", "north"))).includes("a.md"));
      assert.ok(!(await found(is("nin", "region", ["north"]))).includes("c.md"));
      const north = is("eq", "region", "north");
      assert.deepEqual(await found({ type: "and", filters: [north, is("gt", "year", 2000)] }), ["a.md"]);
      assert.deepEqual(await found({ type: "or", filters: [is("eq", "year", 2025), is("eq", "draft", true)] }), [
        "a.md",
        "b.md",
      ]);
      const nested = {
        type: "or",
        filters: [{ type: "and", filters: [north, is("eq", "draft", true)] }, is("eq", "year", 2025)],
      };
      assert.deepEqual(await found(nested as OpenAI.CompoundFilter), ["a.md", "b.md"]);
      assert.deepEqual(await found(is("eq", "nothing", "x")), []);
      const all = await at.ask("POST", `/v1/vector_stores/${at.store}/search`, { query: "zyzzomat", filters: null });
      assert.equal((all.json["data"] as unknown[]).length, 3);
    });

    test("wrong requests are refused by the field that is wrong", async () => {
      const vs = `/v1/vector_stores/${at.store}`;
      const many = (length: number): string[] => Array.from({ length }, (_, i) => `file-${i}`);
      const nested = (depth: number): object =>
        depth === 0 ? { type: "eq", key: "a", value: 1 } : { type: "and", filters: [nested(depth - 1)] };
      assert.equal((await at.ask("POST", `${vs}/search`, { query: "x", filters: nested(10) })).status, 200);
      const cases: readonly (readonly [method: string, path: string, body: unknown, param: string | null])[] = [
        ["POST", "/v1/vector_stores", "{", null],
        ["POST", "/v1/vector_stores", [], null],
        ["POST", "/v1/vector_stores", { nmae: "x" }, "nmae"],
        ["POST", "/v1/vector_stores", { name: 5 }, "name"],
        ["POST", "/v1/vector_stores", { metadata: { a: 1 } }, "metadata.a"],
        ["POST", "/v1/vector_stores", { metadata: { a: "x".repeat(513) } }, "metadata.a"],
        ["POST", "/v1/vector_stores", { file_ids: many(501) }, "file_ids"],
        ["POST", "/v1/vector_stores", { chunking_strategy: { type: "auto" } }, "chunking_strategy"],
        ["POST", "/v1/vector_stores", { expires_after: { anchor: "created_at", days: 1 } }, "expires_after.anchor"],
        ["POST", "/v1/vector_stores", { expires_after: { anchor: "last_active_at", days: 0 } }, "expires_after.days"],
        ["POST", "/v1/vector_stores", { expires_after: { anchor: "last_active_at", days: 366 } }, "expires_after.days"],
        ["POST", "/v1/vector_stores", { expires_after: { anchor: "last_active_at" } }, "expires_after.days"],
        ["POST", vs, { description: "x" }, "description"],
        ["POST", vs, { metadata: Object.fromEntries(many(17).map((key) => [key, "x"])) }, "metadata"],
        ["GET", "/v1/vector_stores?limit=101", undefined, "limit"],
        ["GET", "/v1/vector_stores?after=vs_nope", undefined, "after"],
        ["GET", "/v1/vector_stores?before=vs_nope", undefined, "before"],
        ["POST", `${vs}/search`, {}, "query"],
        ["POST", `${vs}/search`, { query: "" }, "query"],
        ["POST", `${vs}/search`, { query: [] }, "query"],
        ["POST", `${vs}/search`, { query: ["x", 5] }, "query"],
        ["POST", `${vs}/search`, { query: "x", limit: 5 }, "limit"],
        ["POST", `${vs}/search`, { query: "x", rewrite_query: "yes" }, "rewrite_query"],
        ["POST", `${vs}/search`, { query: "x", max_num_results: 51 }, "max_num_results"],
        ["POST", `${vs}/search`, { query: "x", max_num_results: 0 }, "max_num_results"],
        ["POST", `${vs}/search`, { query: "x", ranking_options: { ranker: "best" } }, "ranking_options.ranker"],
        [
          "POST",
          `${vs}/search`,
          { query: "x", ranking_options: { score_threshold: 2 } },
          "ranking_options.score_threshold",
        ],
        [
          "POST",
          `${vs}/search`,
          { query: "x", ranking_options: { hybrid_search: {} } },
          "ranking_options.hybrid_search",
        ],
        ["POST", `${vs}/search`, { query: "x", filters: { type: "like", key: "a", value: 1 } }, "filters.type"],
        ["POST", `${vs}/search`, { query: "x", filters: { type: "gt", key: "a", value: true } }, "filters.value"],
        ["POST", `${vs}/search`, { query: "x", filters: { type: "in", key: "a", value: 1 } }, "filters.value"],
        [
          "POST",
          `${vs}/search`,
          { query: "x", filters: { type: "and", filters: [{ type: "eq", key: 1 }] } },
          "filters.filters[0].key",
        ],
        ["POST", `${vs}/search`, { query: "x", filters: nested(11) }, `filters${".filters[0]".repeat(11)}`],
        ["POST", "/v1/vector_stores", { name: "a\0b" }, "name"],
        ["POST", "/v1/vector_stores", { metadata: { owner: "a\0b" } }, "metadata.owner"],
        ["POST", "/v1/vector_stores", { metadata: { owner: "a\uD800" } }, "metadata.owner"],
        ["POST", vs, { metadata: { "own\0er": "a" } }, "metadata"],
        ["POST", `${vs}/files`, { file_id: "file-1", attributes: { kind: "a\0b" } }, "attributes.kind"],
        ["POST", `${vs}/files`, { file_id: "file-1", attributes: { "a\uDC00": true } }, "attributes"],
      ];
      for (const [method, path, body, param] of cases) {
        const { status, json } = await at.ask(method, path, body);
        const error = json["error"] as { message: string; param: string | null };
        assert.deepEqual(
          [status, error.param],
          [400, param],
          `${method} ${path} ${JSON.stringify(body)}: ${error.message}`,
        );
      }
      await assert.rejects(client.vectorStores.create({ file_ids: ["file-nope"] }), NotFoundError);
      assert.equal((await at.ask("POST", "/v1/vector_stores", { name: "x".repeat(1 << 20) })).status, 413);
      assert.equal((await client.vectorStores.list()).data.length, 1, "nothing was created on the way");
    });

    test("names of other files are no way out of the folder", async () => {
      for (const id of ["..%2F..%2Fetc", "catalog", "%00"]) {
        assert.equal((await at.ask("GET", `/v1/vector_stores/${id}`)).status, 404, id);
        assert.equal((await at.ask("DELETE", `/v1/vector_stores/${id}`)).status, 404, id);
        assert.equal((await at.ask("GET", `/v1/files/${id}/content`)).status, 404, id);
        assert.equal((await at.ask("DELETE", `/v1/files/${id}`)).status, 404, id);
      }
      assert.equal((await client.vectorStores.list()).data.length, 1);
    });
  });
}
