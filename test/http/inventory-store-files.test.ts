// Files of a vector store are listed with names and errors, detached and deleted.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type InventoryStage, openInventoryStage } from "./inventory-stage.ts";

describe("/v2/inventory/vector_stores/files", () => {
  let stage: InventoryStage;
  let [a, b, broken, store] = ["", "", "", ""];
  before(async () => {
    stage = await openInventoryStage();
    [a, b] = [await stage.upload("a.txt"), await stage.upload("b.txt")];
    broken = await stage.upload("broken.pdf", "this is no PDF");
    store = await stage.store("store", [a, b, broken]);
  });
  after(() => stage.close());

  it("lists the files with their names, and why one failed", async () => {
    const { json } = await stage.ask(`GET vector_stores/files?vector_store_id=${store}&sort=filename`);
    const rows = json.data as unknown as { filename: string; status: string; last_error: { message: string } | null }[];
    assert.deepEqual(
      rows.map(({ filename, status }) => [filename, status]),
      [
        ["a.txt", "completed"],
        ["b.txt", "completed"],
        ["broken.pdf", "failed"],
      ],
    );
    const failed = await stage.ask(`GET vector_stores/files?vector_store_id=${store}&filter=failed&format=html`);
    assert.ok(failed.text.includes("broken.pdf") && !failed.text.includes("a.txt"));
    assert.ok(failed.text.includes(rows[2]?.last_error?.message ?? "?"));
  });

  it("looks many names up in one list, and finds them all", async () => {
    const ids = await Promise.all(Array.from({ length: 70 }, (_, i) => stage.upload(`many-${i}.txt`)));
    const many = await stage.store("many", ids);
    const { json } = await stage.ask(`GET vector_stores/files?vector_store_id=${many}`);
    const names = (json.data as unknown as { filename: string }[]).map(({ filename }) => filename);
    assert.deepEqual(names.toSorted(), ids.map((_, i) => `many-${i}.txt`).toSorted());
  });

  it("gets one, and says which of store and file is not there", async () => {
    const { json } = await stage.ask(`GET vector_stores/files/get?vector_store_id=${store}&file_id=${a}`);
    assert.deepEqual([json.data.filename, json.data.vector_store_id], ["a.txt", store]);
    const missing = await stage.ask(`GET vector_stores/files/get?vector_store_id=${store}&file_id=file-nobody`);
    assert.equal(missing.status, 404);
    assert.match(String(missing.json.error), /File 'file-nobody' is not in vector store 'vs_/);
    const nowhere = await stage.ask("GET vector_stores/files?vector_store_id=vs_nobody&format=json");
    assert.deepEqual([nowhere.status, nowhere.json.error], [404, "Vector store 'vs_nobody' does not exist."]);
  });

  it("takes a file out of one store, or deletes it everywhere", async () => {
    const other = await stage.store("other", [a, b]);
    const remove = (fileId: string, more = ""): Promise<unknown> =>
      stage.ask(`DELETE vector_stores/files/delete?vector_store_id=${store}&file_id=${fileId}${more}`);
    await remove(a, "&dry_run=true");
    assert.ok((await stage.held(store)).includes(a));
    await remove(a);
    assert.ok(!(await stage.held(store)).includes(a));
    assert.equal((await stage.ask(`GET files/get?file_id=${a}`)).status, 200);
    assert.deepEqual(await stage.held(other), [a, b].sort());
    await remove(b, "&mode=delete_globally");
    assert.equal((await stage.ask(`GET files/get?file_id=${b}`)).status, 404);
    assert.deepEqual(await stage.held(other), [a]);
  });

  it("deletes a file everywhere that an earlier attempt only took out of the store", async () => {
    const half = await stage.upload("half.txt");
    const holder = await stage.store("holder", [half]);
    await stage.client.vectorStores.files.delete(half, { vector_store_id: holder });
    const remove = (storeId: string, mode: string): Promise<{ readonly status: number }> =>
      stage.ask(`DELETE vector_stores/files/delete?vector_store_id=${storeId}&file_id=${half}&mode=${mode}`);
    assert.equal((await remove(holder, "default")).status, 404);
    assert.equal((await remove("vs_nobody", "delete_globally")).status, 404);
    assert.equal((await stage.ask(`GET files/get?file_id=${half}`)).status, 200);
    assert.equal((await remove(holder, "delete_globally")).status, 200);
    assert.equal((await stage.ask(`GET files/get?file_id=${half}`)).status, 404);
    assert.equal((await remove(holder, "delete_globally")).status, 404, "and then there is nothing left to delete");
  });

  it("names the domain of the store it takes a file out of", async () => {
    await stage.useInDomain(store);
    const query = `vector_store_id=${store}&file_id=${broken}`;
    const { json } = await stage.ask(`GET vector_stores/files/delete?${query}&dry_run=true`);
    assert.equal(json.data.used_by_domain, "HANDBOOK");
    const { text } = await stage.ask(`GET vector_stores/files/delete?${query}&format=stream`);
    assert.match(text, /\[ 1 \/ 1 \] Removing file 'broken\.pdf'/);
    assert.deepEqual(await stage.held(store), []);
  });
});
