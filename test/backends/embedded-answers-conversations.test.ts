// Conversations are created, extended, read and deleted over the wire, also by several at once.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { NotFoundError } from "openai";
import { type AnswersStage, answersStage, MODEL, TRAVEL } from "./embedded-answers-stage.ts";

describe("conversations over the wire", () => {
  let at: AnswersStage;
  before(async () => {
    at = await answersStage();
  });
  after(() => at.close());

  const textsOf = async (id: string, order: "asc" | "desc" = "asc"): Promise<string[]> => {
    const texts: string[] = [];
    for await (const item of at.client.conversations.items.list(id, { order, limit: 2 })) {
      const [part] = item.type === "message" ? item.content : [];
      texts.push(part && "text" in part ? part.text : item.type);
    }
    return texts;
  };

  test("from the first word to the last", async () => {
    const { client } = at;
    const created = await client.conversations.create({ metadata: { topic: "demo" } });
    assert.deepEqual(created.metadata, { topic: "demo" });
    assert.deepEqual(await textsOf(created.id), []);
    const added = await client.conversations.items.create(created.id, {
      items: [
        { role: "user", content: "one" },
        { type: "message", role: "user", content: [{ type: "input_text", text: "two" }] },
        { role: "assistant", content: "three" },
      ],
    });
    assert.deepEqual([added.data.length, added.has_more, added.last_id], [3, false, added.data[2]?.id]);
    assert.deepEqual(await textsOf(created.id), ["one", "two", "three"]);
    assert.deepEqual(await textsOf(created.id, "desc"), ["three", "two", "one"]);
    const second = added.data[1]?.id ?? "";
    const where = { conversation_id: created.id };
    assert.deepEqual(await client.conversations.items.retrieve(second, where), added.data[1]);
    assert.deepEqual(await client.conversations.items.delete(second, where), created);
    assert.deepEqual(await textsOf(created.id), ["one", "three"]);
    await assert.rejects(client.conversations.items.retrieve(second, where), NotFoundError);
    await assert.rejects(client.conversations.items.delete(second, where), NotFoundError);
    const updated = await client.conversations.update(created.id, { metadata: { topic: "changed" } });
    assert.deepEqual(await client.conversations.retrieve(created.id), updated);
    assert.deepEqual(updated.metadata, { topic: "changed" });
    assert.deepEqual(await client.conversations.delete(created.id), {
      id: created.id,
      object: "conversation.deleted",
      deleted: true,
    });
    await assert.rejects(client.conversations.retrieve(created.id), NotFoundError);
    await assert.rejects(client.conversations.items.list(created.id), NotFoundError);
    await assert.rejects(client.conversations.delete(created.id), NotFoundError);
  });

  test("it begins with the items it is given, up to twenty", async () => {
    const items = Array.from({ length: 20 }, (_, n) => ({ role: "user" as const, content: `${n}` }));
    const { id } = await at.client.conversations.create({ items });
    assert.deepEqual(
      await textsOf(id),
      items.map(({ content }) => content),
    );
    const page = await at.ask("GET", `/conversations/${id}/items?limit=7&order=asc`);
    assert.equal(page.json["has_more"], true);
    const beyond = await at.ask("GET", `/conversations/${id}/items?after=msg_nope`);
    assert.equal(beyond.status, 400);
  });

  test("responses read it and add to it", async () => {
    const store = await at.fill({ "Travel.md": TRAVEL });
    const tools = [{ type: "file_search" as const, vector_store_ids: [store] }];
    const { id } = await at.client.conversations.create({
      items: [{ role: "user", content: "From how many hours on is first class allowed on trains?" }],
    });
    const first = await at.client.responses.create({ model: MODEL, conversation: id, tools, input: [] });
    assert.match(first.output_text, /First class is allowed from three hours on/);
    assert.deepEqual(first.conversation, { id });
    const second = await at.client.responses.create({
      model: MODEL,
      conversation: { id },
      tools,
      input: "And what does a hotel night cost?",
      store: false,
    });
    await assert.rejects(at.client.responses.retrieve(second.id), NotFoundError);
    assert.deepEqual(await textsOf(id), [
      "From how many hours on is first class allowed on trains?",
      "file_search_call",
      first.output_text,
      "And what does a hotel night cost?",
      "file_search_call",
      second.output_text,
    ]);
    const found = await at.client.conversations.items.list(id, {
      order: "asc",
      limit: 2,
      include: ["file_search_call.results"],
    });
    const call = found.data[1];
    assert.ok(call?.type === "file_search_call" && (call.results?.length ?? 0) > 0);
    assert.equal(call.id, first.output[0]?.id);
    const hidden = await at.client.conversations.items.retrieve(call.id, { conversation_id: id });
    assert.ok(hidden.type === "file_search_call" && hidden.results === null);
  });

  test("responses of two at once end up in it whole", async () => {
    const { id } = await at.client.conversations.create();
    const say = (input: string): Promise<unknown> =>
      at.client.responses.create({ model: MODEL, conversation: id, input, tools: [] });
    await Promise.all(["a", "b", "c", "d"].map(say));
    const texts = await textsOf(id);
    assert.equal(texts.length, 8);
    for (const [place, text] of texts.entries()) assert.equal(text.length === 1, place % 2 === 0, texts.join(" | "));
  });

  test("what is only kept may be anything", async () => {
    const image = { type: "input_image" as const, image_url: "data:image/png;base64,", detail: "auto" as const };
    const { id } = await at.client.conversations.create({ items: [{ role: "user", content: [image] }] });
    const { data } = await at.client.conversations.items.list(id);
    const [item] = data;
    assert.ok(item?.type === "message");
    assert.deepEqual(item.content, [image]);
  });

  test("a restart loses nothing", async () => {
    const { id } = await at.client.conversations.create({ items: [{ role: "user", content: "still here" }] });
    await at.restart();
    assert.deepEqual(await textsOf(id), ["still here"]);
  });
});
