// The inventory stays right when the backend misbehaves.
import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import OpenAI from "openai";
import { CancelledError, explain, NotFoundError, RemoteError } from "../../src/contracts/errors.ts";
import { readAll } from "../../src/inventory/backend-calls.ts";
import { createInventory } from "../../src/inventory/create-inventory.ts";
import { createResponseLog } from "../../src/inventory/response-log.ts";
import { type FaultyService, openFaultyService, recordSteps } from "./faulty-service.ts";

interface Told {
  readonly targets: readonly { readonly added: number; readonly removed: number; readonly failed: readonly Failed[] }[];
}
interface Failed {
  readonly file_id: string;
  readonly error: string;
}

describe("the inventory of a service that misbehaves", () => {
  let at: FaultyService;
  let files: string[] = [];
  before(async () => {
    at = await openFaultyService();
    files = await Promise.all(["a.txt", "b.txt", "c.txt"].map((name) => at.upload(name)));
  });
  afterEach(() => at.service.faults.stop());
  after(() => at.close());

  const replicate = async (source: string, target: string) => {
    const steps = recordSteps();
    const request = { sources: [source], targets: [target], removeOthers: true };
    const { ok, data } = await at.inventory.stores.replicate(request, steps);
    const [told] = (data as Told).targets;
    if (!told) throw new Error("no target in the result");
    return { ok, told, lines: steps.lines };
  };

  it("removes nothing from a target when one file could not be added, and says which", async () => {
    const [bad = "", ...good] = files;
    const extra = await at.upload("extra.txt");
    const [source, target] = [await at.store(files), await at.store([extra])];
    at.service.faults.play("fail-with", { storeId: target, fileId: bad, code: "invalid_file" });
    const { ok, told, lines } = await replicate(source, target);
    assert.deepEqual([ok, told.added, told.removed], [false, 2, 0]);
    assert.deepEqual(
      told.failed.map(({ file_id }) => file_id),
      [bad],
    );
    assert.ok(lines.some((line) => line.startsWith("  ERROR: ")));
    const held = await at.held(target);
    assert.deepEqual(held, [...good, extra].sort(), "what failed does not stay in the target");
    at.service.faults.stop();
    const again = await replicate(source, target);
    assert.deepEqual([again.ok, again.told.added, again.told.removed], [true, 1, 1]);
  });

  it("copies the others when a file is deleted meanwhile", async () => {
    const gone = await at.upload("gone.txt");
    const [source, target] = [await at.store([...files, gone]), await at.store()];
    const steps = recordSteps();
    let isThere = true;
    const checkpoint = async (): Promise<void> => {
      if (!isThere || !steps.lines.some((line) => line.startsWith("Target "))) return;
      isThere = false;
      await at.client.files.delete(gone);
    };
    const request = { sources: [source], targets: [target], removeOthers: false };
    const { ok, data } = await at.inventory.stores.replicate(request, { ...steps, checkpoint });
    const [told] = (data as Told).targets;
    assert.deepEqual([ok, told?.added], [false, 3]);
    assert.deepEqual(told?.failed, [
      { file_id: gone, filename: "gone.txt", error: "The file does not exist any more." },
    ]);
    assert.deepEqual(await at.held(target), files.toSorted());
  });

  it("waits for files that are not to be seen right after they were added", async () => {
    const [source, target] = [await at.store(files), await at.store()];
    at.service.faults.play("attach-then-404", { storeId: target, times: 3 });
    const { ok, told } = await replicate(source, target);
    assert.deepEqual([ok, told.added], [true, 3]);
  });

  it("never takes a list for complete that is not", async () => {
    const many = await Promise.all(Array.from({ length: 101 }, (_, i) => at.upload(`many-${i}.txt`)));
    const [source, target] = [await at.store(many), await at.store(files)];
    at.service.faults.play("cursor-deleted-while-paging", { storeId: source });
    await assert.rejects(replicate(source, target), /the list changed while it was read/);
    at.service.faults.stop();
    at.service.faults.play("pages-never-end", { storeId: source });
    await assert.rejects(replicate(source, target), /repeats a page/);
    assert.deepEqual(await at.held(target), files.toSorted());
  });

  it("keeps a store of which a file could not be deleted, and deletes it the next time", async () => {
    const mine = [await at.upload("x.txt"), await at.upload("y.txt")];
    const id = await at.store(mine);
    const store = await at.inventory.stores.get(id);
    at.service.faults.play("server-error", { on: "DELETE /files/:id", fileId: mine[0] ?? "", times: 1 });
    const first = await at.inventory.stores.delete(store, "with_files", recordSteps());
    assert.deepEqual([first.ok, await at.held(id)], [false, [mine[0]]]);
    assert.match(first.error, /1 of 2 files could not be deleted, so vector store '\w+' was kept/);
    const second = await at.inventory.stores.delete(store, "with_files", recordSteps());
    assert.equal(second.ok, true);
    await assert.rejects(at.inventory.stores.get(id), NotFoundError);
  });

  it("takes a deletion that answers 404 for done", async () => {
    const id = await at.store([await at.upload("z.txt")]);
    at.service.faults.play("double-delete-404");
    const store = await at.inventory.stores.get(id);
    assert.equal((await at.inventory.stores.delete(store, "with_files", recordSteps())).ok, true);
    await assert.rejects(at.inventory.stores.get(id), NotFoundError);
  });

  it("stops between two files when it is cancelled, and the store is still there", async () => {
    const mine = [await at.upload("1.txt"), await at.upload("2.txt"), await at.upload("3.txt")];
    const id = await at.store(mine);
    const store = await at.inventory.stores.get(id);
    const steps = recordSteps((line) => line === "  OK.");
    await assert.rejects(at.inventory.stores.delete(store, "with_files", steps), CancelledError);
    assert.equal((await at.held(id)).length, 2);
  });

  it("says in one sentence what is wrong between here and there, without the key", async () => {
    at.service.faults.play("server-error", { on: "GET /files" });
    await assert.rejects(readAll(at.inventory.files.pages({ order: "desc", pageSize: 10 })), (error) => {
      assert.ok(error instanceof RemoteError);
      assert.match(explain(error), /^Cannot list files: the backend answered 500/);
      return true;
    });
    const client = new OpenAI({ baseURL: "http://127.0.0.1:9", apiKey: "sk-secret-0123456789", maxRetries: 0 });
    const unreachable = createInventory({
      client,
      clientFor: () => client,
      responseLog: createResponseLog("/nowhere"),
    });
    await assert.rejects(unreachable.files.get("file-1"), (error) => {
      assert.ok(error instanceof RemoteError);
      assert.match(explain(error), /^Cannot get file 'file-1': no answer from the backend/);
      assert.doesNotMatch(explain(error), /secret/);
      return true;
    });
  });
});
