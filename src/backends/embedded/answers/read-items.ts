import type { JsonObject } from "../../../lib/json-object.ts";
import { randomId } from "../../../lib/random-id.ts";
import { asArray, asObject, asOneOf, asString } from "../wire/read-fields.ts";
import { badRequest } from "../wire/wire-error.ts";
import type { Item } from "./items.ts";

const ROLES = ["user", "assistant", "system", "developer"] as const;
const TEXT_TYPES: ReadonlySet<unknown> = new Set(["input_text", "output_text", "text", "refusal"]);

/** What a message may be made of: everything when it is only kept, text when it is to be answered. */
export type Contents = "any" | "text";

/** The items of a request in their full form, with ids of ours: one that was sent before may come again. */
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
