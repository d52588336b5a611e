// Assistants of the backend are created, listed, changed and deleted.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type InventoryStage, openInventoryStage } from "./inventory-stage.ts";

describe("/v2/inventory/assistants", () => {
  let stage: InventoryStage;
  before(async () => {
    stage = await openInventoryStage();
  });
  after(() => stage.close());

  async function create(json: object): Promise<string> {
    const answer = await stage.ask("POST assistants/create", { json: { model: "gpt-4o", ...json } });
    assert.equal(answer.status, 200, answer.text);
    return String(answer.json.data.id);
  }

  it("creates, lists, gets and updates", async () => {
    const store = await stage.store("store");
    const planned = await stage.ask("POST assistants/create?dry_run=true", { json: { model: "gpt-4o", name: "plan" } });
    assert.equal(planned.json.data.name, "plan");
    assert.deepEqual((await stage.ask("GET assistants?format=json")).json.data, []);
    const form = { model: "gpt-4o", name: "Help desk", vector_store_id: store, temperature: "0.5", instructions: "" };
    const made = await stage.ask("POST assistants/create", { form });
    const id = String(made.json.data.id);
    const assistant = await stage.client.beta.assistants.retrieve(id);
    assert.deepEqual(
      [assistant.name, assistant.temperature, assistant.tools],
      ["Help desk", 0.5, [{ type: "file_search" }]],
    );
    assert.deepEqual(assistant.tool_resources?.file_search?.vector_store_ids, [store]);
    await stage.ask(`PUT assistants/update?assistant_id=${id}`, { json: { name: "Service desk" } });
    const got = await stage.ask(`GET assistants/get?assistant_id=${id}`);
    assert.deepEqual([got.json.data.name, got.json.data.model], ["Service desk", "gpt-4o"]);
    assert.equal((await stage.ask("GET assistants?format=json&filter=service")).json.data.length, 1);
    assert.match((await stage.ask("GET assistants?format=ui")).text, /Service desk/);
  });

  it("says what is wrong with a body", async () => {
    const missing = await stage.ask("POST assistants/create", { json: { name: "x" } });
    assert.deepEqual([missing.status, missing.json.error], [400, "Missing 'model'."]);
    const both = await stage.ask("POST assistants/create", {
      json: { model: "m", vector_store_id: "vs_1", tools: [] },
    });
    assert.match(String(both.json.error), /not both/);
    const hot = await stage.ask("POST assistants/create", { json: { model: "m", temperature: 3 } });
    assert.equal(hot.json.error, "'temperature' must be a number from 0 to 2; got '3'.");
    const tools = await stage.ask("POST assistants/create", { json: { model: "m", tools: [{ type: "magic" }] } });
    assert.deepEqual([tools.status, String(tools.json.error).startsWith("The backend refused")], [400, true]);
    const nobody = await stage.ask("GET assistants/get?assistant_id=asst_nobody");
    assert.deepEqual([nobody.status, nobody.json.error], [404, "Assistant 'asst_nobody' does not exist."]);
  });

  it("deletes the assistant alone, or with its vector store and the files in it", async () => {
    const file = await stage.upload("a.txt");
    const store = await stage.store("store", [file]);
    const [first, second] = [await create({ vector_store_id: store }), await create({ vector_store_id: store })];
    await stage.ask(`DELETE assistants/delete?assistant_id=${first}`);
    assert.equal((await stage.ask(`GET assistants/get?assistant_id=${first}`)).status, 404);
    assert.deepEqual(await stage.held(store), [file]);
    const query = `assistant_id=${second}&mode=with_files`;
    await stage.ask(`GET assistants/delete?${query}&dry_run=true`);
    assert.deepEqual(await stage.held(store), [file]);
    await stage.useInDomain(store);
    const { text } = await stage.ask(`GET assistants/delete?${query}&format=stream`);
    assert.match(text, /WARNING: Vector store 'vs_\w+' is the one of domain 'HANDBOOK'/);
    const order = ["Deleting file 'a.txt'", "Deleting vector store 'store'", "Deleting assistant"];
    assert.deepEqual(
      order.map((words) => text.indexOf(words)).toSorted((x, y) => x - y),
      order.map((words) => text.indexOf(words)),
    );
    assert.ok(order.every((words) => text.includes(words)));
    for (const [path, id] of [
      ["files/get?file_id", file],
      ["vector_stores/get?vector_store_id", store],
      ["assistants/get?assistant_id", second],
    ]) {
      assert.equal((await stage.ask(`GET ${path}=${id}`)).status, 404, path);
    }
  });
});
