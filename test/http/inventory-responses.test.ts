// Responses are created, listed and deleted, also those that pass below /openai.
import assert from "node:assert/strict";
import { appendFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { type InventoryStage, openInventoryStage } from "./inventory-stage.ts";

const MODEL = "lockstep-extractive";

describe("/v2/inventory/responses", () => {
  let stage: InventoryStage;
  before(async () => {
    stage = await openInventoryStage();
  });
  after(() => stage.close());

  async function listed(): Promise<string[]> {
    const { json } = await stage.ask("GET responses?format=json");
    return (json.data as unknown as { id: string }[]).map(({ id }) => id);
  }

  it("creates one from JSON or a form, finds it in the list and deletes it", async () => {
    const file = await stage.upload("travel.txt", "A hotel night may cost 180 francs.");
    const store = await stage.store("travel", [file]);
    const planned = await stage.ask("POST responses/create?dry_run=true", { json: { input: "Hello" } });
    assert.deepEqual([planned.json.data.object, await listed()], ["response", []]);
    const form = { input: "How much may a hotel night cost?", vector_store_ids: store, model: "" };
    const made = await stage.ask("POST responses/create", { form });
    assert.equal(made.status, 200, made.text);
    assert.match(made.text, /180 francs/);
    const id = String(made.json.data.id);
    const other = await stage.ask("POST responses/create?format=html", { json: { input: "Hello", model: MODEL } });
    assert.equal(other.status, 200);
    assert.equal((await listed())[1], id);
    const page = await stage.ask(`GET responses/get?response_id=${id}&format=html`);
    assert.match(page.text, /180 francs/);
    const removed = await stage.ask(`DELETE responses/delete?response_id=${id}`);
    assert.equal(removed.json.data.id, id);
    assert.equal((await stage.ask(`GET responses/get?response_id=${id}`)).status, 404);
    const refusals = [
      [{ model: "gpt-nobody" }, 400],
      [{ tools: [{ type: "nobody" }] }, 400],
      [{ vector_store_ids: ["vs_nobody"] }, 404],
    ] as const;
    for (const [json, status] of refusals) {
      const refused = await stage.ask("POST responses/create", { json: { input: "Hello", ...json } });
      assert.equal(refused.status, status, refused.text);
      assert.match(String(refused.json.error), /^The backend refused to create the response: .*nobody/);
    }
    assert.ok(!(await listed()).includes(id));
  });

  it("lists what passes below /openai, whole or streamed, and forgets what is deleted there", async () => {
    const whole = await stage.client.responses.create({ model: MODEL, input: "Whole" });
    let streamed = "";
    for await (const event of await stage.client.responses.create({ model: MODEL, input: "Streamed", stream: true })) {
      if (event.type === "response.completed") streamed = event.response.id;
    }
    const withoutText = await stage.client.responses.create({ model: MODEL, input: "Unkept", store: false });
    const ids = await listed();
    assert.deepEqual(ids.slice(0, 2), [streamed, whole.id]);
    assert.ok(!ids.includes(withoutText.id));
    await stage.client.responses.delete(whole.id);
    assert.ok(!(await listed()).includes(whole.id));
    assert.match((await stage.ask("GET responses?format=html")).text, new RegExp(streamed));
  });

  it("deletes the conversation first when asked to", async () => {
    const conversation = await stage.client.conversations.create({});
    const inIt = { model: MODEL, input: "Hello", conversation: conversation.id };
    const [first, second] = [await stage.client.responses.create(inIt), await stage.client.responses.create(inIt)];
    await stage.ask(`GET responses/delete?response_id=${first.id}`);
    assert.equal((await stage.client.conversations.retrieve(conversation.id)).id, conversation.id);
    const query = `response_id=${second.id}&mode=with_conversation`;
    const planned = await stage.ask(`GET responses/delete?${query}&dry_run=true`);
    assert.equal(planned.json.data.deleted_conversation_id, conversation.id);
    const { json } = await stage.ask(`GET responses/delete?${query}`);
    assert.deepEqual([json.ok, json.data.deleted_conversation_id], [true, conversation.id]);
    await assert.rejects(stage.client.conversations.retrieve(conversation.id), { status: 404 });
    assert.equal((await stage.ask(`GET responses/get?response_id=${second.id}`)).status, 404);
  });

  it("forgets one that the backend has forgotten", async () => {
    await appendFile(
      join(stage.folder, "inventory", "responses.jsonl"),
      '{"id":"resp_expired","created_at":1,"model":"m"}\n',
    );
    assert.ok((await listed()).includes("resp_expired"));
    const { status, json } = await stage.ask("GET responses/get?response_id=resp_expired");
    assert.deepEqual([status, json.error], [404, "Response 'resp_expired' does not exist."]);
    assert.ok(!(await listed()).includes("resp_expired"));
  });

  it("documents itself on a bare GET", async () => {
    const { status, type, text } = await stage.ask("GET responses");
    assert.deepEqual([status, type], [200, "text/plain"]);
    assert.match(text, /The OpenAI protocol has no list of responses/);
  });
});
