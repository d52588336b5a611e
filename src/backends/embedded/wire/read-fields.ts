import type { AttributeFilter, Attributes } from "../../../contracts/search-index.ts";
import type { Chunking } from "../../../index/sqlite/prepare-body.ts";
import { isJsonObject, type JsonObject } from "../../../lib/json-object.ts";
import { badRequest, WireError } from "./wire-error.ts";

type Fields = Readonly<JsonObject>;

const MAX_BODY_BYTES = 1024 * 1024;
const MAX_KEYS = 16;
const MAX_KEY_LENGTH = 64;
const MAX_VALUE_LENGTH = 512;
const COMPARISONS = ["eq", "ne", "gt", "gte", "lt", "lte"];

/** The JSON object of the request. A field that is not in `known` is refused: silently ignoring one hides a typo. */
export async function readFields(request: Request, known: readonly string[]): Promise<Fields> {
  const text = await readText(request);
  if (text.trim() === "") return {};
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw Object.assign(badRequest("We could not parse the JSON body of your request."), { cause });
  }
  const fields = asObject(value, null);
  const unknown = Object.keys(fields).find((key) => !known.includes(key));
  if (unknown !== undefined) throw badRequest(`Unrecognized request argument supplied: ${unknown}`, unknown);
  return fields;
}

async function readText(request: Request): Promise<string> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of request.body ?? []) {
    length += part.byteLength;
    if (length > MAX_BODY_BYTES) throw new WireError(413, `Request body is larger than ${MAX_BODY_BYTES} bytes.`);
    parts.push(part);
  }
  return Buffer.concat(parts).toString("utf8");
}

export function asObject(value: unknown, param: string | null): Fields {
  if (isJsonObject(value)) return value;
  throw badRequest(`Invalid type for '${param ?? "body"}': expected an object.`, param);
}

export function asString(value: unknown, param: string): string {
  if (typeof value === "string") return value;
  throw badRequest(`Invalid type for '${param}': expected a string.`, param);
}

export function asNumber(value: unknown, param: string, range: { min: number; max: number; integer: boolean }): number {
  const fits = typeof value === "number" && value >= range.min && value <= range.max;
  if (fits && (!range.integer || Number.isInteger(value))) return value;
  const kind = range.integer ? "an integer" : "a number";
  throw badRequest(`Invalid value for '${param}': expected ${kind} from ${range.min} to ${range.max}.`, param);
}

export function asOneOf<T extends string>(value: unknown, param: string, accepted: readonly T[]): T {
  const found = accepted.find((one) => one === value);
  if (found !== undefined) return found;
  throw badRequest(`Invalid value for '${param}': expected one of ${accepted.join(", ")}.`, param);
}

/** At most 16 strings, numbers or booleans. */
export function asAttributes(value: unknown, param = "attributes"): Attributes {
  if (value === null) return {};
  const attributes = checkKeys(asObject(value, param), param);
  for (const [key, one] of Object.entries(attributes)) {
    const at = `${param}.${key}`;
    const scalar = typeof one === "number" || typeof one === "boolean" || typeof one === "string";
    if (!scalar) throw badRequest(`Invalid type for '${at}': expected a string, a number or a boolean.`, at);
    if (typeof one === "string") checkLength(one, at);
  }
  return attributes as Attributes;
}

/** At most 16 strings. */
export function asMetadata(value: unknown): Record<string, string> {
  if (value === null || value === undefined) return {};
  const metadata = checkKeys(asObject(value, "metadata"), "metadata");
  for (const [key, one] of Object.entries(metadata)) checkLength(asString(one, `metadata.${key}`), `metadata.${key}`);
  return metadata as Record<string, string>;
}

function checkKeys(fields: Fields, param: string): Fields {
  const keys = Object.keys(fields);
  if (keys.length > MAX_KEYS)
    throw badRequest(`'${param}' has ${keys.length} keys; at most ${MAX_KEYS} are allowed.`, param);
  const long = keys.find((key) => key.length > MAX_KEY_LENGTH);
  if (long !== undefined) throw badRequest(`Keys of '${param}' have at most ${MAX_KEY_LENGTH} characters.`, param);
  return fields;
}

function checkLength(value: string, param: string): void {
  if (value.length > MAX_VALUE_LENGTH)
    throw badRequest(`'${param}' has more than ${MAX_VALUE_LENGTH} characters.`, param);
}

/** undefined for `auto` and for none. */
export function asChunking(value: unknown): Chunking | undefined {
  if (value === undefined || value === null) return undefined;
  const strategy = asObject(value, "chunking_strategy");
  const type = asOneOf(strategy["type"], "chunking_strategy.type", ["auto", "static"]);
  if (type === "auto") return undefined;
  const at = "chunking_strategy.static";
  const fields = asObject(strategy["static"], at);
  const limits = { min: 100, max: 4096, integer: true };
  const maxTokens = asNumber(fields["max_chunk_size_tokens"], `${at}.max_chunk_size_tokens`, limits);
  const half = { min: 0, max: Math.floor(maxTokens / 2), integer: true };
  const overlapTokens = asNumber(fields["chunk_overlap_tokens"], `${at}.chunk_overlap_tokens`, half);
  return { maxTokens, overlapTokens };
}

export function asFilter(value: unknown, param = "filters", depth = 0): AttributeFilter {
  if (depth > 10) throw badRequest("'filters' is nested deeper than 10 levels.", "filters");
  const filter = asObject(value, param);
  const type = asOneOf(filter["type"], `${param}.type`, [
    "eq",
    "ne",
    "gt",
    "gte",
    "lt",
    "lte",
    "in",
    "nin",
    "and",
    "or",
  ]);
  if (type === "and" || type === "or") {
    const parts = asArray(filter["filters"], `${param}.filters`);
    return { type, filters: parts.map((part, at) => asFilter(part, `${param}.filters[${at}]`, depth + 1)) };
  }
  const key = asString(filter["key"], `${param}.key`);
  const at = `${param}.value`;
  if (type === "in" || type === "nin") {
    return { type, key, value: asArray(filter["value"], at).map((one) => asScalar(one, at, ["string", "number"])) };
  }
  const kinds = type === "eq" || type === "ne" ? ["string", "number", "boolean"] : ["string", "number"];
  if (!COMPARISONS.includes(type)) throw badRequest(`Invalid value for '${param}.type'.`, `${param}.type`);
  return { type, key, value: asScalar(filter["value"], at, kinds) };
}

export function asArray(value: unknown, param: string): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw badRequest(`Invalid type for '${param}': expected an array.`, param);
}

function asScalar(value: unknown, param: string, kinds: readonly string[]): string | number {
  if (kinds.includes(typeof value)) return value as string | number;
  throw badRequest(`Invalid type for '${param}': expected ${kinds.join(" or ")}.`, param);
}
