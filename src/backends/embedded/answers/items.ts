import type { JsonObject } from "../../../lib/json-object.ts";
import { randomId } from "../../../lib/random-id.ts";
import { toList } from "../wire/codec.ts";
import { asArray, asObject, asOneOf, asString, readListParams, unknownCursor } from "../wire/read-fields.ts";
import { badRequest } from "../wire/wire-error.ts";

/** An item of a conversation, as the wire protocol has it: a message, a tool call, or its result. */
export interface Item {
  readonly id: string;
  readonly type: string;
  readonly [field: string]: unknown;
}

/** Extras that a client asked for with `include`. */
export type Include = ReadonlySet<string>;

const SEARCH_RESULTS = "file_search_call.results";

/** Removes the results of a file_search call, unless the client includes them. */
export function showItem(item: Item, include: Include): Item {
  if (item.type !== "file_search_call" || include.has(SEARCH_RESULTS)) return item;
  return { ...item, results: null };
}

/** Returns the text of a message; "" for any other item. */
export function textOfItem(item: Item): string {
  if (item.type !== "message" || !Array.isArray(item["content"])) return "";
  return item["content"]
    .map((part: { readonly text?: unknown }) => part.text)
    .filter((text): text is string => typeof text === "string")
    .join("\n");
}

export function lastQuestion(items: readonly Item[]): string | undefined {
  return questionsIn(items).at(-1);
}

/** Returns what the user said, oldest first. */
export function questionsIn(items: readonly Item[]): string[] {
  return items
    .filter(({ role }) => role === "user")
    .map(textOfItem)
    .filter((text) => text.trim() !== "");
}

const ROLES = ["user", "assistant", "system", "developer"] as const;
const TEXT_TYPES: ReadonlySet<unknown> = new Set(["input_text", "output_text", "text", "refusal"]);

/** Allowed contents of a message: any if it is only stored, text if it is to be answered. */
type Contents = "any" | "text";

/** Parses the items of a request and gives them new ids: a client may send an item again. */
export function readItems(value: unknown, param: string, contents: Contents): Item[] {
  if (typeof value === "string") {
    return [message("user", [{ type: "input_text", text: value }])];
  }
  return asArray(value, param).map((one, at) =>
    readItem(asObject(one, `${param}[${at}]`), `${param}[${at}]`, contents),
  );
}

function readItem(item: Readonly<JsonObject>, param: string, contents: Contents): Item {
  const type = item["type"] ?? (item["role"] === undefined ? "item_reference" : "message");
  if (type === "item_reference") {
    throw badRequest("References to earlier items are not served: send the item itself.", param);
  }
  if (type === "message") return readMessage(item, param, contents);
  return { ...item, id: randomId("item_"), type: asString(type, `${param}.type`) };
}

function readMessage(item: Readonly<JsonObject>, param: string, contents: Contents): Item {
  const role = asOneOf(item["role"], `${param}.role`, ROLES);
  const content = item["content"];
  const at = `${param}.content`;
  if (content === undefined || content === null) throw badRequest(`Missing required parameter: '${at}'.`, at);
  if (typeof content === "string") return message(role, [textPart(role, content)]);
  const parts = asArray(content, at).map((one, place) => readPart(asObject(one, at), `${at}[${place}]`, contents));
  return message(role, parts);
}

function readPart(part: Readonly<JsonObject>, param: string, contents: Contents): JsonObject {
  const type = asString(part["type"], `${param}.type`);
  if (!TEXT_TYPES.has(type)) {
    if (contents === "any") return part;
    throw badRequest(`The embedded backend reads text only, '${type}' cannot be answered.`, param);
  }
  const field = type === "refusal" ? "refusal" : "text";
  const text = asString(part[field], `${param}.${field}`);
  if (type === "output_text") return { annotations: [], logprobs: [], ...part, type, text };
  return { type, [field]: text };
}

function textPart(role: (typeof ROLES)[number], text: string): JsonObject {
  if (role === "assistant") return { type: "output_text", text, annotations: [], logprobs: [] };
  return { type: "input_text", text };
}

function message(role: (typeof ROLES)[number], content: readonly JsonObject[]): Item {
  return { id: randomId("msg_"), type: "message", status: "completed", role, content };
}

export const ITEM_LIMITS = { max: 100, usual: 20 };

/** Returns one page of a list of items, given oldest first. */
export function pageOfItems(items: readonly Item[], query: URLSearchParams, include: Include): object {
  const { limit, order, after } = readListParams(query, ITEM_LIMITS);
  const ordered = order === "asc" ? items : items.toReversed();
  const at = after === undefined ? -1 : ordered.findIndex(({ id }) => id === after);
  if (after !== undefined && at < 0) unknownCursor(after, "after");
  const page = ordered.slice(at + 1, at + 1 + limit);
  return itemList(page, at + 1 + limit < ordered.length, include);
}

export function itemList(items: readonly Item[], hasMore: boolean, include: Include): object {
  const shown = items.map((item) => showItem(item, include));
  const ids = items.map(({ id }) => id);
  return toList(shown, ids, hasMore);
}
