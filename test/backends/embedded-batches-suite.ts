import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, test } from "node:test";
import type OpenAI from "openai";
import { BadRequestError, NotFoundError, toFile } from "openai";
import { type EmbeddedFixture, embeddedFixture, type OpenHouse } from "./embedded-fixture.ts";

/** What batches of files promise over the wire, wherever the stores live. */
export function batchesSuite(name: string, open: OpenHouse): void {
  describe(`file batches: ${name}`, () => {
    let at: EmbeddedFixture;
    let client: OpenAI;
    beforeEach(async () => {
      at = await embeddedFixture(open);
      client = at.client;
    });
    afterEach(() => at.close());

    const uploads = async (count: number): Promise<string[]> => {
      const ids: string[] = [];
      for (let i = 0; i < count; i++) ids.push(await at.upload(`f${i}.md`, `The zyzzomat number${i} hums.`));
      return ids;
    };
    const filesOf = async (
      batch: string,
      query: Omit<OpenAI.VectorStores.FileBatchListFilesParams, "vector_store_id"> = {},
    ): Promise<string[]> => {
      const ids: string[] = [];
      const params = { vector_store_id: at.store, ...query };
      for await (const file of client.vectorStores.fileBatches.listFiles(batch, params)) ids.push(file.id);
      return ids;
    };

    test("files attached together are processed, counted, listed and found", async () => {
      const ids = await uploads(5);
      const batch = await client.vectorStores.fileBatches.create(at.store, {
        file_ids: ids,
        attributes: { set: "one" },
        chunking_strategy: { type: "static", static: { max_chunk_size_tokens: 200, chunk_overlap_tokens: 50 } },
      });
      assert.match(batch.id, /^vsfb_/);
      assert.deepEqual([batch.object, batch.vector_store_id], ["vector_store.files_batch", at.store]);
      assert.equal(batch.file_counts.total, 5);
      const done = await client.vectorStores.fileBatches.poll(at.store, batch.id);
      assert.equal(done.status, "completed");
      assert.deepEqual(done.file_counts, { in_progress: 0, completed: 5, failed: 0, cancelled: 0, total: 5 });
      assert.deepEqual(await filesOf(batch.id, { order: "asc", limit: 2 }), ids);
      assert.deepEqual(await filesOf(batch.id, { limit: 2 }), ids.toReversed());
      assert.deepEqual(await filesOf(batch.id, { filter: "failed" }), []);
      const params = { vector_store_id: at.store, order: "asc" } as const;
      const before = await client.vectorStores.fileBatches.listFiles(batch.id, {
        ...params,
        before: ids[2] as string,
        limit: 1,
      });
      assert.deepEqual([before.data.map(({ id }) => id), before.has_more], [[ids[1]], true]);
      const [file] = before.data;
      assert.deepEqual(file?.attributes, { set: "one" });
      assert.deepEqual(file?.chunking_strategy, {
        type: "static",
        static: { max_chunk_size_tokens: 200, chunk_overlap_tokens: 50 },
      });
      assert.deepEqual(await at.search(at.store, { query: "number3" }), ["f3.md"]);
      const content = await client.vectorStores.files.content(ids[0] as string, { vector_store_id: at.store });
      assert.match(content.data[0]?.text ?? "", /number0/);
    });

    test("each file with its own attributes and chunking; the rest of the store is left alone", async () => {
      const [a, b, other] = (await uploads(3)) as [string, string, string];
      await client.vectorStores.files.createAndPoll(at.store, { file_id: other });
      const batch = await client.vectorStores.fileBatches.createAndPoll(at.store, {
        files: [
          { file_id: a, attributes: { n: 1 } },
          { file_id: b, attributes: { n: 2 }, chunking_strategy: { type: "auto" } },
        ],
      });
      assert.deepEqual(batch.file_counts.total, 2);
      assert.deepEqual((await filesOf(batch.id)).sort(), [a, b].sort());
      const filters = { type: "eq", key: "n", value: 2 } as const;
      assert.deepEqual(await at.search(at.store, { query: "zyzzomat", filters }), ["f1.md"]);
      assert.equal((await client.vectorStores.retrieve(at.store)).file_counts.total, 3);
    });

    test("a batch with failures is completed, and says which failed", async () => {
      const good = await at.upload("a.md", "The zyzzomat hums.");
      const bad = await at.upload("b.xyz", "The zyzzomat hums.");
      const batch = await client.vectorStores.fileBatches.createAndPoll(at.store, { file_ids: [good, bad] });
      assert.deepEqual([batch.status, batch.file_counts.completed, batch.file_counts.failed], ["completed", 1, 1]);
      assert.deepEqual(await filesOf(batch.id, { filter: "failed" }), [bad]);
      assert.deepEqual(await filesOf(batch.id, { filter: "completed" }), [good]);
    });

    test("a cancelled batch keeps what was done and does no more", async () => {
      const ids = await uploads(3);
      const done = await client.vectorStores.files.createAndPoll(at.store, { file_id: ids[0] as string });
      assert.equal(done.status, "completed");
      at.faults.play("stuck-in-progress");
      const batch = await client.vectorStores.fileBatches.create(at.store, { file_ids: ids });
      assert.deepEqual([batch.status, batch.file_counts.in_progress], ["in_progress", 2]);
      const scope = { vector_store_id: at.store };
      const cancelled = await client.vectorStores.fileBatches.cancel(batch.id, scope);
      assert.equal(cancelled.status, "cancelled");
      assert.deepEqual(cancelled.file_counts, { in_progress: 0, completed: 1, failed: 0, cancelled: 2, total: 3 });
      at.faults.stop();
      assert.deepEqual(await client.vectorStores.fileBatches.retrieve(batch.id, scope), cancelled);
      assert.deepEqual(await at.search(at.store, { query: "zyzzomat" }), ["f0.md"]);
      assert.deepEqual((await filesOf(batch.id, { filter: "cancelled" })).sort(), ids.slice(1).sort());
      const again = await client.vectorStores.files.createAndPoll(at.store, { file_id: ids[1] as string });
      assert.equal(again.status, "completed", "attached anew, it is processed");
    });

    test("cancelling what is over changes nothing", async () => {
      const batch = await client.vectorStores.fileBatches.createAndPoll(at.store, { file_ids: await uploads(1) });
      const after = await client.vectorStores.fileBatches.cancel(batch.id, { vector_store_id: at.store });
      assert.deepEqual(after, batch);
    });

    test("the client uploads and attaches in one call", async () => {
      const files = await Promise.all([1, 2, 3].map((n) => toFile(Buffer.from(`The quibblet${n} hums.`), `q${n}.md`)));
      const batch = await client.vectorStores.fileBatches.uploadAndPoll(at.store, { files });
      assert.deepEqual([batch.status, batch.file_counts.completed], ["completed", 3]);
      assert.deepEqual(await at.search(at.store, { query: "quibblet2" }), ["q2.md"]);
    });

    test("as many files as are allowed", async () => {
      const [id] = await uploads(1);
      const same = Array.from({ length: 2000 }, () => ({
        file_id: id as string,
        attributes: { text: "x".repeat(500) },
      }));
      const batch = await client.vectorStores.fileBatches.createAndPoll(at.store, { files: same });
      assert.deepEqual(
        [batch.file_counts.total, batch.file_counts.completed],
        [1, 1],
        "named often, it is attached once",
      );
    });

    test("wrong requests are refused by the field that is wrong", async () => {
      const [id] = await uploads(1);
      const batches = `/v1/vector_stores/${at.store}/file_batches`;
      const many = Array.from({ length: 2001 }, (_, i) => `file-${i}`);
      const cases: readonly (readonly [body: unknown, param: string | null])[] = [
        [{}, "file_ids"],
        [{ file_ids: [id], files: [{ file_id: id }] }, "files"],
        [{ file_ids: [] }, "file_ids"],
        [{ file_ids: many }, "file_ids"],
        [{ file_ids: [5] }, "file_ids"],
        [{ file_ids: id }, "file_ids"],
        [{ files: [] }, "files"],
        [{ files: [{}] }, "files[0].file_id"],
        [{ files: [{ file_id: id, name: "x" }] }, "files[0].name"],
        [{ files: [{ file_id: id, attributes: { a: {} } }] }, "files[0].attributes.a"],
        [{ files: [{ file_id: id, chunking_strategy: { type: "x" } }] }, "files[0].chunking_strategy.type"],
        [{ files: [{ file_id: id }], attributes: {} }, "attributes"],
        [{ files: [{ file_id: id }], chunking_strategy: { type: "auto" } }, "chunking_strategy"],
        [{ file_ids: [id], batch: 1 }, "batch"],
      ];
      for (const [body, param] of cases) {
        const { status, json } = await at.ask("POST", batches, body);
        const error = json["error"] as { message: string; param: string | null };
        assert.deepEqual(
          [status, error.param],
          [400, param],
          `${JSON.stringify(body).slice(0, 100)}: ${error.message}`,
        );
      }
      const scope = { vector_store_id: at.store };
      const none = client.vectorStores.fileBatches.create(at.store, { file_ids: [id as string, "file-nope"] });
      await assert.rejects(none, NotFoundError);
      await assert.rejects(client.vectorStores.fileBatches.retrieve("vsfb_nope", scope), NotFoundError);
      await assert.rejects(client.vectorStores.fileBatches.cancel("vsfb_nope", scope), NotFoundError);
      await assert.rejects(client.vectorStores.fileBatches.listFiles("vsfb_nope", scope), NotFoundError);
      assert.equal(
        (await client.vectorStores.retrieve(at.store)).file_counts.total,
        0,
        "nothing was attached on the way",
      );
      const batch = await client.vectorStores.fileBatches.createAndPoll(at.store, { file_ids: [id as string] });
      const elsewhere = await client.vectorStores.create({});
      const wrongStore = { vector_store_id: elsewhere.id };
      await assert.rejects(client.vectorStores.fileBatches.retrieve(batch.id, wrongStore), NotFoundError);
      const cursor = client.vectorStores.fileBatches.listFiles(batch.id, { ...scope, after: "file-nope" });
      await assert.rejects(cursor, BadRequestError);
    });
  });
}
