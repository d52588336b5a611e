// The embedded backend can play every fault that tests of its clients need.
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, test } from "node:test";
import { setImmediate as nextRound } from "node:timers/promises";
import type OpenAI from "openai";
import { APIConnectionError, BadRequestError, InternalServerError, NotFoundError, RateLimitError } from "openai";
import { type EmbeddedFixture, embeddedFixture } from "./embedded-fixture.ts";
import { FAULT_NAMES } from "./faults/faults.ts";

type Play = (at: EmbeddedFixture, client: OpenAI) => Promise<void>;

/** What each fault does, and that it is over when it is stopped or used up. */
const PLAYS: Readonly<Record<(typeof FAULT_NAMES)[number], Play>> = {
  async "attach-then-404"(at, client) {
    at.faults.play("attach-then-404", { times: 2 });
    const id = await attach(at);
    await assert.rejects(client.vectorStores.files.retrieve(id, { vector_store_id: at.store }), NotFoundError);
    assert.deepEqual(await listed(at), []);
    assert.deepEqual(await listed(at), [id]);
  },
  async "attach-before-processed-404"(at, client) {
    at.faults.play("attach-before-processed-404", { times: 2 });
    const id = await at.upload("a.md", "The zyzzomat hums.");
    assert.equal((await client.files.retrieve(id)).status, "uploaded");
    await assert.rejects(client.vectorStores.files.create(at.store, { file_id: id }), NotFoundError);
    assert.equal((await client.files.retrieve(id)).status, "processed");
    await client.vectorStores.files.create(at.store, { file_id: id });
  },
  async "counts-stale"(at, client) {
    at.faults.play("counts-stale");
    const id = await attach(at);
    await client.files.delete(id);
    assert.deepEqual(await listed(at), []);
    assert.equal((await client.vectorStores.retrieve(at.store)).file_counts.total, 1);
    at.faults.stop("counts-stale");
    assert.equal((await client.vectorStores.retrieve(at.store)).file_counts.total, 0);
  },
  async "detach-detaches-everywhere"(at, client) {
    const id = await attach(at);
    const other = await client.vectorStores.create({ file_ids: [id] });
    at.faults.play("detach-detaches-everywhere");
    await client.vectorStores.files.delete(id, { vector_store_id: at.store });
    assert.deepEqual((await client.vectorStores.files.list(other.id)).data, []);
    assert.equal((await client.files.retrieve(id)).id, id);
  },
  async "ghost-row-after-delete"(at, client) {
    const id = await attach(at);
    at.faults.play("ghost-row-after-delete", { times: 1 });
    await client.files.delete(id);
    await assert.rejects(client.files.retrieve(id), NotFoundError);
    await assert.rejects(client.files.delete(id), NotFoundError);
    assert.deepEqual((await client.files.list()).data, []);
    assert.deepEqual(await listed(at), [id]);
    assert.deepEqual(await at.search(at.store, { query: "zyzzomat" }), ["a.md"]);
    await client.vectorStores.files.delete(id, { vector_store_id: at.store });
    assert.deepEqual(await listed(at), []);
  },
  async "double-delete-404"(at, client) {
    const id = await attach(at);
    at.faults.play("double-delete-404", { times: 1 });
    await assert.rejects(client.vectorStores.files.delete(id, { vector_store_id: at.store }), NotFoundError);
    assert.deepEqual(await listed(at), []);
  },
  async "fail-with"(at, client) {
    at.faults.play("fail-with", { times: 1, code: "invalid_file" });
    const id = await attach(at);
    const failed = await client.vectorStores.files.retrieve(id, { vector_store_id: at.store });
    assert.deepEqual([failed.status, failed.last_error?.code], ["failed", "invalid_file"]);
    assert.deepEqual(await at.search(at.store, { query: "zyzzomat" }), []);
  },
  async "stuck-in-progress"(at, client) {
    const id = await at.upload("a.md", "The zyzzomat hums.");
    at.faults.play("stuck-in-progress", { fileId: id });
    const stuck = await client.vectorStores.files.create(at.store, { file_id: id });
    assert.equal(stuck.status, "in_progress");
    const other = await client.vectorStores.files.createAndPoll(at.store, {
      file_id: await at.upload("b.md", "Hello."),
    });
    assert.equal(other.status, "completed");
    assert.equal((await client.vectorStores.files.retrieve(id, { vector_store_id: at.store })).status, "in_progress");
    at.faults.stop();
    assert.equal((await client.vectorStores.files.poll(at.store, id)).status, "completed");
  },
  async "batch-completed-with-failures"(at, client) {
    at.faults.play("batch-completed-with-failures", { times: 1 });
    const ids = [await at.upload("a.md", "One."), await at.upload("b.md", "Two.")];
    const batch = await client.vectorStores.fileBatches.createAndPoll(at.store, { file_ids: ids });
    assert.deepEqual([batch.status, batch.file_counts.completed, batch.file_counts.failed], ["completed", 1, 1]);
  },
  async "stores-list-empty"(at, client) {
    at.faults.play("stores-list-empty", { times: 1 });
    assert.deepEqual((await client.vectorStores.list()).data, []);
    assert.equal((await client.vectorStores.retrieve(at.store)).id, at.store);
    assert.equal((await client.vectorStores.list()).data.length, 1);
  },
  async "attach-twice-refused"(at, client) {
    at.faults.play("attach-twice-refused");
    const id = await attach(at);
    await assert.rejects(client.vectorStores.files.create(at.store, { file_id: id }), BadRequestError);
  },
  async "attach-twice-listed-twice"(at, client) {
    at.faults.play("attach-twice-listed-twice");
    const id = await attach(at);
    assert.deepEqual(await listed(at), [id]);
    await client.vectorStores.files.create(at.store, { file_id: id });
    assert.deepEqual(await listed(at), [id, id]);
    await client.vectorStores.files.delete(id, { vector_store_id: at.store });
    assert.deepEqual(await listed(at), []);
  },
  async "upload-duplicates"(at, client) {
    at.faults.play("upload-duplicates", { times: 1 });
    const id = await at.upload("a.md", "The zyzzomat hums.");
    const files = (await client.files.list({ order: "asc" })).data;
    assert.deepEqual([files.length, files[1]?.id, files[0]?.filename], [2, id, "a.md"]);
    for (const file of files) assert.equal(await (await client.files.content(file.id)).text(), "The zyzzomat hums.");
  },
  async "cursor-deleted-while-paging"(at, client) {
    const [a] = [await attach(at), await attach(at, "b.md")];
    at.faults.play("cursor-deleted-while-paging", { times: 1 });
    const page = { order: "asc", limit: 1, after: a } as const;
    await assert.rejects(client.vectorStores.files.list(at.store, page), BadRequestError);
    assert.equal((await client.vectorStores.files.list(at.store, page)).data.length, 1);
  },
  async "store-expired"(at, client) {
    const id = await attach(at);
    at.faults.play("store-expired", { storeId: at.store });
    assert.equal((await client.vectorStores.retrieve(at.store)).status, "expired");
    await assert.rejects(client.vectorStores.search(at.store, { query: "x" }), BadRequestError);
    await assert.rejects(client.vectorStores.files.create(at.store, { file_id: id }), BadRequestError);
    assert.equal((await client.vectorStores.create({})).status, "completed");
  },
  async "rate-limited"(at, client) {
    at.faults.play("rate-limited", { times: 1, on: "GET /vector_stores/:id", retryAfterSeconds: 120 });
    const refused = await client.vectorStores.retrieve(at.store).catch((error: unknown) => error);
    assert.ok(refused instanceof RateLimitError);
    assert.equal(refused.headers?.get("retry-after"), "120");
    await client.vectorStores.retrieve(at.store);
  },
  async "insufficient-quota"(at, client) {
    at.faults.play("insufficient-quota", { on: "POST /files" });
    const refused = await at.upload("a.md", "x").catch((error: unknown) => error);
    assert.ok(refused instanceof RateLimitError);
    assert.deepEqual([refused.type, refused.code], ["insufficient_quota", "insufficient_quota"]);
    assert.deepEqual((await client.files.list()).data, []);
  },
  async "search-404"(at, client) {
    at.faults.play("search-404");
    await assert.rejects(client.vectorStores.search(at.store, { query: "x" }), NotFoundError);
    assert.equal((await client.vectorStores.retrieve(at.store)).id, at.store);
  },
  async "server-error"(at, client) {
    at.faults.play("server-error", { times: 1 });
    await assert.rejects(client.files.list(), InternalServerError);
    await client.files.list();
  },
  async "drop-before-effect"(at, client) {
    at.faults.play("drop-before-effect", { times: 1, on: "POST /files" });
    await assert.rejects(at.upload("a.md", "x"), APIConnectionError);
    assert.deepEqual((await client.files.list()).data, []);
  },
  async "drop-after-effect"(at, client) {
    at.faults.play("drop-after-effect", { times: 1, on: "POST /files" });
    await assert.rejects(at.upload("a.md", "x"), APIConnectionError);
    assert.equal((await client.files.list()).data.length, 1);
  },
  async "unknown-status"(at) {
    const id = await attach(at);
    at.faults.play("unknown-status", { times: 1 });
    const { json } = await plain(at, `/v1/vector_stores/${at.store}/files/${id}`);
    assert.equal(json["status"], "queued");
  },
  async "pages-never-end"(at, client) {
    const [a, b] = [await attach(at), await attach(at, "b.md")];
    at.faults.play("pages-never-end");
    const second = await client.vectorStores.files.list(at.store, { order: "asc", limit: 2, after: a });
    assert.deepEqual([second.data.map(({ id }) => id), second.has_more], [[a, b], true]);
  },
};

