import assert from "node:assert/strict";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, test } from "node:test";
import type OpenAI from "openai";
import { NotFoundError } from "openai";
import type { ItemId } from "../../src/contracts/ids.ts";
import { DEMO, found, LIBRARY, never } from "../index/index-fixture.ts";
import { type EmbeddedFixture, embeddedFixture, type OpenHouse, openIndex } from "./embedded-fixture.ts";
import { serveWire } from "./embedded-serve.ts";

/** What files in vector stores promise over the wire, wherever the stores live. */
export function storeFilesSuite(name: string, open: OpenHouse): void {
  describe(`files in vector stores: ${name}`, () => {
    let at: EmbeddedFixture;
    let client: OpenAI;
    beforeEach(async () => {
      at = await embeddedFixture(open);
      client = at.client;
    });
    afterEach(() => at.close());

    const attach = async (fileName: string, text: string): Promise<string> => {
      const id = await at.upload(fileName, text);
      await client.vectorStores.files.createAndPoll(at.store, { file_id: id });
      return id;
    };
    const idsIn = async (store: string, query: OpenAI.VectorStores.FileListParams = {}): Promise<string[]> => {
      const ids: string[] = [];
      for await (const file of client.vectorStores.files.list(store, query)) ids.push(file.id);
      return ids;
    };

    test("an attached file is in progress, then found, read back, changed and detached", async () => {
      const text = "# Travel\n\nA hotel costs 120 euros.\n\n## Trains\n\nSecond class only, always and for everybody.";
      const id = await at.upload("travel.md", text);
      at.faults.play("stuck-in-progress");
      const begun = await client.vectorStores.files.create(at.store, { file_id: id, attributes: { year: 2024 } });
      assert.deepEqual([begun.status, begun.usage_bytes, begun.last_error], ["in_progress", 0, null]);
      const store = await client.vectorStores.retrieve(at.store);
      assert.deepEqual([store.status, store.file_counts.in_progress], ["in_progress", 1]);
      assert.deepEqual(await idsIn(at.store, { filter: "in_progress" }), [id]);
      assert.deepEqual(await at.search(at.store, { query: "hotel" }), []);
      at.faults.stop();
      const attached = await client.vectorStores.files.poll(at.store, id);
      assert.deepEqual(
        [attached.status, attached.last_error, attached.attributes],
        ["completed", null, { year: 2024 }],
      );
      const strategy = { type: "static", static: { max_chunk_size_tokens: 800, chunk_overlap_tokens: 400 } };
      assert.deepEqual(attached.chunking_strategy, strategy);
      assert.equal(attached.usage_bytes, text.length);
      const page = await client.vectorStores.search(at.store, { query: "hotel" });
      assert.equal(page.data[0]?.file_id, id);
      assert.match(page.data[0]?.content[0]?.text ?? "", /120 euros/);
      const changed = await client.vectorStores.files.update(id, {
        vector_store_id: at.store,
        attributes: { year: 2025 },
      });
      assert.deepEqual(changed.attributes, { year: 2025 });
      const filters = { type: "eq", key: "year", value: 2025 } as const;
      assert.deepEqual(await at.search(at.store, { query: "hotel", filters }), ["travel.md"]);
      assert.deepEqual(await at.search(at.store, { query: "hotel", filters: { ...filters, value: 2024 } }), []);
      const none = await client.vectorStores.files.update(id, { vector_store_id: at.store, attributes: null });
      assert.deepEqual(none.attributes, {});
      const content = await client.vectorStores.files.content(id, { vector_store_id: at.store });
      const parts = content.data.map((part) => part.text).join("\n");
      assert.match(parts, /# Travel[\s\S]*120 euros[\s\S]*## Trains[\s\S]*Second class/);
      const detached = await client.vectorStores.files.delete(id, { vector_store_id: at.store });
      assert.deepEqual(detached, { id, object: "vector_store.file.deleted", deleted: true });
      assert.deepEqual(await at.search(at.store, { query: "hotel" }), []);
      assert.equal((await client.vectorStores.retrieve(at.store)).file_counts.total, 0);
      await assert.rejects(client.vectorStores.files.retrieve(id, { vector_store_id: at.store }), NotFoundError);
      await assert.rejects(client.vectorStores.files.delete(id, { vector_store_id: at.store }), NotFoundError);
      assert.equal((await client.files.retrieve(id)).id, id, "the file itself stays");
    });

    test("a file that cannot be read is failed with a reason, and not found; attached again it is tried again", async () => {
      const good = await at.upload("a.md", "The zyzzomat hums.");
      const bad = await at.upload("b.xyz", "The zyzzomat hums.");
      const store = await client.vectorStores.create({ file_ids: [good, bad] });
      assert.equal(store.file_counts.total, 2);
      for (const id of [good, bad]) await client.vectorStores.files.poll(store.id, id);
      const { file_counts, status } = await client.vectorStores.retrieve(store.id);
      assert.deepEqual(file_counts, { in_progress: 0, completed: 1, failed: 1, cancelled: 0, total: 2 });
      assert.equal(status, "completed");
      const failed = await client.vectorStores.files.retrieve(bad, { vector_store_id: store.id });
      assert.deepEqual([failed.last_error?.code, failed.usage_bytes], ["unsupported_file", 0]);
      assert.deepEqual(await idsIn(store.id, { filter: "failed" }), [bad]);
      assert.deepEqual(await idsIn(store.id, { filter: "completed" }), [good]);
      assert.deepEqual(await idsIn(store.id, { filter: "in_progress" }), []);
      assert.deepEqual(await at.search(store.id, { query: "zyzzomat" }), ["a.md"]);
      assert.deepEqual((await client.vectorStores.files.content(bad, { vector_store_id: store.id })).data, []);
      at.faults.play("fail-with", { code: "server_error", times: 1 });
      const late = await at.upload("c.md", "The quibblet hums.");
      const first = await client.vectorStores.files.createAndPoll(store.id, { file_id: late });
      assert.deepEqual([first.status, first.last_error?.code], ["failed", "server_error"]);
      const second = await client.vectorStores.files.createAndPoll(store.id, { file_id: late });
      assert.deepEqual([second.status, second.last_error], ["completed", null]);
      assert.deepEqual(await at.search(store.id, { query: "quibblet" }), ["c.md"]);
    });

    test("attaching twice is one file; a chunking strategy cuts and shows as asked", async () => {
      const id = await at.upload("a.md", `# A\n\n${words(600)}`);
      await client.vectorStores.files.createAndPoll(at.store, { file_id: id, attributes: { n: 1 } });
      const again = await client.vectorStores.files.createAndPoll(at.store, { file_id: id });
      assert.deepEqual([again.attributes, again.status], [{ n: 1 }, "completed"]);
      assert.deepEqual(await idsIn(at.store), [id]);
      const fine = { type: "static", static: { max_chunk_size_tokens: 100, chunk_overlap_tokens: 0 } } as const;
      const longest = async (): Promise<number> => {
        const { data } = await client.vectorStores.search(at.store, { query: "word7" });
        return Math.max(...data.map(({ content }) => content[0]?.text.length ?? 0));
      };
      const before = await longest();
      const cut = await client.vectorStores.files.createAndPoll(at.store, { file_id: id, chunking_strategy: fine });
      assert.deepEqual([cut.chunking_strategy, cut.attributes], [fine, { n: 1 }]);
      assert.ok((await longest()) < before / 2);
      assert.deepEqual(await idsIn(at.store), [id]);
    });

    test("detached while it is processed, it does not come back", async () => {
      const id = await at.upload("a.md", "The zyzzomat hums.");
      at.faults.play("stuck-in-progress");
      await client.vectorStores.files.create(at.store, { file_id: id });
      await client.vectorStores.files.delete(id, { vector_store_id: at.store });
      at.faults.stop();
      const other = await attach("b.md", "The zyzzomat sings.");
      assert.deepEqual(await idsIn(at.store), [other]);
      assert.deepEqual(await at.search(at.store, { query: "zyzzomat" }), ["b.md"]);
    });

    test("deleting a file takes it out of every store and of search at once", async () => {
      const id = await attach("a.md", "The zyzzomat hums.");
      const other = await client.vectorStores.create({ file_ids: [id] });
      await client.vectorStores.files.poll(other.id, id);
      await client.files.delete(id);
      for (const store of [at.store, other.id]) {
        assert.deepEqual(await at.search(store, { query: "zyzzomat" }), []);
        assert.deepEqual(await idsIn(store), []);
        assert.equal((await client.vectorStores.retrieve(store)).file_counts.total, 0);
      }
    });

    test("files of a store page forwards and backwards", async () => {
      const ids: string[] = [];
      for (let i = 0; i < 3; i++) ids.push(await attach(`f${i}.md`, `Text number ${i}.`));
      const files = `/v1/vector_stores/${at.store}/files`;
      const first = (await at.ask("GET", `${files}?limit=2&order=asc`)).json;
      assert.deepEqual([first["first_id"], first["last_id"], first["has_more"]], [ids[0], ids[1], true]);
      assert.deepEqual(await idsIn(at.store, { limit: 1 }), ids.toReversed());
      const before = await client.vectorStores.files.list(at.store, { order: "asc", before: ids[1] as string });
      assert.deepEqual([before.data.map((file) => file.id), before.has_more], [[ids[0]], false]);
      const last = await client.vectorStores.files.list(at.store, { order: "asc", after: ids[2] as string });
      assert.deepEqual([last.data, last.has_more], [[], false]);
    });

    test("wrong requests are refused by the field that is wrong", async () => {
      const files = `/v1/vector_stores/${at.store}/files`;
      const id = await attach("a.md", "x y z");
      const chunking = (max: number, overlap: number): object => ({
        type: "static",
        static: { max_chunk_size_tokens: max, chunk_overlap_tokens: overlap },
      });
      const cases: readonly (readonly [method: string, path: string, body: unknown, param: string])[] = [
        ["POST", files, {}, "file_id"],
        ["POST", files, { file_id: 5 }, "file_id"],
        ["POST", files, { file_id: id, filename: "x" }, "filename"],
        ["POST", files, { file_id: id, attributes: { a: [] } }, "attributes.a"],
        ["POST", files, { file_id: id, attributes: { a: null } }, "attributes.a"],
        ["POST", files, { file_id: id, attributes: { a: "x".repeat(513) } }, "attributes.a"],
        ["POST", files, { file_id: id, attributes: { ["k".repeat(65)]: 1 } }, "attributes"],
        [
          "POST",
          files,
          { file_id: id, attributes: Object.fromEntries(Array.from({ length: 17 }, (_, i) => [i, 1])) },
          "attributes",
        ],
        ["POST", files, { file_id: id, chunking_strategy: { type: "magic" } }, "chunking_strategy.type"],
        [
          "POST",
          files,
          { file_id: id, chunking_strategy: chunking(99, 0) },
          "chunking_strategy.static.max_chunk_size_tokens",
        ],
        [
          "POST",
          files,
          { file_id: id, chunking_strategy: chunking(4097, 0) },
          "chunking_strategy.static.max_chunk_size_tokens",
        ],
        [
          "POST",
          files,
          { file_id: id, chunking_strategy: chunking(200, 101) },
          "chunking_strategy.static.chunk_overlap_tokens",
        ],
        ["POST", `${files}/${id}`, {}, "attributes"],
        ["POST", `${files}/${id}`, { attributes: "x" }, "attributes"],
        ["POST", `${files}/${id}`, { attributes: {}, file_id: id }, "file_id"],
        ["GET", `${files}?filter=done`, undefined, "filter"],
        ["GET", `${files}?limit=101`, undefined, "limit"],
        ["GET", `${files}?after=file-nope`, undefined, "after"],
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
      const gone = { vector_store_id: at.store };
      await assert.rejects(client.vectorStores.files.create(at.store, { file_id: "file-nope" }), NotFoundError);
      await assert.rejects(client.vectorStores.files.retrieve("file-nope", gone), NotFoundError);
      await assert.rejects(client.vectorStores.files.update("file-nope", { ...gone, attributes: {} }), NotFoundError);
      await assert.rejects(client.vectorStores.files.delete("file-nope", gone), NotFoundError);
      await assert.rejects(client.vectorStores.files.content("file-nope", gone), NotFoundError);
      await assert.rejects(client.vectorStores.files.create("vs_nope", { file_id: id }), NotFoundError);
      await assert.rejects(client.vectorStores.files.list("vs_nope"), NotFoundError);
      assert.deepEqual(await idsIn(at.store), [id]);
    });

    test("crawled documents show like any other, the draft does not, and a delete over the wire is final", async () => {
      await at.commit({ a: "The zyzzomat hums.", b: "The quibblet hums." });
      const draft = await at.index.draft(LIBRARY);
      await draft.put(await at.makeFile("a", "The newwordium hums."), never);
      await draft.put(await at.makeFile("c", "The thirdium hums."), never);
      const names = async (): Promise<string[]> => (await client.files.list()).data.map((file) => file.filename).sort();
      assert.equal((await idsIn(at.store)).length, 2);
      assert.equal((await client.vectorStores.retrieve(at.store)).file_counts.total, 2);
      assert.deepEqual(await names(), ["a.md", "b.md"]);
      const b = (await client.files.list()).data.find((file) => file.filename === "b.md");
      await client.files.delete(b?.id ?? "");
      await draft.commit(never);
      assert.deepEqual(await found(at.index, "quibblet"), []);
      assert.deepEqual(await names(), ["a.md", "c.md"]);
      assert.deepEqual(await found(at.index, "zyzzomat"), []);
      assert.deepEqual(await found(at.index, "newwordium"), ["a.md"]);
      const { generations } = at.index;
      const kept = (await generations?.list()) ?? [];
      const first = kept.at(-1)?.number ?? 0;
      assert.deepEqual(await found(at.index, "zyzzomat", first), ["a.md"], "an earlier generation still answers");
      assert.deepEqual(await found(at.index, "quibblet", first), [], "without what was deleted over the wire");
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
      await client.vectorStores.files.poll(other.id, file?.id ?? "");
      await at.commit({ a: null });
      assert.deepEqual(await at.search(at.store, { query: "zyzzomat" }), []);
      assert.deepEqual(await at.search(other.id, { query: "zyzzomat" }), ["a.md"]);
      assert.equal((await client.files.retrieve(file?.id ?? "")).filename, "a.md");
      assert.equal((await client.files.list()).data.length, 1);
    });

    test("another process sees everything at once, also that a store is gone", async (t) => {
      const second = await at.second();
      const served = await serveWire(second.wire);
      t.after(() => served.close());
      const theirs = await openIndex(second, at.store, DEMO);
      await at.commit({ a: "The zyzzomat hums." });
      assert.deepEqual(await found(theirs, "zyzzomat"), ["a.md"]);
      await at.commit({ a: "The quibblet hums." });
      assert.deepEqual(await found(theirs, "zyzzomat"), []);
      assert.deepEqual(await found(theirs, "quibblet"), ["a.md"]);
      const response = await fetch(`${served.url}/v1/vector_stores/${at.store}`, { method: "DELETE" });
      assert.equal(response.status, 200);
      await assert.rejects(at.index.search({ text: "x", limit: 1 }), { name: "NotFoundError" });
      assert.equal(await at.backend.openIndex(at.store, undefined), undefined);
    });
  });
}

/** Text with many different words, so that passages differ. */
function words(count: number): string {
  return Array.from({ length: count }, (_, i) => `word${i % 97} thing${i}.`).join(" ");
}
