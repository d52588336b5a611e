// Wrong requests get an error of the protocol's shape that names the wrong field.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type AnswersStage, answersStage, MODEL } from "./embedded-answers-stage.ts";

type Case = readonly [about: string, path: string, body: object, status: number, param: string | null];

const file_search = { type: "file_search", vector_store_ids: ["vs_x"] };
const search = (fields: object): object => ({ input: "x", tools: [{ ...file_search, ...fields }] });
const item = (fields: object): object => ({ input: [fields] });

const RESPONSES: readonly Case[] = [
  ["an unknown model", "/responses", { model: "gpt-5", input: "x" }, 404, "model"],
  ["a model that is no string", "/responses", { model: 5, input: "x" }, 400, "model"],
  ["no input", "/responses", { model: MODEL }, 400, "input"],
  ["input that is a number", "/responses", { input: 5 }, 400, "input"],
  ["no message of the user", "/responses", { input: [] }, 400, "input"],
  ["an item without a role", "/responses", item({ content: "x" }), 400, "input[0]"],
  ["an unknown role", "/responses", item({ role: "king", content: "x" }), 400, "input[0].role"],
  ["a message without content", "/responses", item({ role: "user" }), 400, "input[0].content"],
  ["a picture", "/responses", item({ role: "user", content: [{ type: "input_image" }] }), 400, "input[0].content[0]"],
  ["a stored prompt", "/responses", { prompt: { id: "p" }, input: "x" }, 400, "prompt"],
  ["an unknown previous response", "/responses", { previous_response_id: "resp_x", input: "x" }, 404, null],
  ["an unknown conversation", "/responses", { conversation: "conv_x", input: "x" }, 404, null],
  ["a malformed conversation", "/responses", { conversation: 5, input: "x" }, 400, "conversation"],
  [
    "both kinds of past",
    "/responses",
    { previous_response_id: "resp_x", conversation: "conv_x", input: "x" },
    400,
    "previous_response_id",
  ],
  ["an unknown vector store", "/responses", search({}), 404, null],
  ["no vector store", "/responses", search({ vector_store_ids: [] }), 400, "tools[0].vector_store_ids"],
  ["too many results", "/responses", search({ max_num_results: 51 }), 400, "tools[0].max_num_results"],
  ["a wrong filter", "/responses", search({ filters: { type: "like" } }), 400, "tools[0].filters.type"],
  [
    "a wrong threshold",
    "/responses",
    search({ ranking_options: { score_threshold: 2 } }),
    400,
    "tools[0].ranking_options.score_threshold",
  ],
  [
    "weights of nothing",
    "/responses",
    search({ ranking_options: { hybrid_search: { embedding_weight: 0, text_weight: 0 } } }),
    400,
    "tools[0].ranking_options.hybrid_search",
  ],
  ["a tool that is not there", "/responses", { input: "x", tools: [{ type: "web_search" }] }, 400, "tools[0].type"],
  [
    "a choice of such a tool",
    "/responses",
    { input: "x", tool_choice: { type: "function", name: "f" } },
    400,
    "tool_choice",
  ],
  ["a required tool without tools", "/responses", { input: "x", tool_choice: "required" }, 400, "tool_choice"],
  ["an unknown extra", "/responses", { input: "x", include: ["everything"] }, 400, "include"],
  ["json", "/responses", { input: "x", text: { format: { type: "json_object" } } }, 400, "text.format.type"],
  ["a temperature of 3", "/responses", { input: "x", temperature: 3 }, 400, "temperature"],
  ["one token", "/responses", { input: "x", max_output_tokens: 1 }, 400, "max_output_tokens"],
  ["metadata that are no strings", "/responses", { input: "x", metadata: { a: 1 } }, 400, "metadata.a"],
  ["a flag that is none", "/responses", { input: "x", stream: "yes" }, 400, "stream"],
  ["compacting", "/responses/compact", { model: MODEL, input: "x" }, 404, null],
  ["counting for an unknown model", "/responses/input_tokens", { model: "gpt-5", input: "x" }, 404, "model"],
];

