// Behind a service with one account, answers still belong to whoever asked.
import assert from "node:assert/strict";
import { after, before, beforeEach, describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import type { Role } from "../../src/contracts/access.ts";
import { ask, type Reply } from "./ask.ts";
import { type OpenServer, openServer } from "./open-server.ts";
import { type ScriptedService, startScriptedService } from "./scripted-service.ts";

const say = (role: string, content: string): object => ({ role, content });
const USER = say("user", "What was said?");

/** A service that takes everything: only what does not reach it is refused. */
describe("a service that knows one account", () => {
  let service: ScriptedService;
  let server: OpenServer;
  const keys = new Map<Role, string>();
  before(async () => {
    service = await startScriptedService();
    server = await openServer({
      OPENAI_SERVICE_TYPE: "openai",
      OPENAI_API_KEY: "sk-of-the-server",
      OPENAI_BASE_URL: `${service.url}/v1`,
      RATE_LIMIT_PER_SECOND: "0",
    });
    for (const role of ["admin", "operate", "read"] as const)
      keys.set(role, (await server.app.access.keys.create({ name: role, role, expiresAt: "" })).key);
  });
  after(async () => {
    await server?.close();
    await service?.close();
  });
  beforeEach(() => {
    service.answer = undefined;
    service.seen.length = 0;
  });

  const as = (role: Role, what: string, json?: unknown): Promise<Reply> => {
    const headers = { authorization: `Bearer ${keys.get(role)}` };
    return ask(server.url, what.replace(" /", " /openai/v1/"), { headers, ...(json === undefined ? {} : { json }) });
  };
  const answerWith = (json: object): void => {
    service.answer = (incoming, outgoing) => {
      incoming.resume();
      outgoing.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(json));
    };
  };

  it("gets no reference to an item from anybody but administrators, however it is spelt", async () => {
    const id = "msg_alice";
    const references: readonly unknown[] = [
      { type: "item_reference", id },
      { type: "item_reference", role: "user", content: "Hi", id },
      { id },
      { type: null, id },
      { role: null, id },
      { type: null, role: null, id },
      { type: "", id },
      { type: ["item_reference"], id },
      { type: { item_reference: true }, id },
      { type: 1, id },
      { role: ["user"], content: "Hi", id },
      { role: "user", id },
      { type: null, role: "user", content: null, id },
      { type: "message", role: "user", id },
      { type: "reasoning", id },
      { type: "reasoning", id, summary: [] },
      { type: "reasoning", id, summary: [{ type: "summary_text", text: "Hi" }], encrypted_content: null },
      { type: "reasoning", id, encrypted_content: "" },
      { type: "compaction", id },
      { type: "image_generation_call", id },
      { type: "image_generation_call", id, status: "completed", result: null },
      { type: "code_interpreter_call", id, container_id: "cntr_alice", code: "1", outputs: null },
      { type: "shell_call", id, environment: { type: "container_reference", container_id: "cntr_alice" } },
      { type: "something_new", id, status: "completed" },
      { type: "something_new", item_id: id },
      [{ id }],
      [[{ type: "item_reference", id }]],
      "msg_alice",
      null,
    ];
    const bodies = references.flatMap((one): [what: string, json: object][] => [
      ["POST /responses", { input: [USER, one] }],
      ["POST /responses/input_tokens", { input: [one] }],
      ["POST /conversations", { items: [USER, one] }],
    ]);
    bodies.push(["POST /responses", { input: { type: null, id } }]);
    bodies.push(["POST /responses", { input: "Hi", previous_response_id: ["resp_alice"] }]);
    bodies.push(["POST /responses", { input: "Hi", conversation: { id: ["conv_alice"] } }]);
    bodies.push(["POST /responses", { input: "Hi", conversation: ["conv_alice"] }]);
    bodies.push(["POST /responses", { input: "Hi", tools: [{ type: "code_interpreter", container: "cntr_alice" }] }]);
    const environment = { type: "container_reference", container_id: "cntr_alice" };
    bodies.push(["POST /responses", { input: "Hi", tools: [{ type: "shell", environment }] }]);
    for (const [what, json] of bodies) {
      const { status, text } = await as("operate", what, json);
      assert.equal(status, 400, `${what} ${JSON.stringify(json)}: ${text}`);
      assert.equal(service.seen.length, 0);
    }
    assert.equal((await as("admin", "POST /responses", { input: [USER, { id }] })).status, 200);
  });

  it("gets what somebody says, and what came of it, as before", async () => {
    const inputs: readonly unknown[] = [
      "Hi",
      [USER],
      [{ type: "message", role: "user", content: [{ type: "input_text", text: "Hi" }] }],
      [{ type: "message", role: "assistant", id: "msg_1", status: "completed", content: [] }, USER],
      [{ type: null, ...USER }],
      [{ type: "function_call", call_id: "call_1", name: "f", arguments: "{}" }],
      [{ type: "function_call_output", call_id: "call_1", output: "4" }, USER],
      [{ type: "reasoning", id: "rs_1", summary: [], encrypted_content: "x" }, USER],
      [{ type: "image_generation_call", id: "ig_1", status: "completed", result: "iVBORw0KGgo=" }, USER],
      [{ type: "file_search_call", id: "fs_1", status: "completed", queries: ["hours"], results: null }, USER],
      [{ type: "mcp_approval_response", approval_request_id: "mcpr_1", approve: true }, USER],
    ];
    for (const input of inputs) {
      service.seen.length = 0;
      const { status, text } = await as("read", "POST /responses", { input, previous_response_id: null });
      assert.equal(status, 200, `${JSON.stringify(input)}: ${text}`);
      assert.deepEqual(JSON.parse(service.seen[0]?.body ?? ""), { input, previous_response_id: null });
    }
  });

  it("shows nobody but administrators others' answers by other nouns", async () => {
    const ways: readonly [what: string, json?: object][] = [
      ["POST /batches", { input_file_id: "file-1", endpoint: "/v1/responses", completion_window: "24h" }],
      ["GET /batches"],
      ["GET /batches/batch_1"],
      ["POST /evals", {}],
      ["POST /evals/eval_1/runs", { data_source: { type: "responses", source: { type: "responses" } } }],
      ["GET /evals/eval_1/runs/run_1/output_items"],
      ["GET /chatkit/threads"],
      ["GET /chatkit/threads/cthr_1/items"],
      ["POST /chatkit/sessions", {}],
      ["GET /containers"],
      ["POST /containers", {}],
      ["GET /containers/cntr_1/files/cfile_1/content"],
      ["POST /realtime/client_secrets", {}],
      ["GET /organization/admin_api_keys"],
      ["GET /something/new"],
      ["POST /something/new", {}],
      ["GET /deployments/gpt/batches"],
      ["GET /v1/batches"],
      ["GET //batches"],
      ["GET /%62atches"],
      ["GET /Batches"],
      ["GET /files/..%2fbatches"],
      ["GET /files/x%2F..%2F..%2Fbatches"],
      ["GET /files/%252e%252e/batches"],
      ["GET /files/..%5Cbatches"],
    ];
    for (const [what, json] of ways) {
      for (const role of ["read", "operate"] as const) {
        const { status, text } = await as(role, what, json);
        assert.equal(status, 403, `${role}: ${what}: ${text}`);
        assert.equal(service.seen.length, 0);
      }
    }
    assert.equal((await as("admin", "GET /batches")).status, 200);
    assert.equal(service.seen.length, 1);
  });

  it("and an answer of many megabytes is still its asker's", async () => {
    const long = "x".repeat(6 * 1024 * 1024);
    const output = [{ type: "message", id: "msg_1", content: [{ type: "output_text", text: long }] }];
    const fields = { created_at: 5, model: "gpt", store: true };
    const answers: readonly Record<string, unknown>[] = [
      { id: "resp_first", object: "response", ...fields, output },
      { output, object: "response", ...fields, id: "resp_last" },
      {
        instructions: `"id":"resp_no", "object":"response" ${long}`,
        output,
        ...fields,
        object: "response",
        id: "resp_quoted",
      },
    ];
    for (const answer of answers) {
      answerWith(answer);
      assert.deepEqual((await as("operate", "POST /responses", { input: "Much?" })).json, answer);
      assert.equal((await as("operate", `GET /responses/${answer["id"]}`)).status, 200, String(answer["id"]));
      assert.equal((await as("read", `GET /responses/${answer["id"]}`)).status, 404, String(answer["id"]));
    }
    assert.equal((await as("operate", "GET /responses/resp_no")).status, 404);
    assert.equal((await as("operate", "GET /responses/msg_1")).status, 404);
    answerWith({ id: "resp_unkept", object: "response", output, created_at: 5, store: false });
    await as("operate", "POST /responses", { input: "Much?" });
    assert.equal((await as("operate", "GET /responses/resp_unkept")).status, 404);
  });

  it("packed bodies are refused with a sentence that says so", async () => {
    const response = await fetch(`${server.url}/openai/v1/responses`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${keys.get("read")}`,
        "content-type": "application/json",
        "content-encoding": "gzip",
      },
      body: gzipSync(JSON.stringify({ input: "Hi" })),
    });
    assert.equal(response.status, 415);
    assert.match(await response.text(), /content-encoding 'gzip'.*send the JSON as it is/i);
    assert.equal(service.seen.length, 0);
  });
});
