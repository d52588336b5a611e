// Streamed responses follow the protocol's order of events and can be streamed again later.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { ResponseStreamEvent } from "openai/resources/responses/responses";
import { type AnswersStage, answersStage, CARS, MODEL, TRAVEL } from "./embedded-answers-stage.ts";
import { checkObject } from "./wire-schemas.ts";

const QUESTION = "How much may a hotel night in Copenhagen cost?";

describe("streamed responses", () => {
  let at: AnswersStage;
  let request: { model: string; input: string; tools: { type: "file_search"; vector_store_ids: string[] }[] };
  before(async () => {
    at = await answersStage();
    const store = await at.fill({ "Travel.md": TRAVEL, "Cars.md": CARS });
    request = { model: MODEL, input: QUESTION, tools: [{ type: "file_search", vector_store_ids: [store] }] };
  });
  after(() => at.close());

  const collect = async (stream: AsyncIterable<ResponseStreamEvent>): Promise<ResponseStreamEvent[]> => {
    const events: ResponseStreamEvent[] = [];
    for await (const event of stream) events.push(event);
    return events;
  };

  test("events come in the protocol's order, numbered, and add up to the response", async () => {
    const events = await collect(await at.client.responses.create({ ...request, stream: true }));
    assert.deepEqual(
      events.map(({ sequence_number }) => sequence_number),
      events.map((_, place) => place),
    );
    const repeated = new Set(["response.output_text.delta", "response.output_text.annotation.added"]);
    assert.deepEqual(
      events.map(({ type }) => type).filter((type, place, all) => !repeated.has(type) || all.indexOf(type) === place),
      [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.file_search_call.in_progress",
        "response.file_search_call.searching",
        "response.file_search_call.completed",
        "response.output_item.done",
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.annotation.added",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
      ],
    );
    const text = events.map((event) => (event.type === "response.output_text.delta" ? event.delta : "")).join("");
    const last = events.at(-1);
    assert.ok(last?.type === "response.completed");
    checkObject(last.response, last.type);
    const stored = await at.client.responses.retrieve(last.response.id);
    assert.equal(text, stored.output_text);
    assert.deepEqual(last.response.output, stored.output);
    const [first] = events;
    assert.ok(first?.type === "response.created");
    checkObject(first.response, first.type);
    assert.deepEqual([first.response.status, first.response.output, first.response.id], ["in_progress", [], stored.id]);
  });

  test("a citation comes right after the text it belongs to", async () => {
    let written = "";
    let cited = 0;
    for (const event of await collect(await at.client.responses.create({ ...request, stream: true }))) {
      if (event.type === "response.output_text.delta") written += event.delta;
      if (event.type !== "response.output_text.annotation.added") continue;
      const { annotation } = event;
      assert.ok(annotation?.type === "file_citation");
      assert.equal(event.annotation_index, cited++);
      assert.equal(written.trimEnd().length, annotation.index);
    }
    assert.ok(cited > 0);
  });

  test("the client's helper rebuilds the same response", async () => {
    const final = await at.client.responses.stream(request).finalResponse();
    const stored = await at.client.responses.retrieve(final.id);
    assert.equal(final.output_text, stored.output_text);
    assert.deepEqual(
      final.output.map(({ id, type }) => [id, type]),
      stored.output.map(({ id, type }) => [id, type]),
    );
    assert.deepEqual(final.usage, stored.usage);
  });

  test("a stored response can be streamed again, from any event on", async () => {
    const { id } = await at.client.responses.create(request);
    const all = await collect(await at.client.responses.retrieve(id, { stream: true }));
    const rest = await collect(await at.client.responses.retrieve(id, { stream: true, starting_after: 4 }));
    assert.deepEqual(rest, all.slice(5));
    const wrong = await at.ask("GET", `/responses/${id}?stream=true&starting_after=soon`);
    assert.equal(wrong.status, 400);
  });

  test("included results are in the stream, too; a cut answer ends incomplete", async () => {
    const include = ["file_search_call.results" as const];
    const done = (await collect(await at.client.responses.create({ ...request, include, stream: true }))).find(
      (event) => event.type === "response.output_item.done",
    );
    assert.ok(done?.type === "response.output_item.done" && done.item.type === "file_search_call");
    assert.ok((done.item.results?.length ?? 0) > 0);
    const short = await collect(await at.client.responses.create({ ...request, stream: true, max_output_tokens: 40 }));
    assert.equal(short.at(-1)?.type, "response.incomplete");
  });

  test("a stream that cannot begin is an ordinary error", async () => {
    const tools = [{ type: "file_search" as const, vector_store_ids: ["vs_nope"] }];
    await assert.rejects(at.client.responses.create({ ...request, tools, stream: true }), { status: 404 });
  });
});
