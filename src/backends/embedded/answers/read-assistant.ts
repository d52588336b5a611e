import { isJsonObject, type JsonObject } from "../../../lib/json-object.ts";
import { asArray, asMetadata, asNumber, asObject, asOneOf, asString } from "../wire/read-fields.ts";
import { badRequest } from "../wire/wire-error.ts";

const TOOLS = ["code_interpreter", "file_search", "function"] as const;
const MAX_TOOLS = 128;
const MAX_LENGTHS = { name: 256, description: 512, instructions: 256_000 } as const;

/** The settings of an assistant as they are told back; what is not given stays as it was. */
export function readAssistant(fields: Readonly<JsonObject>, before: Readonly<JsonObject>): JsonObject {
  const given = (name: string, usual: unknown, read: (value: unknown, param: string) => unknown): unknown => {
    const value = fields[name];
    if (value === undefined) return before[name] ?? usual;
    return value === null ? usual : read(value, name);
  };
  const between = (max: number) => {
    return (value: unknown, param: string): number => asNumber(value, param, { min: 0, max, integer: false });
  };
  return {
    name: given("name", null, asShortText),
    description: given("description", null, asShortText),
    model: asString(given("model", undefined, asString), "model"),
    instructions: given("instructions", null, asShortText),
    tools: given("tools", [], asTools),
    tool_resources: given("tool_resources", {}, asResources),
    metadata: given("metadata", {}, asMetadata),
    temperature: given("temperature", 1, between(2)),
    top_p: given("top_p", 1, between(1)),
    response_format: given("response_format", "auto", asFormat),
    reasoning_effort: given("reasoning_effort", null, asString),
  };
}

function asShortText(value: unknown, param: string): string {
  const text = asString(value, param);
  const most = MAX_LENGTHS[param as keyof typeof MAX_LENGTHS];
  if (text.length > most) throw badRequest(`'${param}' has more than ${most} characters.`, param);
  return text;
}

function asTools(value: unknown, param: string): JsonObject[] {
  const tools = asArray(value, param).map((tool, at) => {
    const fields = asObject(tool, `${param}[${at}]`);
    asOneOf(fields["type"], `${param}[${at}].type`, TOOLS);
    return fields;
  });
  if (tools.length > MAX_TOOLS) throw badRequest(`'${param}' has more than ${MAX_TOOLS} tools.`, param);
  return tools;
}

function asResources(value: unknown, param: string): JsonObject {
  const resources = asObject(value, param);
  const search = resources["file_search"];
  if (search === undefined || search === null) return resources;
  const at = `${param}.file_search`;
  const fields = asObject(search, at);
  if (fields["vector_stores"] !== undefined) {
    throw badRequest(`'${at}.vector_stores' is not served: create the store and name it in 'vector_store_ids'.`, at);
  }
  const ids = asArray(fields["vector_store_ids"] ?? [], `${at}.vector_store_ids`);
  if (ids.length > 1) {
    throw badRequest(`'${at}.vector_store_ids' has ${ids.length} ids; an assistant has at most one.`, at);
  }
  return { ...resources, file_search: { vector_store_ids: ids.map((id) => asString(id, `${at}.vector_store_ids`)) } };
}

function asFormat(value: unknown, param: string): unknown {
  if (value === "auto" || isJsonObject(value)) return value;
  throw badRequest(`Invalid value for '${param}': expected 'auto' or an object.`, param);
}
