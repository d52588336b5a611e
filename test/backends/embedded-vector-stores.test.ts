import assert from "node:assert/strict";
import { access, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, test } from "node:test";
import type OpenAI from "openai";
import { BadRequestError, NotFoundError } from "openai";
import type { ItemId } from "../../src/contracts/ids.ts";
import {
  DEMO,
  type EmbeddedFixture,
  embeddedFixture,
  found,
  LIBRARY,
  never,
  openBackend,
  openIndex,
} from "../index/embedded-fixture.ts";
import { ask, clientOf, upload } from "./embedded-client.ts";

describe("vector stores over the wire", () => {
  let at: EmbeddedFixture;
  let client: OpenAI;
  beforeEach(async () => {
    at = await embeddedFixture();
    client = clientOf(at.backend);
  });
  afterEach(() => at.close());
  const search = async (store: string, body: OpenAI.VectorStoreSearchParams): Promise<string[]> =>
    (await client.vectorStores.search(store, body)).data.map((hit) => hit.filename);

  test("create, look, change, list, delete", async () => {
    const created = await client.vectorStores.create({ name: "Handbook", metadata: { owner: "me" } });
    assert.match(created.id, /^vs_[0-9A-Za-z]{24}$/);
    assert.equal(created.name, "Handbook");
    assert.deepEqual(created.metadata, { owner: "me" });
    assert.deepEqual(created.file_counts, { in_progress: 0, completed: 0, failed: 0, cancelled: 0, total: 0 });
    assert.ok(!("expires_after" in created));
    assert.deepEqual(await client.vectorStores.retrieve(created.id), created);
    const updated = await client.vectorStores.update(created.id, { name: "Guide" });
    assert.deepEqual([updated.name, updated.metadata], ["Guide", { owner: "me" }]);
    assert.equal((await client.vectorStores.update(created.id, { name: null })).name, "");
    const nameless = await client.vectorStores.create({});
    assert.equal(nameless.name, "");
    const ids = (await client.vectorStores.list({ order: "asc" })).data.map((store) => store.id);
    assert.deepEqual(ids, [at.store, created.id, nameless.id]);
    const deleted = await client.vectorStores.delete(created.id);
    assert.deepEqual(deleted, { id: created.id, object: "vector_store.deleted", deleted: true });
    await assert.rejects(client.vectorStores.retrieve(created.id), NotFoundError);
    await assert.rejects(client.vectorStores.delete(created.id), NotFoundError);
    await assert.rejects(client.vectorStores.search(created.id, { query: "x" }), NotFoundError);
    await assert.rejects(client.vectorStores.files.list(created.id), NotFoundError);
    await assert.rejects(access(join(at.folder, "index", `${created.id}.sqlite`)));
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

  test("an attached file is processed, found, read back, changed and detached", async () => {
    const id = await upload(
      client,
      "travel.md",
      "# Travel\n\nA hotel costs 120 euros.\n\n## Trains\n\nSecond class only, always and for everybody.",
    );
    const attached = await client.vectorStores.files.createAndPoll(at.store, {
      file_id: id,
      attributes: { year: 2024 },
    });
    assert.equal(attached.status, "completed");
    assert.equal(attached.last_error, null);
    assert.deepEqual(attached.attributes, { year: 2024 });
    assert.deepEqual(attached.chunking_strategy, {
      type: "static",
      static: { max_chunk_size_tokens: 800, chunk_overlap_tokens: 400 },
    });
    assert.deepEqual(await client.vectorStores.files.retrieve(id, { vector_store_id: at.store }), attached);
    const page = await client.vectorStores.search(at.store, { query: "hotel" });
    assert.deepEqual(Object.keys(page.data[0] ?? {}).sort(), ["attributes", "content", "file_id", "filename", "score"]);
    assert.equal(page.data[0]?.file_id, id);
    assert.match(page.data[0]?.content[0]?.text ?? "", /120 euros/);
    const changed = await client.vectorStores.files.update(id, {
      vector_store_id: at.store,
      attributes: { year: 2025 },
    });
    assert.deepEqual(changed.attributes, { year: 2025 });
    const filters = { type: "eq", key: "year", value: 2025 } as const;
    assert.deepEqual(await search(at.store, { query: "hotel", filters }), ["travel.md"]);
    assert.deepEqual(await search(at.store, { query: "hotel", filters: { ...filters, value: 2024 } }), []);
    const content = await client.vectorStores.files.content(id, { vector_store_id: at.store });
    const text = content.data.map((part) => part.text).join("\n");
    assert.match(text, /# Travel[\s\S]*120 euros[\s\S]*## Trains[\s\S]*Second class/);
    assert.deepEqual((await client.vectorStores.retrieve(at.store)).file_counts.completed, 1);
    assert.deepEqual(await client.vectorStores.files.delete(id, { vector_store_id: at.store }), {
      id,
      object: "vector_store.file.deleted",
      deleted: true,
    });
    assert.deepEqual(await search(at.store, { query: "hotel" }), []);
    assert.equal((await client.vectorStores.retrieve(at.store)).file_counts.total, 0);
    assert.equal((await client.files.retrieve(id)).id, id);
    await assert.rejects(client.vectorStores.files.retrieve(id, { vector_store_id: at.store }), NotFoundError);
    await assert.rejects(client.vectorStores.files.delete(id, { vector_store_id: at.store }), NotFoundError);
  });

  test("a file that cannot be read is failed with a reason, and not found", async () => {
    const good = await upload(client, "a.md", "The zyzzomat hums.");
    const bad = await upload(client, "b.xyz", "The zyzzomat hums.");
    const store = await client.vectorStores.create({ file_ids: [good, bad] });
    assert.deepEqual(store.file_counts, { in_progress: 0, completed: 1, failed: 1, cancelled: 0, total: 2 });
    const failed = await client.vectorStores.files.list(store.id, { filter: "failed" });
    assert.deepEqual(
      failed.data.map((file) => [file.id, file.last_error?.code, file.usage_bytes]),
      [[bad, "unsupported_file", 0]],
    );
    const completed = await client.vectorStores.files.list(store.id, { filter: "completed" });
    assert.deepEqual(
      completed.data.map((file) => file.id),
      [good],
    );
    assert.deepEqual((await client.vectorStores.files.list(store.id, { filter: "in_progress" })).data, []);
    assert.deepEqual(await search(store.id, { query: "zyzzomat" }), ["a.md"]);
    const content = await client.vectorStores.files.content(bad, { vector_store_id: store.id });
    assert.deepEqual(content.data, []);
  });

  test("attaching twice is one file; a chunking strategy cuts and shows as asked", async () => {
    const id = await upload(client, "a.md", `# A\n\n${"The zyzzomat hums along the road. ".repeat(100)}`);
    await client.vectorStores.files.create(at.store, { file_id: id, attributes: { n: 1 } });
    const again = await client.vectorStores.files.create(at.store, { file_id: id });
    assert.deepEqual(again.attributes, { n: 1 });
    assert.equal((await client.vectorStores.files.list(at.store)).data.length, 1);
    const before = (await search(at.store, { query: "zyzzomat" })).length;
    const fine = { type: "static", static: { max_chunk_size_tokens: 100, chunk_overlap_tokens: 0 } } as const;
    const cut = await client.vectorStores.files.create(at.store, { file_id: id, chunking_strategy: fine });
    assert.deepEqual([cut.chunking_strategy, cut.attributes], [fine, { n: 1 }]);
    assert.ok((await search(at.store, { query: "zyzzomat" })).length > before);
    assert.equal((await client.vectorStores.files.list(at.store)).data.length, 1);
  });

  test("deleting a file takes it out of every store and of search at once", async () => {
    const id = await upload(client, "a.md", "The zyzzomat hums.");
    const other = await client.vectorStores.create({ file_ids: [id] });
    await client.vectorStores.files.create(at.store, { file_id: id });
    await client.files.delete(id);
    for (const store of [at.store, other.id]) {
      assert.deepEqual(await search(store, { query: "zyzzomat" }), []);
      assert.deepEqual((await client.vectorStores.files.list(store)).data, []);
    }
  });

  test("files of a store page forwards and backwards", async () => {
    const ids: string[] = [];
    for (let i = 0; i < 3; i++) {
      ids.push(await upload(client, `f${i}.md`, `Text number ${i}.`));
      await client.vectorStores.files.create(at.store, { file_id: ids[i] as string });
    }
    const first = await ask(at.backend, "GET", `/vector_stores/${at.store}/files?limit=2&order=asc`);
    assert.deepEqual([first.json["first_id"], first.json["last_id"], first.json["has_more"]], [ids[0], ids[1], true]);
    const seen: string[] = [];
    for await (const file of client.vectorStores.files.list(at.store, { limit: 1 })) seen.push(file.id);
    assert.deepEqual(seen, ids.toReversed());
    const before = await client.vectorStores.files.list(at.store, { order: "asc", before: ids[1] as string });
    assert.deepEqual(
      before.data.map((file) => file.id),
      [ids[0]],
    );
  });

  test("several queries at once give one list, and an empty store an empty page", async () => {
    const page = await ask(at.backend, "POST", `/vector_stores/${at.store}/search`, {
      query: "x",
      rewrite_query: true,
    });
    assert.deepEqual(page.json, {
      object: "vector_store.search_results.page",
      search_query: ["x"],
      data: [],
      has_more: false,
      next_page: null,
    });
    await at.commit({ a: "The zyzzomat hums.", b: "The quibblet hums." });
    const both = await search(at.store, { query: ["zyzzomat", "quibblet"], ranking_options: { ranker: "auto" } });
    assert.deepEqual(both.sort(), ["a.md", "b.md"]);
    assert.equal((await search(at.store, { query: "hums", max_num_results: 1 })).length, 1);
    assert.deepEqual(await search(at.store, { query: "zyzzomat", ranking_options: { score_threshold: 1 } }), []);
  });

  test("wrong requests are refused by the field that is wrong", async () => {
    const vs = `/vector_stores/${at.store}`;
    const id = await upload(client, "a.md", "x y z");
    const key = "k".repeat(65);
    const cases: readonly (readonly [method: string, path: string, body: unknown, param: string | null])[] = [
      ["POST", "/vector_stores", "{", null],
      ["POST", "/vector_stores", [], null],
      ["POST", "/vector_stores", { nmae: "x" }, "nmae"],
      ["POST", "/vector_stores", { name: 5 }, "name"],
      ["POST", "/vector_stores", { metadata: { a: 1 } }, "metadata.a"],
      ["POST", "/vector_stores", { expires_after: { anchor: "last_active_at", days: 1 } }, "expires_after"],
      ["POST", `${vs}/files`, {}, "file_id"],
      ["POST", `${vs}/files`, { file_id: id, attributes: { a: [] } }, "attributes.a"],
      ["POST", `${vs}/files`, { file_id: id, attributes: { a: "x".repeat(513) } }, "attributes.a"],
      ["POST", `${vs}/files`, { file_id: id, attributes: { [key]: 1 } }, "attributes"],
      ["POST", `${vs}/files`, { file_id: id, chunking_strategy: { type: "magic" } }, "chunking_strategy.type"],
      [
        "POST",
        `${vs}/files`,
        {
          file_id: id,
          chunking_strategy: { type: "static", static: { max_chunk_size_tokens: 200, chunk_overlap_tokens: 101 } },
        },
        "chunking_strategy.static.chunk_overlap_tokens",
      ],
      ["GET", `${vs}/files?filter=done`, undefined, "filter"],
      ["GET", `${vs}/files?limit=101`, undefined, "limit"],
      ["POST", `${vs}/search`, {}, "query"],
      ["POST", `${vs}/search`, { query: "" }, "query"],
      ["POST", `${vs}/search`, { query: "x", max_num_results: 51 }, "max_num_results"],
      ["POST", `${vs}/search`, { query: "x", ranking_options: { ranker: "best" } }, "ranking_options.ranker"],
      ["POST", `${vs}/search`, { query: "x", ranking_options: { hybrid_search: {} } }, "ranking_options.hybrid_search"],
      ["POST", `${vs}/search`, { query: "x", filters: { type: "like", key: "a", value: 1 } }, "filters.type"],
      ["POST", `${vs}/search`, { query: "x", filters: { type: "gt", key: "a", value: true } }, "filters.value"],
      [
        "POST",
        `${vs}/search`,
        { query: "x", filters: { type: "and", filters: [{ type: "eq", key: 1 }] } },
        "filters.filters[0].key",
      ],
    ];
    for (const [method, path, body, param] of cases) {
      const { status, json } = await ask(at.backend, method, path, body);
      const error = json["error"] as { message: string; param: string | null };
      assert.equal(status, 400, `${method} ${path} ${JSON.stringify(body)}`);
      assert.equal(error.param, param, error.message);
    }
    await assert.rejects(client.vectorStores.files.create(at.store, { file_id: "file-nope" }), NotFoundError);
    await assert.rejects(client.vectorStores.create({ file_ids: ["file-nope"] }), NotFoundError);
    await assert.rejects(client.vectorStores.search(at.store, { query: "x", max_num_results: 0 }), BadRequestError);
    assert.equal((await client.vectorStores.list()).data.length, 1, "nothing was created on the way");
  });

  test("crawled documents show like any other, the draft does not, and a delete over the wire is final", async () => {
    await at.commit({ a: "The zyzzomat hums.", b: "The quibblet hums." });
    const draft = await at.index.draft(LIBRARY);
    await draft.put(await at.makeFile("a", "The newwordium hums."), never);
    await draft.put(await at.makeFile("c", "The thirdium hums."), never);
    const listed = await client.vectorStores.files.list(at.store);
    assert.equal(listed.data.length, 2);
    assert.equal((await client.vectorStores.retrieve(at.store)).file_counts.total, 2);
    assert.deepEqual((await client.files.list()).data.map((file) => file.filename).sort(), ["a.md", "b.md"]);
    const b = (await client.files.list()).data.find((file) => file.filename === "b.md");
    await client.files.delete(b?.id ?? "");
    await draft.commit(never);
    assert.deepEqual(await found(at.index, "quibblet"), []);
    assert.deepEqual((await client.files.list()).data.map((file) => file.filename).sort(), ["a.md", "c.md"]);
    assert.deepEqual(await found(at.index, "zyzzomat"), []);
    assert.deepEqual(await found(at.index, "newwordium"), ["a.md"]);
  });

  test("bytes of a crawled file come from the mirror, follow a move, and are never those of something else", async () => {
    const file = await at.makeFile("a", "The zyzzomat hums.");
    const draft = await at.index.draft(LIBRARY);
    await draft.put(file, never);
    const { ready } = await draft.commit(never);
    const id = ready[0]?.fileId ?? "";
    const read = async (): Promise<string> => (await client.files.content(id)).text();
    assert.equal(await read(), "The zyzzomat hums.");
    await writeFile(join(at.folder, "moved.md"), "The zyzzomat hums.");
    await rm(file.path);
    const moving = await at.index.draft(LIBRARY);
    await moving.relabel("a" as ItemId, { ...file.label, name: "moved.md", path: "moved.md" });
    await moving.commit(never);
    assert.equal(await read(), "The zyzzomat hums.");
    await writeFile(join(at.folder, "moved.md"), "The quibblet hums.");
    await assert.rejects(read(), NotFoundError);
    await rm(join(at.folder, "moved.md"));
    await assert.rejects(read(), NotFoundError);
  });

  test("a crawled file attached to another store lives on there when the crawl removes it", async () => {
    await at.commit({ a: "The zyzzomat hums." });
    const [file] = (await client.files.list()).data;
    const other = await client.vectorStores.create({ file_ids: [file?.id ?? ""] });
    await at.commit({ a: null });
    assert.deepEqual(await search(at.store, { query: "zyzzomat" }), []);
    assert.deepEqual(await search(other.id, { query: "zyzzomat" }), ["a.md"]);
    assert.equal((await client.files.retrieve(file?.id ?? "")).filename, "a.md");
    assert.equal((await client.files.list()).data.length, 1);
  });

  test("another process sees everything at once, also that a store is gone", async (t) => {
    const second = openBackend(join(at.folder, "index"));
    t.after(() => second.close());
    const theirs = await openIndex(second, at.store, DEMO);
    await at.commit({ a: "The zyzzomat hums." });
    assert.deepEqual(await found(theirs, "zyzzomat"), ["a.md"]);
    await at.commit({ a: "The quibblet hums." });
    assert.deepEqual(await found(theirs, "zyzzomat"), []);
    assert.deepEqual(await found(theirs, "quibblet"), ["a.md"]);
    await clientOf(second).vectorStores.delete(at.store);
    await assert.rejects(at.index.search({ text: "x", limit: 1 }), { name: "NotFoundError" });
    assert.equal(await at.backend.openIndex(at.store, undefined), undefined);
    assert.deepEqual(
      (await readdir(join(at.folder, "index"))).filter((name) => name.startsWith("vs_")),
      [],
    );
  });
});
