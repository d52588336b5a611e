import type { Attributes } from "../../../contracts/search-index.ts";
import type { Chunking } from "../../../index/chunk-sections.ts";
import { isJsonObject, type JsonObject } from "../../../lib/json-object.ts";
import { storableText } from "../../../lib/sql/sql.ts";
import { readUpTo } from "../../../lib/text.ts";
import type { ListKey, PageRequest } from "../read-page.ts";
import { badRequest, WireError } from "./wire-error.ts";

type Fields = Readonly<JsonObject>;

/** Limit for questions, tools and vector stores of one request: each is a search. */
export const MOST_SEARCHES = 10;

const MAX_BODY_BYTES = 1024 * 1024;
const MAX_KEYS = 16;
const MAX_KEY_LENGTH = 64;
const MAX_VALUE_LENGTH = 512;

/**
 * The JSON object of the request. A field that is not in `known` is refused: silently ignoring one hides a typo. Without
 * `known` all are taken, for what the protocol's schemas leave open.
 */
export async function readFields(
  request: Request,
  known?: readonly string[],
  maxBytes = MAX_BODY_BYTES,
): Promise<Fields> {
  const body = await readUpTo(request.body ?? [], maxBytes);
  if (!body) throw new WireError(413, `Request body is larger than ${maxBytes} bytes.`);
  const text = body.toString("utf8");
  if (text.trim() === "") return {};
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw Object.assign(badRequest("We could not parse the JSON body of your request."), { cause });
  }
  const fields = asObject(value, null);
  const unknown = known && Object.keys(fields).find((key) => !known.includes(key));
  if (unknown !== undefined) throw badRequest(`Unrecognized request argument supplied: ${unknown}`, unknown);
  return fields;
}

/** Returns the field; throws if it is missing. */
export function required(fields: Fields, param: string): unknown {
  const value = fields[param];
  if (value === undefined) throw badRequest(`Missing required parameter: '${param}'.`, param);
  return value;
}

export function asObject(value: unknown, param: string | null): Fields {
  if (isJsonObject(value)) return value;
  throw badRequest(`Invalid type for '${param ?? "body"}': expected an object.`, param);
}

export function asString(value: unknown, param: string): string {
  if (typeof value === "string") return value;
  throw badRequest(`Invalid type for '${param}': expected a string.`, param);
}

/** A string that can be stored. */
export function asText(value: unknown, param: string): string {
  const text = asString(value, param);
  if (!isStorable(text)) throw unstorable(param);
  return text;
}

export function asBoolean(value: unknown, param: string): boolean {
  if (typeof value === "boolean") return value;
  throw badRequest(`Invalid type for '${param}': expected a boolean.`, param);
}

export function asNumber(value: unknown, param: string, range: { min: number; max: number; integer: boolean }): number {
  const fits = typeof value === "number" && value >= range.min && value <= range.max;
  if (fits && (!range.integer || Number.isInteger(value))) return value;
  const kind = range.integer ? "an integer" : "a number";
  const { min, max } = range;
  const accepted = min === max ? `only ${min} is accepted` : `expected ${kind} from ${min} to ${max}`;
  throw badRequest(`Invalid value for '${param}': ${accepted}.`, param);
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
    if (typeof one === "string") checkLength(asText(one, at), at);
  }
  return attributes as Attributes;
}

/** At most 16 strings. */
export function asMetadata(value: unknown): Record<string, string> {
  if (value === null || value === undefined) return {};
  const metadata = checkKeys(asObject(value, "metadata"), "metadata");
  for (const [key, one] of Object.entries(metadata)) checkLength(asText(one, `metadata.${key}`), `metadata.${key}`);
  return metadata as Record<string, string>;
}

function checkKeys(fields: Fields, param: string): Fields {
  const keys = Object.keys(fields);
  if (keys.length > MAX_KEYS)
    throw badRequest(`'${param}' has ${keys.length} keys; at most ${MAX_KEYS} are allowed.`, param);
  const long = keys.find((key) => key.length > MAX_KEY_LENGTH);
  if (long !== undefined) throw badRequest(`Keys of '${param}' have at most ${MAX_KEY_LENGTH} characters.`, param);
  if (!keys.every(isStorable)) throw unstorable(param);
  return fields;
}

function isStorable(text: string): boolean {
  return storableText(text) === text;
}

