// Responses are answered from a store, stored, chained, listed and deleted over the wire.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { NotFoundError } from "openai";
import type { Response, ResponseCreateParamsNonStreaming } from "openai/resources/responses/responses";
import { type AnswersStage, answersStage, CARS, MODEL, TRAVEL } from "./embedded-answers-stage.ts";

const QUESTION = "How much may a hotel night in Copenhagen cost?";

describe("responses over the wire", () => {
  let at: AnswersStage;
  let store: string;
  before(async () => {
    at = await answersStage();
    store = await at.fill({ "Travel.md": TRAVEL, "Cars.md": CARS });
  });
  after(() => at.close());

  const create = async (body: Partial<ResponseCreateParamsNonStreaming>): Promise<Response> => {
    const tools = [{ type: "file_search" as const, vector_store_ids: [store] }];
    return await at.client.responses.create({ model: MODEL, tools, ...body });
  };

  test("an answer quotes the passages and says where they are from", async () => {
    const response = await create({ input: QUESTION, metadata: { topic: "travel" }, instructions: "Be brief." });
    assert.equal(response.status, "completed");
    assert.deepEqual([response.metadata, response.instructions], [{ topic: "travel" }, "Be brief."]);
    const [call, message] = response.output;
    assert.ok(call?.type === "file_search_call" && message?.type === "message");
    assert.deepEqual([call.queries, call.results], [[QUESTION], null]);
    const [part] = message.content;
    assert.ok(part?.type === "output_text");
    assert.match(part.text, /no language model/);
    assert.match(part.text, /190 euros/);
    assert.ok(!part.text.includes("washed"));
    assert.ok(part.annotations.length > 0 && part.annotations.length <= 5);
    for (const annotation of part.annotations) {
      assert.ok(annotation.type === "file_citation");
      assert.equal(annotation.filename, "Travel.md");
      assert.match(part.text.slice(0, annotation.index), /[.\w]$/);
      assert.equal((await at.client.files.retrieve(annotation.file_id)).filename, "Travel.md");
    }
    assert.ok((response.usage?.input_tokens ?? 0) > 10 && (response.usage?.output_tokens ?? 0) > 10);
  });

  test("it can be read again, with the results for those who include them, until it is deleted", async () => {
    const created = await create({ input: QUESTION });
    const again = await at.client.responses.retrieve(created.id);
    assert.deepEqual(again, created);
    const full = await at.client.responses.retrieve(created.id, { include: ["file_search_call.results"] });
    const [call] = full.output;
    assert.ok(call?.type === "file_search_call");
    const [best] = call.results ?? [];
    assert.match(best?.text ?? "", /190 euros/);
    assert.equal(best?.filename, "Travel.md");
    const { json } = await at.ask("DELETE", `/responses/${created.id}`);
    assert.deepEqual(json, { id: created.id, object: "response", deleted: true });
    await assert.rejects(at.client.responses.retrieve(created.id), NotFoundError);
    await assert.rejects(at.client.responses.delete(created.id), NotFoundError);
    await assert.rejects(at.client.responses.inputItems.list(created.id), NotFoundError);
    await assert.rejects(create({ input: "x", previous_response_id: created.id }), NotFoundError);
  });

  test("results can be had at once, as many as asked for, above the score and within the filter", async () => {
    const other = await at.fill(
      { "Canteen.md": "# Canteen\n\nA meal in Copenhagen costs 12 euros." },
      { area: "food" },
    );
    const results = async (tool: object): Promise<{ filename?: string; score?: number }[]> => {
      const tools = [{ type: "file_search" as const, vector_store_ids: [store, other], ...tool }];
      const response = await create({ input: "euros in Copenhagen", tools, include: ["file_search_call.results"] });
      const [call] = response.output;
      assert.ok(call?.type === "file_search_call");
      return call.results ?? [];
    };
    const all = await results({});
    assert.ok(
      all.some(({ filename }) => filename === "Travel.md") && all.some(({ filename }) => filename === "Canteen.md"),
    );
    assert.deepEqual(
      all.map(({ score }) => score),
      all.map(({ score }) => score ?? 0).sort((a, b) => b - a),
    );
    assert.equal((await results({ max_num_results: 1 })).length, 1);
    const strict = await results({ ranking_options: { score_threshold: 0.9 } });
    assert.deepEqual(
      strict.map(({ filename }) => filename),
      all.filter(({ score }) => (score ?? 0) >= 0.9).map(({ filename }) => filename),
    );
    const filters = { type: "eq", key: "area", value: "food" };
    assert.deepEqual(
      (await results({ filters })).map(({ filename }) => filename),
      ["Canteen.md"],
    );
    assert.deepEqual(await results({ filters: { ...filters, value: "none" } }), []);
  });

  test("how much words and vectors count can be told", async () => {
    const both = await at.fill({
      "Travel.md": TRAVEL,
      "Canteen.md": "# Canteen\n\nA meal in Copenhagen costs 12 euros.",
    });
    const weighed = async (embedding_weight: number, text_weight: number, score_threshold = 0): Promise<number[]> => {
      const ranking_options = { hybrid_search: { embedding_weight, text_weight }, score_threshold };
      const tools = [{ type: "file_search" as const, vector_store_ids: [both], ranking_options }];
      const include = ["file_search_call.results" as const];
      const [call] = (await create({ input: "euros in Copenhagen hotels", tools, include })).output;
      assert.ok(call?.type === "file_search_call");
      return call.results?.map(({ score }) => score ?? -1) ?? [];
    };
    const byWords = await weighed(1, 3);
    const byVectors = await weighed(3, 1);
    assert.ok(byWords.length > 1);
    assert.notDeepEqual(byVectors, byWords);
    for (const scores of [byWords, byVectors])
      assert.deepEqual(
        scores,
        scores.toSorted((a, b) => b - a),
      );
    assert.deepEqual(await weighed(1, 3, byWords[0]), byWords.slice(0, 1));
    assert.ok((await weighed(0, 1)).length > 0);
    assert.ok((await weighed(1, 0)).length > 0);
  });

  test("nothing found, nothing searched, nothing allowed: each is said", async () => {
    const empty = await at.fill({});
    const nothing = await create({ input: QUESTION, tools: [{ type: "file_search", vector_store_ids: [empty] }] });
    assert.match(nothing.output_text, /Nothing here answers this/);
    const bare = await create({ input: QUESTION, tools: [] });
    assert.match(bare.output_text, /file_search/);
    assert.equal(bare.output.length, 1);
    const none = await create({ input: QUESTION, tool_choice: "none" });
    assert.deepEqual(
      none.output.map(({ type }) => type),
      ["message"],
    );
    const named = await create({ input: QUESTION, tool_choice: { type: "file_search" } });
    assert.deepEqual(
      named.output.map(({ type }) => type),
      ["file_search_call", "message"],
    );
  });

  test("tools that are never called do not stand in the way", async () => {
    const response = await create({
      input: QUESTION,
      tools: [
        { type: "function", name: "book", parameters: {}, strict: false },
        { type: "file_search", vector_store_ids: [store] },
        { type: "file_search", vector_store_ids: [store], max_num_results: 1 },
      ],
    });
    assert.deepEqual(
      response.output.map(({ type }) => type),
      ["file_search_call", "file_search_call", "message"],
    );
    assert.match(response.output_text, /190 euros/);
  });

  test("input comes as items, too, and is listed in both orders, page by page", async () => {
    const response = await create({
      input: [
        { role: "system", content: "You are helpful." },
        { role: "user", content: [{ type: "input_text", text: "Hello" }] },
        { role: "assistant", content: "Hello, what would you like to know?" },
        { type: "function_call_output", call_id: "c1", output: "42" },
        { type: "message", role: "user", content: [{ type: "input_text", text: QUESTION }] },
      ],
    });
    assert.match(response.output_text, /190 euros/);
    const all = async (order?: "asc" | "desc"): Promise<string[]> => {
      const seen: string[] = [];
      const query = order ? { order, limit: 2 } : { limit: 2 };
      for await (const item of at.client.responses.inputItems.list(response.id, query)) {
        seen.push("role" in item ? String(item.role) : item.type);
      }
      return seen;
    };
    const roles = ["system", "user", "assistant", "function_call_output", "user"];
    assert.deepEqual(await all("asc"), roles);
    assert.deepEqual(await all(), roles.toReversed());
    const last = await at.ask("GET", `/responses/${response.id}/input_items?order=asc&limit=5`);
    assert.equal(last.json["has_more"], false);
  });

  test("a response goes on from the previous one", async () => {
    const first = await create({ input: QUESTION });
    const second = await create({ previous_response_id: first.id, input: "And by train?" });
    assert.equal(second.previous_response_id, first.id);
    const third = await create({ previous_response_id: second.id, input: [] });
    const [call] = third.output;
    assert.ok(call?.type === "file_search_call");
    assert.deepEqual(call.queries, ["And by train?"]);
    const count = async (body: object): Promise<number> => {
      const counted = await at.client.responses.inputTokens.count({ model: MODEL, ...body });
      assert.equal(counted.object, "response.input_tokens");
      return counted.input_tokens;
    };
    const alone = await count({ input: "And in Paris?" });
    assert.ok(alone >= 3 && alone < 6, `${alone}`);
    assert.ok((await count({ input: "And in Paris?", previous_response_id: second.id })) > alone + 40);
  });

  test("what is not stored cannot be read", async () => {
    const response = await create({ input: QUESTION, store: false });
    await assert.rejects(at.client.responses.retrieve(response.id), NotFoundError);
    await assert.rejects(create({ input: "x", previous_response_id: response.id }), NotFoundError);
  });

  test("what does not fit is left out whole, and said to be", async () => {
    const response = await create({ input: QUESTION, max_output_tokens: 40 });
    assert.equal(response.status, "incomplete");
    assert.deepEqual(response.incomplete_details, { reason: "max_output_tokens" });
    assert.ok((response.usage?.output_tokens ?? 99) <= 40);
  });

  test("only background responses can be cancelled, and they are finished by then", async () => {
    const background = await create({ input: QUESTION, background: true });
    const cancelled = await at.client.responses.cancel(background.id);
    assert.deepEqual([cancelled.id, cancelled.status, cancelled.background], [background.id, "completed", true]);
    const { id } = await create({ input: QUESTION });
    const refused = await at.ask("POST", `/responses/${id}/cancel`);
    assert.equal(refused.status, 400);
    await assert.rejects(at.client.responses.cancel("resp_nope"), NotFoundError);
  });

  test("a restart loses nothing", async () => {
    const response = await create({ input: QUESTION });
    await at.restart();
    assert.deepEqual(await at.client.responses.retrieve(response.id), response);
  });
});
