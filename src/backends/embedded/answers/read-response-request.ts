import type { SearchQuery } from "../../../contracts/search-index.ts";
import { parseAttributeFilter } from "../../../lib/attribute-filter.ts";
import { isJsonObject, type JsonObject } from "../../../lib/json-object.ts";
import {
  asArray,
  asBoolean,
  asMetadata,
  asNumber,
  asObject,
  asOneOf,
  asString,
  MOST_SEARCHES,
} from "../wire/read-fields.ts";
import { badRequest } from "../wire/wire-error.ts";
import { type Include, type Item, readItems } from "./items.ts";

/** A request for a response, checked. */
export interface ResponseRequest {
  readonly model: string;
  readonly input: readonly Item[];
  readonly instructions: string | null;
  readonly searches: readonly FileSearch[];
  readonly include: Include;
  readonly previousId: string | null;
  readonly conversationId: string | null;
  readonly maxOutputTokens: number | null;
  readonly store: boolean;
  readonly stream: boolean;
  /** Only what the request sets. */
  readonly sampling: { readonly temperature?: number; readonly topP?: number };
  /** Fields that the response repeats, named as on the wire. */
  readonly settings: JsonObject;
}

const INCLUDES = [
  "file_search_call.results",
  "web_search_call.results",
  "web_search_call.action.sources",
  "message.input_image.image_url",
  "computer_call_output.output.image_url",
  "code_interpreter_call.outputs",
  "reasoning.encrypted_content",
  "message.output_text.logprobs",
] as const;
const ANY_INTEGER = { min: 1, max: Number.MAX_SAFE_INTEGER, integer: true };

/** Values for fields that a request leaves out. */
interface RequestDefaults {
  readonly model: string;
  readonly temperature: number | undefined;
}

export function readResponseRequest(fields: Readonly<JsonObject>, defaults: RequestDefaults): ResponseRequest {
  const given = <T>(name: string, read: (value: unknown, param: string) => T): T | undefined => {
    const value = fields[name];
    return value === undefined || value === null ? undefined : read(value, name);
  };
  const previousId = given("previous_response_id", asString) ?? null;
  const conversationId = given("conversation", asConversationId) ?? null;
  if (previousId !== null && conversationId !== null) {
    throw badRequest("Give either 'previous_response_id' or 'conversation', not both.", "previous_response_id");
  }
  if (fields["input"] === undefined && previousId === null && conversationId === null) {
    throw badRequest("Missing required parameter: 'input'.", "input");
  }
  if (given("prompt", asObject)) throw badRequest("Stored prompts are not served: send 'instructions'.", "prompt");
  const tools = readTools(fields["tools"] ?? [], fields["tool_choice"] ?? undefined);
  return {
    model: given("model", asString) ?? defaults.model,
    input: given("input", (value, param) => readItems(value, param, "text")) ?? [],
    instructions: given("instructions", asString) ?? null,
    searches: tools.searches,
    include: readInclude(asArray(fields["include"] ?? [], "include")),
    previousId,
    conversationId,
    maxOutputTokens:
      given("max_output_tokens", (value, param) => asNumber(value, param, { ...ANY_INTEGER, min: 16 })) ?? null,
    store: given("store", asBoolean) ?? true,
    stream: given("stream", asBoolean) ?? false,
    sampling: readSampling(given),
    settings: { ...readSettings(fields, given, defaults), tools: tools.tools, tool_choice: tools.toolChoice },
  };
}

export function readInclude(values: readonly unknown[]): Include {
  return new Set(values.map((value) => asOneOf(value, "include", INCLUDES)));
}

type Given = <T>(name: string, read: (value: unknown, param: string) => T) => T | undefined;

function between(min: number, max: number, integer = false) {
  return (value: unknown, param: string): number => asNumber(value, param, { min, max, integer });
}

function readSampling(given: Given): ResponseRequest["sampling"] {
  const temperature = given("temperature", between(0, 2));
  const topP = given("top_p", between(0, 1));
  return { ...(temperature !== undefined && { temperature }), ...(topP !== undefined && { topP }) };
}

/** Checks the fields that the response repeats. Sampling has no effect on extractive answers. */
function readSettings(fields: Readonly<JsonObject>, given: Given, defaults: RequestDefaults): JsonObject {
  const user = given("user", asString);
  return {
    background: given("background", asBoolean) ?? false,
    max_tool_calls: given("max_tool_calls", between(1, Number.MAX_SAFE_INTEGER, true)) ?? null,
    metadata: asMetadata(fields["metadata"]),
    parallel_tool_calls: given("parallel_tool_calls", asBoolean) ?? true,
    prompt_cache_key: given("prompt_cache_key", asString) ?? null,
    safety_identifier: given("safety_identifier", asString) ?? null,
    temperature: given("temperature", between(0, 2)) ?? defaults.temperature ?? 1,
    text: readTextFormat(given("text", asObject) ?? {}),
    top_logprobs: given("top_logprobs", between(0, 20, true)) ?? 0,
    top_p: given("top_p", between(0, 1)) ?? 1,
    truncation: given("truncation", (value, param) => asOneOf(value, param, ["auto", "disabled"])) ?? "disabled",
    ...(user !== undefined && { user }),
  };
}

