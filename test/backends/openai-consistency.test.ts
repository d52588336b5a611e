// Known inconsistencies of the service are waited for or worked around.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { ItemId } from "../../src/contracts/ids.ts";
import type { FailedRef } from "../../src/contracts/search-index.ts";
import {
  attachedIds,
  countRequests,
  DOMAIN,
  found,
  holdings,
  never,
  putAndCommit,
  SOURCE,
  uploadedIds,
  useVectorStore,
} from "./openai-bench.ts";
import { errorBody } from "./openai-fault-proxy.ts";

/** What services were seen to do, each played by the service itself; the numbers are those of the guide. */
describe("what a service does besides what it promises", () => {
  const at = useVectorStore();

  test("1 what was just attached is not found yet: waited for, alone and in a batch", async () => {
    at.faults.play("attach-then-404", { times: 5 });
    const { failed } = await putAndCommit(at, await at.makeFile("a", "Otters sleep."));
    at.faults.play("attach-then-404", { times: 20 });
    const files = ["b", "c", "d"].map((item) => at.makeFile(item, `Otters ${item}.`));
    const more = await putAndCommit(at, ...(await Promise.all(files)));
    at.faults.stop();
    assert.deepEqual([...failed, ...more.failed], []);
    assert.equal((await holdings(at)).length, 4);
    assert.equal((await found(at, "Otters")).length, 4);
  });

  test("2 an upload that is not processed yet cannot be attached yet: tried again, alone and in a batch", async () => {
    at.faults.play("attach-before-processed-404", { times: 3 });
    const { failed } = await putAndCommit(at, await at.makeFile("a", "Otters sleep."));
    const body = errorBody("Files [file-x] were not found");
    const on = "POST /vector_stores/:store/file_batches";
    at.proxy.inject({ on, times: 3, act: { kind: "answer", status: 404, body } });
    const files = [await at.makeFile("b", "Otters wake."), await at.makeFile("c", "Otters swim.")];
    const more = await putAndCommit(at, ...files);
    assert.deepEqual([...failed, ...more.failed], []);
    assert.equal((await found(at, "Otters")).length, 3);
  });

  test("3 counts that never fall and deletions that leave rows: what is removed is gone from list and search", async () => {
    at.faults.play("counts-stale");
    at.faults.play("ghost-row-after-delete");
    const { ready } = await putAndCommit(at, await at.makeFile("a", "Otters."), await at.makeFile("b", "Otters too."));
    at.faults.play("fail-with", { times: 1, code: "invalid_file" });
    await putAndCommit(at, await at.makeFile("a", "Otters, broken."));
    assert.deepEqual(await found(at, "Otters"), ["Otters too."]);
    assert.deepEqual(
      await attachedIds(at),
      ready.filter(({ itemId }) => itemId === "b").map(({ fileId }) => fileId),
    );
    assert.equal((await holdings(at)).length, 1);
  });

  test("4 a detach that empties all stores: the other store says so and takes the file again without an upload", async () => {
    const file = await at.makeFile("a", "Otters sleep.");
    const [ref] = (await putAndCommit(at, file, await at.makeFile("b", "Beavers."))).ready.filter(
      ({ itemId }) => itemId === "a",
    );
    assert.ok(ref);
    const known = { ...file, knownFileId: ref.fileId };
    const otherId = await at.backend.createVectorStore("other");
    const other = await at.backend.openIndex(otherId, DOMAIN);
    assert.ok(other);
    await putAndCommit({ index: other }, known);
    const uploads = await uploadedIds(at);
    at.faults.play("detach-detaches-everywhere", { times: 1 });
    const draft = await at.index.draft(SOURCE);
    await draft.remove("a" as ItemId);
    await draft.commit(never);
    assert.deepEqual(await holdings({ index: other }), []);
    await putAndCommit({ index: other }, known);
    assert.deepEqual(await found({ index: other }, "Otters"), ["Otters sleep."]);
    assert.deepEqual(
      (await holdings({ index: other })).map(({ fileId }) => fileId),
      [ref.fileId],
    );
    assert.deepEqual(await uploadedIds(at), uploads);
  });

  test("5 a row whose upload is gone is not held, is still found, and goes when the item is put again", async () => {
    const { ready } = await putAndCommit(at, await at.makeFile("a", "Otters sleep."));
    at.faults.play("ghost-row-after-delete");
    await at.client.files.delete(ready[0]?.fileId ?? "");
    assert.deepEqual(await holdings(at), []);
    await putAndCommit(at, await at.makeFile("b", "Beavers build."));
    assert.deepEqual(await found(at, "Otters"), ["Otters sleep."]);
    const again = await putAndCommit(at, await at.makeFile("a", "Otters sleep."));
    assert.deepEqual(again.failed, []);
    assert.notEqual(again.ready[0]?.fileId, ready[0]?.fileId);
    assert.deepEqual(await found(at, "Otters"), ["Otters sleep."]);
    assert.equal((await attachedIds(at)).length, 2);
  });

  test("6 a deletion that answers 404 is a deletion", async () => {
    await putAndCommit(at, await at.makeFile("a", "Otters sleep."), await at.makeFile("b", "Beavers build."));
    at.faults.play("double-delete-404");
    const draft = await at.index.draft(SOURCE);
    await draft.remove("a" as ItemId);
    assert.deepEqual(await draft.commit(never), { ready: [], failed: [] });
    assert.deepEqual(await found(at, "Otters"), []);
    assert.deepEqual(
      (await holdings(at)).map(({ itemId }) => itemId),
      ["b"],
    );
    await at.backend.deleteVectorStore(at.storeId);
    await at.backend.deleteVectorStore(at.storeId);
    assert.equal(await at.backend.openIndex(at.storeId, DOMAIN), undefined);
  });

  test("7 a file that fails: an internal error is tried once more, what is wrong with the file is final", async () => {
    const olds = ["a", "b", "c", "d"].map((item) => at.makeFile(item, `Old ${item}.`));
    await putAndCommit(at, ...(await Promise.all(olds)));
    const uploads = await uploadedIds(at);
    const put = async (item: string) => (await putAndCommit(at, await at.makeFile(item, `New ${item}.`))).failed;
    at.faults.play("fail-with", { times: 1, code: "server_error" });
    assert.deepEqual(await put("a"), []);
    at.faults.play("fail-with", { times: 2, code: "server_error" });
    assert.deepEqual(verdicts(await put("b")), [["b", false]]);
    at.faults.play("fail-with", { times: 1, code: "unsupported_file" });
    assert.deepEqual(verdicts(await put("c")), [["c", true]]);
    at.faults.play("fail-with", { times: 1, code: "invalid_file" });
    assert.deepEqual(verdicts(await put("d")), [["d", true]]);
    assert.deepEqual(await found(at, "Old"), ["Old b."]);
    assert.deepEqual(await found(at, "New"), ["New a."]);
    assert.equal((await attachedIds(at)).length, 2);
    assert.equal((await uploadedIds(at)).length, uploads.length + 1);
  });

  test("8 files that stay in progress, or in a state nobody knows, are given up for now, and the old version stays", async () => {
    await putAndCommit(at, await at.makeFile("a", "Old otters."));
    at.clock.hurry();
    for (const fault of ["stuck-in-progress", "unknown-status"] as const) {
      at.faults.play(fault, fault === "unknown-status" ? { on: "GET /vector_stores/:id/files/:file" } : {});
      const { ready, failed } = await putAndCommit(at, await at.makeFile("a", "New otters."));
      assert.deepEqual(ready, [], fault);
      assert.deepEqual(verdicts(failed), [["a", false]]);
      assert.match(failed[0]?.reason ?? "", /still in progress after 15 minutes/);
      at.faults.stop();
      assert.deepEqual(await found(at, "otters"), ["Old otters."]);
      assert.equal((await holdings(at)).length, 1);
    }
  });

  test("8 a batch that is completed with failures: each file is judged by itself", async () => {
    at.faults.play("batch-completed-with-failures", { times: 2, code: "invalid_file" });
    const files = Array.from({ length: 30 }, (_, i) => at.makeFile(`item-${i}`, `Otters number ${i}.`));
    const { ready, failed } = await putAndCommit(at, ...(await Promise.all(files)));
    assert.equal(ready.length, 28);
    assert.deepEqual(
      failed.map(({ permanent }) => permanent),
      [true, true],
    );
    assert.deepEqual(new Set((await holdings(at)).map(({ itemId }) => itemId)), new Set(ready.map((r) => r.itemId)));
    assert.equal((await attachedIds(at)).length, 28);
  });

  test("9 a list of stores that lacks ours means nothing", async () => {
    await putAndCommit(at, await at.makeFile("a", "Otters sleep."));
    at.faults.play("stores-list-empty");
    const index = await at.restart();
    assert.deepEqual(await found({ index }, "Otters"), ["Otters sleep."]);
    assert.equal((await holdings({ index })).length, 1);
  });

  test("10 a file that is attached already is not attached again, and one listed twice counts once", async () => {
    at.faults.play("attach-twice-refused");
    at.faults.play("drop-after-effect", { on: "POST /vector_stores/:id/files", times: 1 });
    const file = await at.makeFile("a", "Otters sleep.");
    const { ready, failed } = await putAndCommit(at, file);
    assert.deepEqual(failed, []);
    const [ref] = ready;
    assert.ok(ref);
    const again = await putAndCommit(at, { ...file, knownFileId: ref.fileId });
    assert.deepEqual([again.failed, again.ready[0]?.fileId], [[], ref.fileId]);
    assert.deepEqual(await attachedIds(at), [ref.fileId]);
    at.faults.stop();
    at.faults.play("attach-twice-listed-twice");
    await at.client.vectorStores.files.create(at.storeId, { file_id: ref.fileId, attributes: attributesOf("a") });
    assert.equal((await holdings(at)).length, 1);
    assert.deepEqual(await found(at, "Otters"), ["Otters sleep."]);
    await putAndCommit(at, await at.makeFile("a", "Otters wake."));
    assert.deepEqual(await found(at, "Otters"), ["Otters wake."]);
    assert.equal((await attachedIds(at)).length, 1);
  });

  test("11 an upload that was carried out twice is in the store once, and in no store besides", async () => {
    const before = await uploadedIds(at);
    at.faults.play("drop-after-effect", { on: "POST /files", times: 2 });
    const { ready, failed } = await putAndCommit(at, await at.makeFile("twice", "Otters sleep."));
    assert.deepEqual(failed, []);
    assert.equal(countRequests(at, "POST /v1/files"), 3);
    assert.deepEqual(await attachedIds(at), [ready[0]?.fileId]);
    assert.deepEqual(await found(at, "Otters"), ["Otters sleep."]);
    assert.equal((await uploadedIds(at)).length, before.length + 3);
  });

  test("12 a cursor that was deleted meanwhile: the list begins anew, and nothing is removed before it was read", async () => {
    const items = Array.from({ length: 102 }, (_, i) => `item-${i}`);
    await putAndCommit(at, ...(await Promise.all(items.map((item) => at.makeFile(item, `Otters ${item}.`)))));
    at.faults.play("cursor-deleted-while-paging", { times: 1 });
    assert.equal((await holdings(at)).length, 102);
    at.faults.play("cursor-deleted-while-paging", { times: 1 });
    const draft = await at.index.draft(SOURCE);
    for (const item of items.slice(0, 3)) await draft.remove(item as ItemId);
    assert.deepEqual((await draft.commit(never)).failed, []);
    const left = (await holdings(at)).map(({ itemId }) => itemId as string);
    assert.deepEqual(left.toSorted(), items.slice(3).toSorted());
    assert.equal((await attachedIds(at)).length, 99);
  });

  test("13 an expired store does not exist: before a run, and in the middle of one", async () => {
    await putAndCommit(at, await at.makeFile("a", "Otters sleep."));
    const draft = await at.index.draft(SOURCE);
    await draft.put(await at.makeFile("a", "Otters wake."), never);
    at.faults.play("store-expired", { storeId: at.storeId });
    assert.equal(await at.backend.openIndex(at.storeId, DOMAIN), undefined);
    await assert.rejects(draft.commit(never), /the store does not exist any more/);
    await draft.discard();
    at.faults.stop();
    assert.deepEqual(await found(at, "Otters"), ["Otters sleep."]);
  });

  test("lists that never end are refused, and nothing is removed because of them", async () => {
    await putAndCommit(at, await at.makeFile("a", "Otters sleep."));
    at.faults.play("pages-never-end");
    await assert.rejects(holdings(at), /repeats a page/);
    await assert.rejects(at.index.draft(SOURCE), /repeats a page/);
    at.faults.stop();
    assert.deepEqual(await found(at, "Otters"), ["Otters sleep."]);
  });
});

function verdicts(failed: readonly FailedRef[]): [string, boolean][] {
  return failed
    .map(({ itemId, permanent }): [string, boolean] => [itemId, permanent])
    .sort(([a], [b]) => (a < b ? -1 : 1));
}

function attributesOf(item: string) {
  return { domain_id: DOMAIN, source_id: SOURCE, item_id: item };
}
