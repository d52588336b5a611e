// Many files are attached in batches, and one bad file or lost response does not stop the others.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ConflictError } from "../../src/contracts/errors.ts";
import type { ItemId } from "../../src/contracts/ids.ts";
import {
  attachedIds,
  countRequests,
  found,
  holdings,
  never,
  putAndCommit,
  SOURCE,
  uploadedIds,
  useVectorStore,
} from "./openai-bench.ts";
import { errorBody } from "./openai-fault-proxy.ts";

const BATCHES = "POST /vector_stores/:store/file_batches";

describe("many files at once", () => {
  const at = useVectorStore();

  const makeFiles = (count: number, text: string) =>
    Promise.all(Array.from({ length: count }, (_, i) => at.makeFile(`item-${i}`, `${text} number ${i}.`)));

  test("are attached in one request with the marks of each, and found", async () => {
    const { ready, failed } = await putAndCommit(at, ...(await makeFiles(40, "Otter")));
    assert.deepEqual(failed, []);
    assert.equal(ready.length, 40);
    assert.equal(countRequests(at, `POST /v1/vector_stores/${at.storeId}/file_batches`), 1);
    assert.equal(countRequests(at, `POST /v1/vector_stores/${at.storeId}/files`), 0);
    const held = await holdings(at);
    assert.equal(new Set(held.map((ref) => ref.itemId)).size, 40);
    assert.deepEqual(held.map((ref) => ref.sha256).toSorted(), ready.map((ref) => ref.sha256).toSorted());
    assert.ok((await found(at, "Otter")).length > 0);
    assert.ok(at.proxy.mostAtOnce() <= 16);
  });

  test("a batch whose answer was lost is not attached a second time", async () => {
    at.faults.play("attach-twice-refused");
    at.proxy.inject({ on: BATCHES, times: 1, act: { kind: "reset-after" } });
    const { ready, failed } = await putAndCommit(at, ...(await makeFiles(3, "Otter")));
    assert.deepEqual(failed, []);
    assert.deepEqual((await attachedIds(at)).toSorted(), ready.map((ref) => ref.fileId as string).toSorted());
    assert.equal(countRequests(at, `POST /v1/vector_stores/${at.storeId}/file_batches`), 1);
    assert.equal((await found(at, "Otter")).length, 3);
  });

  test("one file that is not welcome does not keep the others out", async () => {
    const files = await makeFiles(4, "Otter");
    const body = errorBody("Something about one of the files.");
    at.proxy.inject({ on: BATCHES, times: 1, act: { kind: "answer", status: 400, body } });
    const refusal = errorBody("The file type is not supported.", "unsupported_file");
    const single = "POST /vector_stores/:store/files";
    at.proxy.inject({ on: single, times: 1, act: { kind: "answer", status: 400, body: refusal } });
    const { ready, failed } = await putAndCommit(at, ...files);
    assert.equal(ready.length, 3);
    assert.deepEqual(
      failed.map(({ permanent }) => permanent),
      [true],
    );
    assert.equal((await found(at, "Otter")).length, 3);
    assert.equal((await uploadedIds(at)).filter((id) => ready.some(({ fileId }) => fileId === id)).length, 3);
  });

  test("a service without batches gets them one by one, and is asked for batches once", async () => {
    const body = errorBody("Unknown parameter: 'files'.");
    at.proxy.inject({ on: BATCHES, times: 1000, act: { kind: "answer", status: 400, body } });
    for (const text of ["Otter", "Beaver"]) {
      assert.deepEqual((await putAndCommit(at, ...(await makeFiles(3, text)))).failed, []);
      assert.equal((await found(at, text)).length, 3);
    }
    assert.equal(countRequests(at, `POST /v1/vector_stores/${at.storeId}/file_batches`), 1);
    assert.deepEqual(await found(at, "Otter"), []);
  });

  test("a store that is nearly full never holds more than it can, and no item is missing on the way", async () => {
    await putAndCommit(at, ...(await makeFiles(12, "Old otter")));
    const others = 10_000 - 12 - 5;
    const foreign = Array.from({ length: others }, (_, i) => ({
      ...{ id: `file-foreign-${i}`, object: "vector_store.file", status: "completed", created_at: 1 },
      ...{ usage_bytes: 1, vector_store_id: at.storeId, last_error: null, attributes: {} },
    }));
    const crowd = (body: Record<string, unknown>) => ({ ...body, data: [...(body["data"] as unknown[]), ...foreign] });
    at.proxy.inject({ on: "GET /vector_stores/:store/files", times: 1, act: { kind: "rewrite", rewrite: crowd } });
    const fullest: number[] = [];
    const present: number[] = [];
    const look = async (body: unknown) => {
      fullest.push((await attachedIds(at)).length + others);
      present.push(new Set((await holdings(at)).map(({ itemId }) => itemId)).size);
      return body;
    };
    for (const on of [BATCHES, "POST /vector_stores/:store/files"]) {
      at.proxy.inject({ on, times: 100, act: { kind: "rewrite", rewrite: look } });
    }
    const { ready, failed } = await putAndCommit(at, ...(await makeFiles(12, "New otter")));
    assert.deepEqual([ready.length, failed], [12, []]);
    assert.ok(fullest.length >= 3, `${fullest.length} slices`);
    assert.ok(Math.max(...fullest) <= 10_000, String(fullest));
    assert.deepEqual(new Set(present), new Set([12]));
    assert.equal((await found(at, "New otter")).length, 12);
    assert.deepEqual(await found(at, "Old otter"), []);
  });

  test("a service that takes in none of them ends the commit with one sentence and leaves readers where they were", async () => {
    await putAndCommit(at, ...(await makeFiles(20, "Old otter")));
    at.clock.hurry();
    at.faults.play("stuck-in-progress");
    const draft = await at.index.draft(SOURCE);
    for (const file of await makeFiles(20, "New otter")) await draft.put(file, never);
    await assert.rejects(draft.commit(never), /not one of 20 files was taken in .*; run again later$/);
    await draft.discard();
    at.faults.stop();
    assert.equal((await found(at, "Old otter")).length, 20);
    assert.deepEqual(await found(at, "New otter"), []);
    assert.equal((await attachedIds(at)).length, 20);
  });

  test("a draft that would leave nothing of the domain is refused unless that is confirmed", async () => {
    await putAndCommit(at, ...(await makeFiles(3, "Otter")));
    const removeAll = async () => {
      const draft = await at.index.draft(SOURCE);
      for (let i = 0; i < 3; i++) await draft.remove(`item-${i}` as ItemId);
      return draft;
    };
    const refused = await removeAll();
    await assert.rejects(refused.commit(never), (error: unknown) => error instanceof ConflictError);
    await refused.discard();
    assert.equal((await found(at, "Otter")).length, 3);
    await (await removeAll()).commit(never, { allowEmpty: true });
    assert.deepEqual(await found(at, "Otter"), []);
    assert.deepEqual(await attachedIds(at), []);
  });
});
