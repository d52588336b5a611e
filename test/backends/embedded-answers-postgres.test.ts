// Responses, conversations and assistants can be kept in PostgreSQL.
import assert from "node:assert/strict";
import { tmpdir } from "node:os";
import { after, before, describe, test } from "node:test";
import { NotFoundError } from "openai";
import { createNgramEmbedder } from "../../src/index/embedding/ngram-embedder.ts";
import { createFixedModel } from "../../src/index/embedding/vector-model.ts";
import { openPostgresStores } from "../../src/index/postgres/open-postgres-stores.ts";
import { type PostgresServer, startPostgres } from "../postgres/start-postgres.ts";
import { quotaSuite } from "./embedded-answers-owners-suite.ts";
import { type AnswersStage, answersStage, MODEL, TRAVEL } from "./embedded-answers-stage.ts";

describe("answers kept in PostgreSQL", () => {
  let server: PostgresServer;
  let at: AnswersStage;
  const model = createFixedModel(createNgramEmbedder());
  before(async () => {
    server = await startPostgres();
    const url = await server.createDatabase();
    at = await answersStage(() => openPostgresStores({ url, model, storageFolder: tmpdir(), maxConnections: 3 }));
  });
  after(async () => {
    await at?.close();
    await server.stop();
  });

  quotaSuite("PostgreSQL", async () => {
    const url = await server.createDatabase();
    return openPostgresStores({ url, model, storageFolder: tmpdir(), maxConnections: 3 });
  });

  test("responses are answered, chained and deleted", async () => {
    const store = await at.fill({ "Travel.md": TRAVEL });
    const tools = [{ type: "file_search" as const, vector_store_ids: [store] }];
    const input = "How much may a hotel night in Copenhagen cost?";
    const first = await at.client.responses.create({ model: MODEL, input, tools });
    assert.match(first.output_text, /190 euros/);
    const second = await at.client.responses.create({ model: MODEL, input: "And?", previous_response_id: first.id });
    await at.restart();
    assert.deepEqual(await at.client.responses.retrieve(first.id), first);
    assert.deepEqual(await at.client.responses.retrieve(second.id), second);
    await at.client.responses.delete(first.id);
    await assert.rejects(at.client.responses.retrieve(first.id), NotFoundError);
  });

  test("conversations keep their order, page by page, and go with their items", async () => {
    const items = Array.from({ length: 5 }, (_, n) => ({ role: "user" as const, content: `${n}` }));
    const { id } = await at.client.conversations.create({ items, metadata: { a: "b" } });
    await at.client.responses.create({ model: MODEL, conversation: id, input: "5" });
    const seen: string[] = [];
    for await (const item of at.client.conversations.items.list(id, { order: "desc", limit: 2 })) {
      const [part] = item.type === "message" && item.role === "user" ? item.content : [];
      if (part && "text" in part) seen.push(part.text);
    }
    assert.deepEqual(seen, ["5", "4", "3", "2", "1", "0"]);
    await at.client.conversations.update(id, { metadata: { c: "d" } });
    assert.deepEqual((await at.client.conversations.retrieve(id)).metadata, { c: "d" });
    await at.client.conversations.delete(id);
    await assert.rejects(at.client.conversations.items.list(id), NotFoundError);
  });

  test("responses of several at once end up in a conversation whole", async () => {
    const { id } = await at.client.conversations.create();
    const say = (input: string): Promise<unknown> =>
      at.client.responses.create({ model: MODEL, conversation: id, input });
    await Promise.all(["a", "b", "c", "d", "e", "f"].map(say));
    const roles: string[] = [];
    for await (const item of at.client.conversations.items.list(id, { order: "asc" })) {
      roles.push(item.type === "message" ? item.role : item.type);
    }
    assert.deepEqual(roles, Array(6).fill(["user", "assistant"]).flat());
  });

  test("assistants are listed in both directions", async () => {
    const ids: string[] = [];
    for (const name of ["a", "b", "c"]) ids.push((await at.client.beta.assistants.create({ model: "m", name })).id);
    const after = await at.client.beta.assistants.list({ order: "asc", limit: 1, after: ids[0] ?? "" });
    assert.deepEqual([after.data[0]?.id, after.has_more], [ids[1], true]);
    const before = await at.client.beta.assistants.list({ order: "asc", limit: 1, before: ids[2] ?? "" });
    assert.equal(before.data[0]?.id, ids[1]);
  });
});
