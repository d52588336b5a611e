import { isJsonObject, type JsonObject } from "../../../lib/json-object.ts";
import { asArray, asMetadata, asNumber, asObject, asOneOf, asString } from "../wire/read-fields.ts";
import { badRequest } from "../wire/wire-error.ts";
import type { Include, Item } from "./items.ts";
import { readItems } from "./read-items.ts";
import { type FileSearch, readTools } from "./read-tools.ts";

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
  /** What the request sets of it. */
  readonly sampling: { readonly temperature?: number; readonly topP?: number };
  /** What the response tells back as it was asked for, spelt as on the wire. */
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

/** What holds for requests that do not say otherwise. */
export interface RequestDefaults {
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

/** Checked and told back. Sampling makes no difference to an answer that is quoted. */
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

function asBoolean(value: unknown, param: string): boolean {
  if (typeof value === "boolean") return value;
  throw badRequest(`Invalid type for '${param}': expected a boolean.`, param);
}
