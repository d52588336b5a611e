// Ids of passing responses are noted without changing or delaying them.
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { logResponses } from "../../src/inventory/log-responses.ts";
import { createResponseLog, type ResponseLog } from "../../src/inventory/response-log.ts";

const RESPONSE = { id: "resp_1", object: "response", created_at: 5, model: "gpt", store: true };
const NOTED = { id: "resp_1", created_at: 5, model: "gpt" };

const post = (path = "/responses"): Request => new Request(`http://x${path}`, { method: "POST", body: "{}" });
const events = (chunks: readonly string[]): Response =>
  new Response(ReadableStream.from(chunks.map((text) => new TextEncoder().encode(text))), {
    headers: { "content-type": "text/event-stream; charset=utf-8" },
  });

describe("what is noted of passing responses", () => {
  let folder = "";
  let opened = 0;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "lockstep-log-"));
  });
  after(() => rm(folder, { recursive: true, force: true }));

  /** A list of its own. */
  const open = (below = `inventory-${opened++}`): ResponseLog => createResponseLog(join(folder, below));

  it("logs a whole answer and leaves it as it is", async () => {
    for (const path of ["/responses", "/v1/responses", "/openai/v1/responses", "/openai/responses/"]) {
      const log = open();
      const answer = Response.json(RESPONSE, { status: 200, headers: { "x-request-id": "req_1" } });
      const passed = logResponses(log, post(path), answer);
      assert.equal(passed.headers.get("x-request-id"), "req_1");
      assert.deepEqual(await passed.json(), RESPONSE);
      assert.deepEqual(await log.list(), [NOTED], path);
    }
  });

  it("passes every piece of a stream on before the next one comes", async () => {
    const log = open();
    const first = `event: response.created\ndata: ${JSON.stringify({ type: "response.created", response: RESPONSE })}\n\n`;
    const halves = [first.slice(0, 40), first.slice(40)];
    let taken = 0;
    const source = new ReadableStream<Uint8Array>(
      {
        pull(controller) {
          const text = [...halves, "event: response.output_text.delta\ndata: {}\n\n"][taken++];
          if (text === undefined) controller.close();
          else controller.enqueue(new TextEncoder().encode(text));
        },
      },
      { highWaterMark: 0 },
    );
    const answer = new Response(source, { headers: { "content-type": "text/event-stream" } });
    const reader = logResponses(log, post(), answer).body?.getReader();
    assert.equal(new TextDecoder().decode((await reader?.read())?.value), halves[0]);
    assert.deepEqual(await log.list(), []);
    assert.equal(new TextDecoder().decode((await reader?.read())?.value), halves[1]);
    assert.deepEqual(await log.list(), [NOTED]);
    await reader?.cancel();
  });

  it("logs nothing that is no stored response", async () => {
    const log = open();
    const kinds: [Request, Response][] = [
      [post(), Response.json({ ...RESPONSE, store: false })],
      [post(), Response.json({ error: {} }, { status: 400 })],
      [post(), new Response("no JSON")],
      [post(), events(["data: [DONE]\n\n", "data: {}\n\n"])],
      [post("/responses/input_tokens"), Response.json(RESPONSE)],
      [post("/chat/completions"), Response.json(RESPONSE)],
      [new Request("http://x/responses/resp_1"), Response.json(RESPONSE)],
    ];
    for (const [request, response] of kinds) await logResponses(log, request, response).text();
    assert.deepEqual(await log.list(), []);
  });

  it("forgets what was deleted, and only that", async () => {
    const log = open();
    for (const id of ["resp_1", "resp_2"]) await log.add({ ...NOTED, id });
    const remove = (path: string): Request => new Request(`http://x${path}`, { method: "DELETE" });
    logResponses(log, remove("/responses/resp_1"), Response.json({ deleted: true }));
    logResponses(log, remove("/responses/resp_2"), Response.json({}, { status: 404 }));
    logResponses(log, remove("/files/resp_2"), Response.json({ deleted: true }));
    assert.deepEqual(await log.list(), [{ ...NOTED, id: "resp_2" }]);
  });

  it("is on disk when the inventory is closed", async () => {
    const log = open("closed");
    await logResponses(log, post(), Response.json(RESPONSE)).text();
    logResponses(log, new Request("http://x/responses/resp_0", { method: "DELETE" }), Response.json({}));
    await log.flush();
    const lines = (await readFile(join(folder, "closed", "responses.jsonl"), "utf8")).split("\n").filter(Boolean);
    assert.deepEqual(
      lines.map((line) => JSON.parse(line)),
      [NOTED, { id: "resp_0", deleted: true }],
    );
  });

  it("lets an answer pass whose id cannot be written down", async () => {
    await writeFile(join(folder, "no-folder"), "");
    const passed = logResponses(open("no-folder"), post(), Response.json(RESPONSE));
    assert.deepEqual(await passed.json(), RESPONSE);
  });
});
