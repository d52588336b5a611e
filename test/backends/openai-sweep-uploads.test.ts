// Uploads of ours that no vector store holds are deleted, and nobody else's.
import assert from "node:assert/strict";
import { appendFile, mkdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { toFile } from "openai";
import { detachedUploads, recordDetached } from "../../src/backends/openai/uploads.ts";
import type { SweptUploads } from "../../src/contracts/backend.ts";
import type { FileId, ItemId, VectorStoreId } from "../../src/contracts/ids.ts";
import { DOMAIN, never, putAndCommit, SOURCE, uploadedIds, useVectorStore } from "./openai-bench.ts";

describe("uploads that no vector store holds", () => {
  const at = useVectorStore();

  const sweep = async (options: { dryRun?: boolean; stores?: VectorStoreId[] } = {}): Promise<SweptUploads> => {
    const { dryRun = false, stores = [at.storeId] } = options;
    assert.ok(at.backend.sweepUploads);
    return at.backend.sweepUploads({ dryRun, stores, signal: never, report: () => undefined });
  };
  const put = async (item: string, text: string): Promise<string> => {
    const { ready } = await putAndCommit(at, await at.makeFile(item, text));
    return ready[0]?.fileId ?? assert.fail("it was not attached");
  };
  const remove = async (item: string): Promise<void> => {
    const draft = await at.index.draft(SOURCE);
    await draft.remove(item as ItemId);
    await draft.commit(never, { allowEmpty: true });
  };
  const upload = async (name: string): Promise<string> => {
    const file = await toFile(Buffer.from(`Of others: ${name}`), name);
    return (await at.client.files.create({ file, purpose: "assistants" })).id;
  };
  const idsOf = ({ removed }: SweptUploads): string[] => removed.map(({ fileId }) => fileId).sort();

  test("are deleted when they are ours: replaced and removed ones; others' and attached ones stay", async () => {
    const before = await uploadedIds(at);
    const first = await put("a", "Otters sleep.");
    const second = await put("a", "Otters dive.");
    const gone = await put("b", "Beavers build.");
    await remove("b");
    const others = await upload("others.md");
    const told = await sweep({ dryRun: true });
    assert.deepEqual(idsOf(told), [first, gone].sort());
    assert.ok(told.removed.every(({ bytes }) => bytes > 10));
    assert.ok(told.unknown >= 1, "others' are counted");
    assert.ok((await uploadedIds(at)).includes(first), "it was only asked");

    assert.deepEqual(idsOf(await sweep()), [first, gone].sort());
    const left = (await uploadedIds(at)).filter((id) => !before.includes(id));
    assert.deepEqual(left.toSorted(), [second, others].sort());
    assert.deepEqual(idsOf(await sweep()), []);
    assert.equal(await readFile(join(at.notes.folder, "detached-uploads.txt"), "utf8"), "");
  });

  test("are known although a crash cut off the line before theirs", async () => {
    const gone = await put("b", "Beavers build.");
    await mkdir(at.notes.folder);
    await appendFile(join(at.notes.folder, "detached-uploads.txt"), "file-tor");
    await recordDetached(at.notes.folder, [gone as FileId]);
    const noted = await detachedUploads(at.notes.folder);
    assert.deepEqual([noted.has(gone as FileId), noted.has("file-tor" as FileId)], [true, true]);
    await remove("b");
    assert.deepEqual(idsOf(await sweep()), [gone]);
  });

  test("are left from where somebody stops it", async () => {
    const gone = await put("b", "Beavers build.");
    await remove("b");
    const stop = { dryRun: false, stores: [at.storeId], signal: never, report: () => undefined };
    const checkpoint = async (): Promise<void> => {
      throw new Error("stopped");
    };
    await assert.rejects(async () => await at.backend.sweepUploads?.({ ...stop, checkpoint }), /stopped/);
    assert.ok((await uploadedIds(at)).includes(gone));
  });

  test("stay while another store holds them, and go when that is deleted", async () => {
    const shared = await put("a", "Otters sleep.");
    const store = await at.client.vectorStores.create({ name: "of somebody else" });
    await at.client.vectorStores.files.createAndPoll(store.id, { file_id: shared });
    await remove("a");
    assert.deepEqual(idsOf(await sweep()), []);
    await at.client.vectorStores.delete(store.id);
    assert.deepEqual(idsOf(await sweep()), [shared]);
  });

  test("that lay in a store of ours which was deleted are known by their marks", async () => {
    const mine = await put("a", "Otters sleep.");
    const others = await upload("beside.md");
    await at.client.vectorStores.files.createAndPoll(at.storeId, { file_id: others });
    await at.backend.deleteVectorStore(at.storeId);
    await at.backend.deleteVectorStore(at.storeId);
    assert.deepEqual(idsOf(await sweep({ stores: [] })), [mine]);
    assert.ok((await uploadedIds(at)).includes(others));
  });

  test("of a domain that was deleted are known after its ledger is gone", async () => {
    const draft = await at.index.draft(SOURCE);
    await draft.put(await at.makeFile("a", "Otters sleep."), never);
    await draft.discard();
    const [left] = await uploadedIds(at);
    await at.backend.forgetDomain?.(DOMAIN);
    await rm(join(at.storage, "crawler"), { recursive: true });
    assert.deepEqual(idsOf(await sweep()), [left]);
  });

  test("are left when they are on their way, and when the lists of the service cannot be trusted", async () => {
    const draft = await at.index.draft(SOURCE);
    await draft.put(await at.makeFile("young", "Otters wait."), never);
    const { removed } = await sweep();
    assert.deepEqual(removed, []);
    await draft.commit(never);

    const old = await put("young", "Otters wait no more.");
    await remove("young");
    const act = { kind: "rewrite", rewrite: (body: object) => ({ ...body, data: [], has_more: false }) } as const;
    at.proxy.inject({ on: "GET /vector_stores", times: 1, act });
    await assert.rejects(sweep(), /not listed although it exists/);
    assert.ok((await uploadedIds(at)).includes(old));
  });

  test("of a list that lacks a file are looked for by their id", async () => {
    const held = await put("a", "Otters sleep.");
    await put("b", "Beavers build.");
    // As after a crash between the note and the detaching.
    await recordDetached(at.notes.folder, [held as FileId]);
    const act = {
      kind: "rewrite",
      rewrite: (body: { data?: { id: string }[] }) => ({ ...body, data: body.data?.filter(({ id }) => id !== held) }),
    } as const;
    at.proxy.inject({ on: `GET /vector_stores/${at.storeId}/files`, times: 1, act });
    assert.deepEqual(idsOf(await sweep()), []);
    assert.ok((await uploadedIds(at)).includes(held));
  });
});
