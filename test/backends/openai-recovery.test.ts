// Uploads that a run left behind are reused or deleted by a later one; a used-up quota ends a run cleanly.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { toFile } from "openai";
import { CancelledError } from "../../src/contracts/errors.ts";
import type { FileId } from "../../src/contracts/ids.ts";
import type { DocumentFile } from "../../src/contracts/search-index.ts";
import {
  attachedIds,
  countRequests,
  found,
  holdings,
  never,
  putAndCommit,
  SOURCE,
  tidyADayLater,
  uploadedIds,
  useVectorStore,
} from "./openai-bench.ts";

describe("uploads that a run did not come to attach", () => {
  const at = useVectorStore();

  test("are taken over by the next run when the content is still wanted, and deleted when it is not", async () => {
    const before = await uploadedIds(at);
    const abandoned = await at.index.draft(SOURCE);
    const [page, b] = [await at.makeFile("a", "Otters sleep."), await at.makeFile("b", "Beavers build.")];
    const a = { ...page, label: { ...page.label, name: "Home.aspx" } };
    await abandoned.put(a, never);
    await abandoned.put(b, never);
    assert.deepEqual(await attachedIds(at), []);
    const index = await at.restart();
    const { ready, failed } = await putAndCommit({ index }, a, await at.makeFile("b", "Beavers rest."));
    assert.deepEqual(failed, []);
    assert.equal(countRequests(at, "POST /v1/files"), 3);
    const left = (await uploadedIds(at)).filter((id) => !before.includes(id));
    assert.deepEqual(left.toSorted(), ready.map(({ fileId }) => fileId as string).toSorted());
    assert.deepEqual(await found(at, "Otters"), ["Otters sleep."]);
    assert.deepEqual(await found(at, "Beavers"), ["Beavers rest."]);
  });

  test("outlive a cancelled run, and one that somebody deleted meanwhile is sent again", async () => {
    const job = new AbortController();
    const draft = await at.index.draft(SOURCE);
    const file = await at.makeFile("a", "Otters dive.");
    await draft.put(file, job.signal);
    job.abort();
    await assert.rejects(draft.commit(job.signal), CancelledError);
    await draft.discard();
    assert.deepEqual(await attachedIds(at), []);
    const [newest] = await uploadedIds(at);
    await at.client.files.delete(newest ?? "");
    assert.deepEqual((await putAndCommit(at, file)).failed, []);
    assert.equal(countRequests(at, "POST /v1/files"), 2);
    assert.deepEqual(await found(at, "Otters"), ["Otters dive."]);
  });

  /** What a killed process has sent and did not hear of any more; `arrives` false: nor did the service get it. */
  async function loseUpload(file: DocumentFile, { arrives }: { readonly arrives: boolean }): Promise<void> {
    const job = new AbortController();
    const rewrite = async (body: Record<string, unknown>) => {
      if (!arrives) await at.client.files.delete(String(body["id"]));
      job.abort();
      return body;
    };
    at.proxy.inject({ on: "POST /files", times: 1, act: { kind: "rewrite", rewrite } });
    const dying = await at.index.draft(SOURCE);
    await assert.rejects(dying.put(file, job.signal), CancelledError);
  }

  async function uploadOfOthers(name: string, text: string): Promise<string> {
    const file = await toFile(Buffer.from(text), name);
    return (await at.client.files.create({ file, purpose: "assistants" })).id;
  }

  test("whose answers were lost in a run that died wait for a day, and are then deleted where nobody else's look alike", async () => {
    const before = await uploadedIds(at);
    await loseUpload(await at.makeFile("lost", "Otters, lost."), { arrives: true });
    await loseUpload(await at.makeFile("alike", "Otters, alike."), { arrives: true });
    const others = await uploadOfOthers("alike.md", "Otters, ALIKE.");
    const index = await at.restart();
    const { ready, failed } = await putAndCommit({ index }, await at.makeFile("b", "Beavers build."));
    assert.deepEqual(failed, []);
    const left = async () => (await uploadedIds(at)).filter((id) => !before.includes(id));
    assert.equal((await left()).length, 4);
    await tidyADayLater(at);
    assert.ok((await left()).includes(others));
    assert.ok((await left()).includes(ready[0]?.fileId ?? ""));
    const names = await Promise.all((await left()).map(async (id) => (await at.client.files.retrieve(id)).filename));
    assert.deepEqual(names.toSorted(), ["alike.md", "alike.md", "b.md"]);
    assert.deepEqual(await found(at, "Beavers"), ["Beavers build."]);
  });

  test("and never arrived are not confused with the same file in the store of another installation", async () => {
    await loseUpload(await at.makeFile("twin", "Otters, twice."), { arrives: false });
    const theirs = await uploadOfOthers("twin.md", "Otters, twice.");
    const store = await at.client.vectorStores.create({ name: "of another installation" });
    await at.client.vectorStores.files.createAndPoll(store.id, { file_id: theirs });
    await tidyADayLater(at);
    assert.equal((await at.client.files.retrieve(theirs)).filename, "twin.md");
    const deleted = countRequests(at, `DELETE /v1/files/${theirs}`);
    assert.equal(deleted, 0);
  });

  test("are left when the service does not list all its stores", async () => {
    await loseUpload(await at.makeFile("hidden", "Otters, hidden."), { arrives: true });
    const before = await uploadedIds(at);
    const act = { kind: "rewrite", rewrite: (body: object) => ({ ...body, data: [], has_more: false }) } as const;
    at.proxy.inject({ on: "GET /vector_stores", times: 1, act });
    await tidyADayLater(at);
    assert.deepEqual(await uploadedIds(at), before);
  });
});