describe("faults the embedded backend can play", () => {
  let at: EmbeddedFixture;
  beforeEach(async () => {
    at = await embeddedFixture();
  });
  afterEach(() => at.close());

  for (const name of FAULT_NAMES) {
    test(name, async () => {
      await PLAYS[name](at, at.client);
      assert.ok(at.faults.struck(name) > 0);
    });
  }
});

/** Waits until it is processed by looking from another process, past all faults. */
async function attach(at: EmbeddedFixture, name = "a.md"): Promise<string> {
  const id = await at.upload(name, "The zyzzomat hums.");
  await at.client.vectorStores.files.create(at.store, { file_id: id });
  const { wire } = await at.second();
  for (let status = "in_progress"; status === "in_progress"; ) {
    await nextRound();
    const response = await wire(new Request(`http://second.invalid/vector_stores/${at.store}/files/${id}`));
    status = String(((await response.json()) as Record<string, unknown>)["status"]);
  }
  return id;
}

async function listed(at: EmbeddedFixture): Promise<string[]> {
  const { data } = await at.client.vectorStores.files.list(at.store);
  return data.map(({ id }) => id);
}

async function plain(at: EmbeddedFixture, path: string): Promise<{ json: Record<string, unknown> }> {
  const response = await fetch(`${at.url}${path}`);
  return { json: (await response.json()) as Record<string, unknown> };
}