const OTHERS: readonly Case[] = [
  ["21 items", "/conversations", { items: Array(21).fill({ role: "user", content: "x" }) }, 400, "items"],
  ["a reference", "/conversations", { items: [{ type: "item_reference", id: "msg_x" }] }, 400, "items[0]"],
  [
    "metadata of 17 keys",
    "/conversations",
    { metadata: Object.fromEntries([...Array(17).keys()].map((n) => [n, ""])) },
    400,
    "metadata",
  ],
  ["items of an unknown conversation", "/conversations/conv_x/items", { items: [] }, 404, null],
  ["no model", "/assistants", {}, 400, "model"],
  [
    "two vector stores",
    "/assistants",
    { model: "m", tool_resources: { file_search: { vector_store_ids: ["a", "b"] } } },
    400,
    "tool_resources.file_search",
  ],
  ["an unknown tool", "/assistants", { model: "m", tools: [{ type: "magic" }] }, 400, "tools[0].type"],
  ["a long name", "/assistants", { model: "m", name: "n".repeat(257) }, 400, "name"],
  ["an unknown field", "/assistants", { model: "m", colour: "red" }, 400, "colour"],
  ["an unknown assistant", "/assistants/asst_x", { name: "n" }, 404, null],
  ["threads", "/threads", {}, 404, null],
  ["messages", "/threads/thread_x/messages", { role: "user", content: "x" }, 404, null],
  ["runs", "/threads/thread_x/runs", { assistant_id: "asst_x" }, 404, null],
  ["embeddings of an unknown model", "/embeddings", { model: "ada", input: "x" }, 404, "model"],
  ["embeddings without a model", "/embeddings", { input: "x" }, 400, "model"],
  ["embeddings of nothing", "/embeddings", { model: "ada", input: [] }, 400, "input"],
  ["embeddings of an empty string", "/embeddings", { model: "ada", input: ["a", ""] }, 400, "input"],
  ["embeddings of tokens", "/embeddings", { model: "ada", input: [1, 2] }, 400, "input"],
  ["embeddings of lists of tokens", "/embeddings", { model: "ada", input: [[1], [2]] }, 400, "input"],
  [
    "embeddings in hexadecimal",
    "/embeddings",
    { model: "ada", input: "x", encoding_format: "hex" },
    400,
    "encoding_format",
  ],
  ["no input at all", "/embeddings", { model: "ada" }, 400, "input"],
];

describe("wrong requests get an error of the protocol's shape, with the field that is wrong", () => {
  let at: AnswersStage;
  before(async () => {
    at = await answersStage();
  });
  after(() => at.close());

  for (const [about, path, body, status, param] of [...RESPONSES, ...OTHERS]) {
    test(`${path}: ${about}`, async () => {
      const answer = await at.ask("POST", path, body);
      const { error } = answer.json as { error: { message: string; param: string | null; type: string } };
      assert.deepEqual([answer.status, error.param], [status, param], error.message);
      assert.equal(error.type, "invalid_request_error");
      assert.match(error.message, /[.:'\w]$/);
    });
  }

  test("fields of a later protocol do not stand in the way where its schemas leave them open", async () => {
    const response = await at.ask("POST", "/responses", { input: "x", context_management: null, of_tomorrow: true });
    const conversation = await at.ask("POST", "/conversations", { of_tomorrow: true });
    assert.deepEqual([response.status, conversation.status], [200, 200]);
    assert.equal("of_tomorrow" in response.json, false);
  });

  test("ids that nobody has", async () => {
    const paths = ["/responses/resp_x", "/conversations/conv_x", "/assistants/asst_x", "/models/gpt-5", "/threads/t"];
    for (const path of paths) {
      for (const method of ["GET", "DELETE"]) {
        const answer = await at.ask(method, path);
        assert.equal(answer.status, 404, `${method} ${path}`);
      }
    }
    const { json } = await at.ask("GET", "/models/gpt-5");
    assert.equal((json as { error: { code: string } }).error.code, "model_not_found");
  });
});
