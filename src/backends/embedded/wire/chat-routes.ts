import { Hono } from "hono";
import type { JsonObject } from "../../../lib/json-object.ts";
import type { AnswerParts } from "../answers/answer-parts.ts";
import { EXTRACTIVE_MODEL } from "../answers/extractive-answerer.ts";
import { quoteInChat } from "../answers/quote-in-chat.ts";
import { asString, readFields } from "./read-fields.ts";
import type { WireEnv } from "./wire-context.ts";

/** Pictures are sent inside the JSON. */
const MAX_BODY_BYTES = 32 * 1024 * 1024;

/** Below `/chat`. */
export function chatRoutes(parts: AnswerParts): Hono<WireEnv> {
  const { answerers, model } = parts;
  const routes = new Hono<WireEnv>();
  routes.post("/completions", async ({ req, env }) => {
    const fields = await readFields(req.raw, undefined, MAX_BODY_BYTES);
    const name = asString(fields["model"] ?? answerers.models[0], "model");
    answerers.of(name);
    if (name === EXTRACTIVE_MODEL || !model) {
      return quoteInChat(parts, fields, { by: env.call.by, signal: req.raw.signal });
    }
    return model.complete(toRequest({ ...fields, model: name }, req.raw));
  });
  return routes;
}

/** The conversation as it is. */
function toRequest(fields: JsonObject, { url, signal }: Request): Request {
  const headers = { "content-type": "application/json" };
  const address = new URL("/chat/completions", url);
  return new Request(address, { method: "POST", headers, body: JSON.stringify(fields), signal });
}