function readTextFormat(text: Readonly<JsonObject>): JsonObject {
  const format = asObject(text["format"] ?? { type: "text" }, "text.format");
  if (format["type"] !== "text") {
    throw badRequest("Answers are text: 'text.format.type' must be 'text'.", "text.format.type");
  }
  const verbosity = asOneOf(text["verbosity"] ?? "medium", "text.verbosity", ["low", "medium", "high"]);
  return { format: { type: "text" }, verbosity };
}

function asConversationId(value: unknown, param: string): string {
  return asString(isJsonObject(value) ? value["id"] : value, param);
}

/** One file_search tool of a request. */
export interface FileSearch {
  readonly storeIds: readonly string[];
  readonly query: Omit<SearchQuery, "text">;
  /** Weights of words and vectors; undefined: those of the index. */
  readonly weights: { readonly text: number; readonly vector: number } | undefined;
}

interface Tools {
  readonly searches: readonly FileSearch[];
  /** As the response repeats them, with defaults. */
  readonly tools: readonly JsonObject[];
  readonly toolChoice: unknown;
}

const RANKERS = ["auto", "default-2024-11-15"] as const;
const MODES = ["none", "auto", "required"] as const;
/** Tools that a model may ignore, as ours does. Others are services that do not exist here. */
const NEVER_CALLED: ReadonlySet<unknown> = new Set(["function", "custom"]);

function readTools(tools: unknown, toolChoice: unknown): Tools {
  const given = asArray(tools ?? [], "tools");
  checkCount(given.length, "tools", "tools");
  const list = given.map((tool, at) => readTool(asObject(tool, `tools[${at}]`), `tools[${at}]`));
  const searches = list.flatMap(({ search }) => (search ? [search] : []));
  checkCount(searches.flatMap(({ storeIds }) => storeIds).length, "tools", "vector stores");
  const wanted = wantsSearch(toolChoice ?? "auto", list.length);
  return {
    searches: wanted ? searches : [],
    tools: list.map(({ shown }) => shown),
    toolChoice: toolChoice ?? "auto",
  };
}

function checkCount(count: number, param: string, noun: string): void {
  if (count <= MOST_SEARCHES) return;
  throw badRequest(`'${param}' has ${count} ${noun}; a request may have at most ${MOST_SEARCHES}.`, param);
}

/** Rejects only choices that cannot be served. */
function wantsSearch(choice: unknown, tools: number): boolean {
  if (isJsonObject(choice)) {
    if (choice["type"] === "file_search") return true;
    if (choice["type"] === "allowed_tools") {
      return asArray(choice["tools"], "tool_choice.tools").some(
        (one) => isJsonObject(one) && one["type"] === "file_search",
      );
    }
    throw badRequest("'tool_choice' can ask for file_search only: no other tool is ever called here.", "tool_choice");
  }
  const mode = asOneOf(choice, "tool_choice", MODES);
  if (mode === "required" && tools === 0) {
    throw badRequest("'tool_choice' is 'required', but 'tools' is empty.", "tool_choice");
  }
  return mode !== "none";
}

function readTool(tool: Readonly<JsonObject>, param: string): { shown: JsonObject; search?: FileSearch } {
  const type = asString(tool["type"], `${param}.type`);
  if (NEVER_CALLED.has(type)) return { shown: tool };
  if (type !== "file_search") {
    throw badRequest(`The embedded backend has no tool '${type}'; it has file_search.`, `${param}.type`);
  }
  return readFileSearch(tool, param);
}

function readFileSearch(tool: Readonly<JsonObject>, param: string): { shown: JsonObject; search: FileSearch } {
  const at = `${param}.vector_store_ids`;
  const storeIds = asArray(tool["vector_store_ids"], at).map((id) => asString(id, at));
  if (storeIds.length === 0) throw badRequest(`'${at}' must name at least one vector store.`, at);
  const range = { min: 1, max: 50, integer: true };
  const limit = asNumber(tool["max_num_results"] ?? 20, `${param}.max_num_results`, range);
  const ranking = asObject(tool["ranking_options"] ?? {}, `${param}.ranking_options`);
  const ranker = asOneOf(ranking["ranker"] ?? "auto", `${param}.ranking_options.ranker`, RANKERS);
  const threshold = `${param}.ranking_options.score_threshold`;
  const scoreThreshold = asNumber(ranking["score_threshold"] ?? 0, threshold, { min: 0, max: 1, integer: false });
  const filters = tool["filters"] ?? null;
  const filter = filters === null ? {} : { filter: parseAttributeFilter(filters, `${param}.filters`) };
  const hybrid = ranking["hybrid_search"] ?? undefined;
  const weights = hybrid === undefined ? undefined : readWeights(hybrid, `${param}.ranking_options.hybrid_search`);
  return {
    shown: {
      type: "file_search",
      vector_store_ids: storeIds,
      max_num_results: limit,
      ranking_options: { ranker, score_threshold: scoreThreshold, ...(weights && { hybrid_search: hybrid }) },
      filters,
    },
    search: { storeIds, query: { limit, scoreThreshold, ...filter }, weights },
  };
}

function readWeights(value: unknown, param: string): { text: number; vector: number } {
  const fields = asObject(value, param);
  const range = { min: 0, max: 1_000_000, integer: false };
  const vector = asNumber(fields["embedding_weight"], `${param}.embedding_weight`, range);
  const text = asNumber(fields["text_weight"], `${param}.text_weight`, range);
  if (vector + text === 0) throw badRequest(`One of the weights of '${param}' must be above 0.`, param);
  return { text, vector };
}
