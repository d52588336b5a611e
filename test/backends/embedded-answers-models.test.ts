// Models, embeddings and assistants are served over the wire.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { NotFoundError } from "openai";
import { answersTables } from "../../src/backends/embedded/answers/answers-tables.ts";
import { createNgramEmbedder } from "../../src/index/embedding/ngram-embedder.ts";
import { openSqlite } from "../../src/lib/sql/sqlite-database.ts";
import { type AnswersStage, answersStage, MODEL } from "./embedded-answers-stage.ts";

describe("models, embeddings and assistants over the wire", () => {
  let at: AnswersStage;
  let embedding: string;
  before(async () => {
    at = await answersStage();
    embedding = createNgramEmbedder().model;
  });
  after(() => at.close());

  test("the models are what answers and what embeds", async () => {
    const { data } = await at.client.models.list();
    assert.deepEqual(
      data.map(({ id }) => id),
      [MODEL, embedding],
    );
    for (const model of data) assert.deepEqual(await at.client.models.retrieve(model.id), model);
    await assert.rejects(at.client.models.retrieve("gpt-5"), NotFoundError);
    await assert.rejects(at.client.models.delete(MODEL), NotFoundError);
  });

  test("embeddings are those of the index, as numbers or as bytes", async () => {
    const texts = ["Travel expenses", "旅費", "Reisekosten"];
    const vectors = await createNgramEmbedder().embed(texts);
    const decoded = await at.client.embeddings.create({ model: embedding, input: texts });
    assert.deepEqual(
      decoded.data.map(({ embedding: vector }) => vector),
      vectors.map((vector) => [...vector]),
    );
    assert.deepEqual(
      decoded.data.map(({ index }) => index),
      [0, 1, 2],
    );
    assert.ok(decoded.usage.total_tokens > 5);
    const floats = { model: embedding, input: texts[0] ?? "", encoding_format: "float" as const };
    const single = await at.client.embeddings.create(floats);
    assert.deepEqual(single.data[0]?.embedding, [...(vectors[0] ?? [])]);
    const bytes = await at.client.embeddings.create({ ...floats, encoding_format: "base64" });
    const raw: unknown = bytes.data[0]?.embedding;
    assert.ok(typeof raw === "string");
    assert.equal(Buffer.from(raw, "base64").readFloatLE(0), vectors[0]?.[0]);
  });

  test("fewer dimensions give vectors of length 1 again, more are refused", async () => {
    const body = { model: embedding, input: "Travel expenses of the northern branch offices", dimensions: 64 };
    const { data } = await at.client.embeddings.create(body);
    const vector = data[0]?.embedding ?? [];
    assert.equal(vector.length, 64);
    assert.ok(Math.abs(Math.hypot(...vector) - 1) < 1e-5);
    await assert.rejects(at.client.embeddings.create({ ...body, dimensions: 100_000 }), { status: 400 });
  });

  test("assistants can be made, listed, changed and deleted", async () => {
    const { assistants } = at.client.beta;
    const empty = await at.ask("GET", "/assistants");
    assert.deepEqual(empty.json, { object: "list", data: [], first_id: null, last_id: null, has_more: false });
    const ids: string[] = [];
    for (const name of ["a", "b", "c"]) {
      const made = await assistants.create({
        model: "any-model",
        name,
        tools: [{ type: "file_search" }],
        tool_resources: { file_search: { vector_store_ids: ["vs_1"] } },
        metadata: { name },
      });
      ids.push(made.id);
    }
    const all = async (order: "asc" | "desc"): Promise<string[]> => {
      const seen: string[] = [];
      for await (const { id } of assistants.list({ order, limit: 2 })) seen.push(id);
      return seen;
    };
    assert.deepEqual(await all("asc"), ids);
    assert.deepEqual(await all("desc"), ids.toReversed());
    const before = await at.ask("GET", `/assistants?order=asc&limit=1&before=${ids[2]}`);
    assert.equal(before.json["last_id"], ids[1]);
    const id = ids[0] ?? "";
    const changed = await assistants.update(id, { name: "new", instructions: "Be kind.", temperature: 0.5 });
    assert.deepEqual(await assistants.retrieve(id), changed);
    assert.deepEqual(
      [changed.name, changed.instructions, changed.temperature, changed.model, changed.metadata],
      ["new", "Be kind.", 0.5, "any-model", { name: "a" }],
    );
    assert.deepEqual((await assistants.update(id, { name: null })).name, null);
    assert.deepEqual(await assistants.delete(id), { id, object: "assistant.deleted", deleted: true });
    await assert.rejects(assistants.retrieve(id), NotFoundError);
    await assert.rejects(assistants.delete(id), NotFoundError);
    await assert.rejects(at.client.beta.threads.create(), NotFoundError);
  });

  test("responses older than 30 days go", async () => {
    const old = await at.client.responses.create({ model: MODEL, input: "one" });
    const kept = await at.client.responses.create({ model: MODEL, input: "two" });
    const db = await openSqlite(join(at.folder, "index", "answers.sqlite"), answersTables("sqlite"));
    try {
      await db.run("UPDATE responses SET created_at = created_at - $1 WHERE id = $2", [31 * 24 * 3600, old.id]);
    } finally {
      await db.close();
    }
    await at.client.responses.create({ model: MODEL, input: "three" });
    await assert.rejects(at.client.responses.retrieve(old.id), NotFoundError);
    assert.equal((await at.client.responses.retrieve(kept.id)).id, kept.id);
  });
});
