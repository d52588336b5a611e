import {
  anyOf,
  asObject,
  type Check,
  count,
  instant,
  listOf,
  mapOf,
  number,
  object,
  oneOf,
  orNull,
  text,
  truth,
} from "./wire-checks.ts";

const anything: Check = () => {};
const metadata = mapOf(text);

const annotation = object({ type: oneOf("file_citation"), index: count, file_id: text, filename: text });
const outputText = object({
  type: oneOf("output_text"),
  text,
  annotations: listOf(annotation),
  logprobs: listOf(anything),
});
const part: Check = (value, at) => {
  const type = asObject(value, at)["type"];
  if (type === "output_text") outputText(value, at);
  if (type === "input_text") object({ type: oneOf("input_text"), text })(value, at);
};
const message = object({
  id: text,
  type: oneOf("message"),
  status: oneOf("in_progress", "completed", "incomplete"),
  role: oneOf("user", "assistant", "system", "developer"),
  content: listOf(part),
});
const searchCall = object({
  id: text,
  type: oneOf("file_search_call"),
  status: oneOf("in_progress", "searching", "completed", "incomplete", "failed"),
  queries: listOf(text),
  results: orNull(
    listOf(
      object({ file_id: text, filename: text, score: number, attributes: mapOf(anyOf(text, number, truth)), text }),
    ),
  ),
});
const functionResult = object({ id: text, type: oneOf("function_call_output"), call_id: text, output: text });

/** Items have a type and no `object`. */
const ITEMS: Readonly<Record<string, Check>> = {
  message,
  file_search_call: searchCall,
  function_call_output: functionResult,
};
const outputItem: Check = (value, at) => {
  const check = asObject(value, at)["type"] === "message" ? message : searchCall;
  check(value, at);
};

const fileSearch = object({
  type: oneOf("file_search"),
  vector_store_ids: listOf(text),
  max_num_results: count,
  ranking_options: object(
    { ranker: oneOf("auto", "default-2024-11-15"), score_threshold: number },
    { hybrid_search: object({ embedding_weight: number, text_weight: number }) },
  ),
  filters: orNull(anything),
});
const tool: Check = (value, at) => {
  if (asObject(value, at)["type"] === "file_search") fileSearch(value, at);
};
const usage = object({
  input_tokens: count,
  input_tokens_details: object({ cached_tokens: count, cache_write_tokens: count }),
  output_tokens: count,
  output_tokens_details: object({ reasoning_tokens: count }),
  total_tokens: count,
});

/** More than the schema requires: what clients were seen to rely on not being null. */
const response = object(
  {
    id: text,
    object: oneOf("response"),
    created_at: instant,
    completed_at: orNull(instant),
    status: oneOf("completed", "failed", "in_progress", "cancelled", "queued", "incomplete"),
    error: oneOf(null),
    incomplete_details: orNull(object({ reason: oneOf("max_output_tokens") })),
    instructions: orNull(text),
    model: text,
    output: listOf(outputItem),
    parallel_tool_calls: truth,
    metadata,
    tool_choice: anyOf(
      oneOf("none", "auto", "required"),
      object({ type: text }, { mode: text, tools: listOf(anything) }),
    ),
    temperature: number,
    top_p: number,
    tools: listOf(tool),
    access_programs: oneOf(null),
    background: truth,
    conversation: orNull(object({ id: text })),
    frequency_penalty: number,
    max_output_tokens: orNull(count),
    max_tool_calls: orNull(count),
    presence_penalty: number,
    previous_response_id: orNull(text),
    prompt_cache_key: orNull(text),
    reasoning: object({ effort: oneOf(null), summary: oneOf(null) }),
    safety_identifier: orNull(text),
    service_tier: oneOf("default"),
    store: truth,
    text: object({ format: object({ type: oneOf("text") }), verbosity: oneOf("low", "medium", "high") }),
    top_logprobs: count,
    truncation: oneOf("auto", "disabled"),
    usage: orNull(usage),
  },
  { user: text },
);
const deletion = (kind: string): Check => object({ id: text, object: oneOf(kind), deleted: oneOf(true) });

const model = object({ id: text, object: oneOf("model"), created: count, owned_by: text });

const chatMessage = object({
  role: oneOf("assistant"),
  content: text,
  refusal: oneOf(null),
  annotations: listOf(anything),
});
const chatCompletion = object({
  id: text,
  object: oneOf("chat.completion"),
  created: instant,
  model: text,
  choices: listOf(object({ index: count, message: chatMessage, logprobs: oneOf(null), finish_reason: oneOf("stop") })),
  usage: object({ prompt_tokens: count, completion_tokens: count, total_tokens: count }),
});

/** By the value of `object`, or of `type`: responses, conversations, assistants, models. */
export const ANSWER_OBJECTS: Readonly<Record<string, Check>> = {
  ...ITEMS,
  response: (value, at) => {
    const deleted = "deleted" in asObject(value, at);
    (deleted ? deletion("response") : response)(value, at);
  },
  "response.input_tokens": object({ object: oneOf("response.input_tokens"), input_tokens: count }),
  conversation: object({ id: text, object: oneOf("conversation"), created_at: instant, metadata }),
  "conversation.deleted": deletion("conversation.deleted"),
  assistant: object({
    id: text,
    object: oneOf("assistant"),
    created_at: instant,
    name: orNull(text),
    description: orNull(text),
    model: text,
    instructions: orNull(text),
    tools: listOf(object({ type: oneOf("code_interpreter", "file_search", "function") }, { function: anything })),
    tool_resources: orNull(anything),
    metadata,
    temperature: number,
    top_p: number,
    response_format: anything,
    reasoning_effort: orNull(text),
  }),
  "assistant.deleted": deletion("assistant.deleted"),
  model,
  "chat.completion": chatCompletion,
};

/** By the kind of what they list: these come whole, without pages. */
export const ANSWER_LISTS: Readonly<Record<string, Check>> = {
  model: object({ object: oneOf("list"), data: listOf(model) }),
  embedding: object({
    object: oneOf("list"),
    data: listOf(object({ object: oneOf("embedding"), index: count, embedding: anyOf(text, listOf(number)) })),
    model: text,
    usage: object({ prompt_tokens: count, total_tokens: count }),
  }),
};