function unstorable(param: string): WireError {
  return badRequest(`'${param}' contains a NUL character or half of a surrogate pair; no text may.`, param);
}

function checkLength(value: string, param: string): void {
  if (value.length > MAX_VALUE_LENGTH)
    throw badRequest(`'${param}' has more than ${MAX_VALUE_LENGTH} characters.`, param);
}

/** undefined for `auto` and for none. */
export function asChunking(value: unknown, param = "chunking_strategy"): Chunking | undefined {
  if (value === undefined || value === null) return undefined;
  const strategy = asObject(value, param);
  const type = asOneOf(strategy["type"], `${param}.type`, ["auto", "static"]);
  if (type === "auto") return undefined;
  const at = `${param}.static`;
  const fields = asObject(strategy["static"], at);
  const limits = { min: 100, max: 4096, integer: true };
  const maxTokens = asNumber(fields["max_chunk_size_tokens"], `${at}.max_chunk_size_tokens`, limits);
  const half = { min: 0, max: Math.floor(maxTokens / 2), integer: true };
  const overlapTokens = asNumber(fields["chunk_overlap_tokens"], `${at}.chunk_overlap_tokens`, half);
  return { maxTokens, overlapTokens };
}

export function asArray(value: unknown, param: string): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw badRequest(`Invalid type for '${param}': expected an array.`, param);
}

const FILE_SECONDS = { min: 3600, max: 2_592_000, integer: true };
const STORE_DAYS = { min: 1, max: 365, integer: true };

/** Returns seconds after creation, or null. `nameOf` gives the name of a field in messages. */
export function readFileExpiry(
  value: unknown,
  nameOf = (key: string): string => `expires_after.${key}`,
): number | null {
  if (value === undefined || value === null) return null;
  const fields = onlyWith(asObject(value, "expires_after"), ["anchor", "seconds"]);
  asOneOf(fields["anchor"], nameOf("anchor"), ["created_at"]);
  return asNumber(fields["seconds"], nameOf("seconds"), FILE_SECONDS);
}

/** Returns days after the last activity, or null. */
export function readStoreExpiry(value: unknown): number | null {
  if (value === undefined || value === null) return null;
  const fields = onlyWith(asObject(value, "expires_after"), ["anchor", "days"]);
  asOneOf(fields["anchor"], "expires_after.anchor", ["last_active_at"]);
  return asNumber(fields["days"], "expires_after.days", STORE_DAYS);
}

function onlyWith<T extends object>(fields: T, known: readonly string[]): T {
  const unknown = Object.keys(fields).find((key) => !known.includes(key));
  if (unknown === undefined) return fields;
  throw badRequest(`Unknown parameter: 'expires_after.${unknown}'.`, `expires_after.${unknown}`);
}

interface ListParams {
  readonly limit: number;
  readonly order: "asc" | "desc";
  readonly after: string | undefined;
  readonly before: string | undefined;
}

export function readListParams(
  query: URLSearchParams,
  limits: { readonly max: number; readonly usual: number },
): ListParams {
  return {
    limit: readLimit(query.get("limit"), limits),
    order: asOneOf(query.get("order") ?? "desc", "order", ["asc", "desc"]),
    after: query.get("after") || undefined,
    before: query.get("before") || undefined,
  };
}

function readLimit(text: string | null, limits: { readonly max: number; readonly usual: number }): number {
  if (text === null) return limits.usual;
  const limit = /^\d{1,6}$/.test(text) ? Number(text) : 0;
  if (limit >= 1 && limit <= limits.max) return limit;
  throw badRequest(`Invalid value for 'limit': expected an integer from 1 to ${limits.max}.`, "limit");
}

/** Cursors are ids of listed objects; one that is not in the list has no place to go on from. */
export async function toPageRequest(
  params: ListParams,
  keyOf: (id: string) => Promise<ListKey | undefined>,
): Promise<PageRequest> {
  const place = async (id: string | undefined, param: "after" | "before"): Promise<ListKey | undefined> => {
    if (id === undefined) return undefined;
    return (await keyOf(id)) ?? unknownCursor(id, param);
  };
  return {
    limit: params.limit,
    order: params.order,
    after: await place(params.after, "after"),
    before: await place(params.before, "before"),
  };
}

export function unknownCursor(id: string, param: "after" | "before"): never {
  throw badRequest(`Invalid value for '${param}': '${id}' is not in this list.`, param);
}