describe("a used-up quota", () => {
  const at = useVectorStore();

  test("while uploading ends the run with one sentence, and the next run goes on where it stopped", async () => {
    await putAndCommit(at, await at.makeFile("a", "Old otters."));
    const files = [await at.makeFile("a", "New otters."), await at.makeFile("b", "Beavers build.")];
    const draft = await at.index.draft(SOURCE);
    await draft.put(files[0] as (typeof files)[0], never);
    at.faults.play("insufficient-quota", { on: "POST /files" });
    const sentence = /^RemoteError: upload 'b\.md': the account's quota is used up; add credit or raise its limit/;
    await assert.rejects(draft.put(files[1] as (typeof files)[0], never), sentence);
    const requests = countRequests(at, "POST /v1/files");
    await assert.rejects(draft.put(await at.makeFile("c", "Cats purr."), never), sentence);
    assert.equal(countRequests(at, "POST /v1/files"), requests);
    await assert.rejects(draft.commit(never), sentence);
    await draft.discard();
    assert.deepEqual(await found(at, "otters"), ["Old otters."]);
    at.faults.stop();
    assert.deepEqual((await putAndCommit(at, ...files)).failed, []);
    assert.equal(countRequests(at, "POST /v1/files"), requests + 1);
    assert.deepEqual(await found(at, "otters"), ["New otters."]);
    assert.equal((await holdings(at)).length, 2);
  });

  test("while attaching ends the commit with one sentence and leaves readers where they were", async () => {
    await putAndCommit(at, await at.makeFile("a", "Old otters."), await at.makeFile("b", "Old beavers."));
    const files = [await at.makeFile("a", "New otters."), await at.makeFile("b", "New beavers.")];
    const draft = await at.index.draft(SOURCE);
    for (const file of files) await draft.put(file, never);
    at.faults.play("insufficient-quota", { on: "POST /vector_stores/:id/file_batches" });
    await assert.rejects(draft.commit(never), /quota is used up/);
    await draft.discard();
    assert.equal((await found(at, "Old")).length, 2);
    assert.deepEqual(await found(at, "New"), []);
    at.faults.stop();
    const uploads = countRequests(at, "POST /v1/files");
    assert.deepEqual((await putAndCommit(at, ...files)).failed, []);
    assert.equal(countRequests(at, "POST /v1/files"), uploads);
    assert.equal((await found(at, "New")).length, 2);
  });

  test("a service that answers nobody any more ends the run, too", async () => {
    at.clock.hurry();
    const draft = await at.index.draft(SOURCE);
    at.faults.play("drop-before-effect", { on: "POST /files" });
    let puts = 0;
    await assert.rejects(async () => {
      for (; puts < 10; puts++) await draft.put(await at.makeFile(`item-${puts}`, `Otter ${puts}.`), never);
    }, /no answer from the service after 8 tries/);
    assert.equal(puts, 4);
    await draft.discard();
  });
});

describe("a file the service has already", () => {
  const at = useVectorStore();

  test("is attached to another store without an upload, and stays when that is taken back", async () => {
    const file = await at.makeFile("a", "Otters sleep.");
    const [ref] = (await putAndCommit(at, file)).ready;
    assert.ok(ref);
    const fresh = await at.backend.openIndex(await at.backend.createVectorStore("fresh"), "DEMO" as never);
    assert.ok(fresh);
    const draft = await fresh.draft(SOURCE);
    await draft.put({ ...file, knownFileId: ref.fileId }, never);
    await draft.discard();
    assert.deepEqual(await found(at, "Otters"), ["Otters sleep."]);
    const { ready } = await putAndCommit({ index: fresh }, { ...file, knownFileId: ref.fileId });
    assert.equal(ready[0]?.fileId, ref.fileId);
    assert.equal(countRequests(at, "POST /v1/files"), 1);
    assert.deepEqual(await found({ index: fresh }, "Otters"), ["Otters sleep."]);
  });

  test("is uploaded when it is gone", async () => {
    const file = { ...(await at.makeFile("a", "Otters sleep.")), knownFileId: "file-gone" as FileId };
    const { ready, failed } = await putAndCommit(at, file);
    assert.deepEqual(failed, []);
    assert.notEqual(ready[0]?.fileId, "file-gone");
    assert.deepEqual(await found(at, "Otters"), ["Otters sleep."]);
  });

  test("that is another item's document is not shared with it", async () => {
    const [a, b] = [await at.makeFile("a", "Otters sleep."), await at.makeFile("b", "Otters sleep.")];
    const [ref] = (await putAndCommit(at, a)).ready;
    assert.ok(ref);
    const { ready } = await putAndCommit(at, { ...b, knownFileId: ref.fileId });
    assert.notEqual(ready[0]?.fileId, ref.fileId);
    assert.deepEqual((await holdings(at)).map(({ itemId }) => itemId as string).toSorted(), ["a", "b"]);
  });
});
