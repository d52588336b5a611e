// The inventory of another server is shown and changed through the proxy, also when it is in trouble.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { RETIRED } from "../../src/inventory/create-inventory.ts";
import { ask } from "./ask.ts";
import { type InventoryStage, openInventoryStage, openRemoteStage } from "./inventory-stage.ts";
import { serveScripted } from "./scripted-app.ts";

describe("the inventory of another server, over the proxy", () => {
  let backend: InventoryStage;
  let remote: InventoryStage;
  before(async () => {
    backend = await openInventoryStage();
    remote = await openRemoteStage(backend);
  });
  after(async () => {
    await remote?.close();
    await backend?.close();
  });

  it("shows the same as the server itself", async () => {
    const files = [await remote.upload("a.txt"), await backend.upload("b.txt")];
    const store = await backend.store("shared", files);
    for (const path of [
      "files?format=json",
      `files/get?file_id=${files[0]}`,
      "vector_stores?format=json&limit=1",
      `vector_stores/get?vector_store_id=${store}`,
      `vector_stores/files?vector_store_id=${store}&sort=filename`,
      `vector_stores/files/get?vector_store_id=${store}&file_id=${files[1]}`,
      "assistants?format=json",
      "files/get?file_id=file-nobody",
      "vector_stores/get?vector_store_id=vs_nobody",
    ]) {
      const [here, there] = [await remote.ask(`GET ${path}`), await backend.ask(`GET ${path}`)];
      assert.deepEqual([here.status, here.json], [there.status, there.json], path);
    }
  });

  it("changes what the other server holds", async () => {
    const [a, b] = [await backend.upload("a.txt"), await backend.upload("b.txt")];
    const source = await backend.store("source", [a, b]);
    const made = await remote.ask("POST vector_stores/create", { json: { name: "target" } });
    const target = String(made.json.data.id);
    const query = `source_vector_store_ids=${source}&target_vector_store_ids=${target}`;
    assert.equal((await remote.ask(`GET vector_stores/replicate?${query}`)).json.ok, true);
    assert.deepEqual(await backend.held(target), [a, b].sort());
    await remote.ask(`DELETE vector_stores/delete?vector_store_id=${target}&mode=with_files`);
    assert.deepEqual(await backend.held(source), []);
    assert.equal((await backend.ask(`GET files/get?file_id=${a}`)).status, 404);
  });

  it("lists responses where they were created, not where they are kept", async () => {
    const made = await remote.ask("POST responses/create", { json: { model: "lockstep-extractive", input: "Hello" } });
    const id = String(made.json.data.id);
    const ids = async (stage: InventoryStage): Promise<string[]> =>
      ((await stage.ask("GET responses?format=json")).json.data as unknown as { id: string }[]).map((row) => row.id);
    assert.deepEqual(await ids(remote), [id]);
    assert.equal((await remote.ask(`GET responses/get?response_id=${id}`)).json.data.id, id);
    await remote.client.responses.delete(id);
    assert.deepEqual(await ids(remote), []);
    assert.equal((await backend.ask(`GET responses/get?response_id=${id}`)).status, 404);
  });
});

describe("the inventory of a backend in trouble", () => {
  it("is 502 with a sentence when the backend cannot be reached, and an overview all the same", async () => {
    const backend = await openInventoryStage();
    const remote = await openRemoteStage(backend);
    await backend.close();
    const { status, json } = await remote.ask("GET files?format=json");
    assert.equal(status, 502);
    assert.match(String(json.error), /^Cannot list files: /);
    const overview = await ask(remote.url, "GET /v2/inventory?format=ui");
    assert.equal(overview.status, 200);
    assert.match(overview.text, /Cannot list files/);
    for (const { text } of [await remote.ask("GET files?format=json"), overview])
      assert.doesNotMatch(text, /topsecret/);
    await remote.close();
  });

  it("says that assistants are retired where the backend has none", async () => {
    const served = await serveScripted();
    served.script.wire = async () => Response.json({ error: { message: "Not found" } }, { status: 404 });
    const list = await ask(served.url, "GET /v2/inventory/assistants?format=json");
    assert.deepEqual([list.status, list.json], [200, { ok: false, error: RETIRED, data: [] }]);
    const page = await ask(served.url, "GET /v2/inventory/assistants?format=ui");
    assert.match(page.text, /OpenAI retired them in August 2026/);
    assert.doesNotMatch(page.text, /Create an assistant/);
    const one = await ask(served.url, "GET /v2/inventory/assistants/get?assistant_id=asst_1");
    assert.deepEqual([one.status, one.json.error], [404, RETIRED]);
    await served.close();
  });
});
