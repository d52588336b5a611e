import { Hono } from "hono";
import type { JsonObject } from "../../../lib/json-object.ts";
import { randomId } from "../../../lib/random-id.ts";
import { logLine } from "../../../lib/text.ts";
import type { AnswerContext } from "../answers/answer-context.ts";
import type { AnswerPart } from "../answers/answerer.ts";
import { EXTRACTIVE_MODEL, quote } from "../answers/extractive-answerer.ts";
import { inertMarkdown } from "../answers/inert-markdown.ts";
import { lastQuestion, readItems } from "../answers/items.ts";
import type { SearchRequest } from "../answers/make-response.ts";
import { type ChatMade, chunk, DONE, encodeChatEvent, toChatUsage } from "./chat-codec.ts";
import { eventStream } from "./event-stream.ts";
import { asArray, asNumber, asObject, asString, readFields } from "./read-fields.ts";
import type { WireEnv } from "./wire-context.ts";
import { badRequest } from "./wire-error.ts";

/** Pictures are sent inside the JSON. */
const MAX_BODY_BYTES = 32 * 1024 * 1024;

/** Below `/chat`. */
export function chatRoutes(parts: AnswerContext): Hono<WireEnv> {
  const { answerers } = parts;
  const routes = new Hono<WireEnv>();
  routes.post("/completions", async ({ req, env }) => {
    const fields = await readFields(req.raw, undefined, MAX_BODY_BYTES);
    const name = asString(fields["model"] ?? answerers.models[0], "model");
    answerers.of(name);
    const model = parts.model();
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

const PASSAGES = 20;

/** Answers a chat with quotes from the default store: the protocol cannot name another. */
async function quoteInChat(
  parts: AnswerContext,
  fields: Readonly<JsonObject>,
  { by, signal }: Pick<SearchRequest, "by" | "signal">,
): Promise<Response> {
  const question = readQuestion(fields);
  const store = await parts.defaultStore();
  if (store === undefined) {
    throw badRequest(
      "Chats search the default vector store, and there is none: set SEARCH_DEFAULT_GLOBAL_VECTOR_STORE_ID, or use /responses with the tool file_search.",
    );
  }
  const hits = await parts.search(store, { text: question, limit: PASSAGES, signal }, by);
  const passages = hits.map(({ name: filename, ...hit }) => ({ ...hit, filename }));
  const texts = quote([question], passages, await parts.countWords(store, question)).map(withSource);
  const usage = toChatUsage(question, texts.join(""));
  const made = { id: randomId("chatcmpl-"), created: Math.floor(Date.now() / 1000), model: EXTRACTIVE_MODEL };
  if (fields["stream"] === true) {
    const options = asObject(fields["stream_options"] ?? {}, "stream_options");
    return eventStream(chunksOf(made, texts, options["include_usage"] === true ? usage : undefined));
  }
  const message = { role: "assistant", content: texts.join("").trimEnd(), refusal: null, annotations: [] };
  const choices = [{ index: 0, message, logprobs: null, finish_reason: "stop" }];
  return Response.json({ ...made, object: "chat.completion", choices, usage });
}

function readQuestion(fields: Readonly<JsonObject>): string {
  if (fields["messages"] === undefined) throw badRequest("Missing required parameter: 'messages'.", "messages");
  // The same words have the same quotes.
  asNumber(fields["n"] ?? 1, "n", { min: 1, max: 1, integer: true });
  const messages = asArray(fields["messages"], "messages").filter(
    (one, at) => asObject(one, `messages[${at}]`)["role"] === "user",
  );
  const question = lastQuestion(readItems(messages, "messages", "any"));
  if (question === undefined) throw badRequest("'messages' has no text of the user to answer.", "messages");
  return question;
}

/** Chats have no file citations, so the text names the file. */
function withSource({ text, from }: AnswerPart): string {
  return from ? `${text.trimEnd()} (${inertMarkdown(logLine(from.filename))})\n` : text;
}

async function* chunksOf(made: ChatMade, texts: readonly string[], usage: object | undefined): AsyncGenerator<string> {
  yield chunk(made, { role: "assistant", content: "", refusal: null });
  for (const [at, text] of texts.entries()) {
    yield chunk(made, { content: at === texts.length - 1 ? text.trimEnd() : text });
  }
  yield chunk(made, {}, "stop");
  if (usage) yield encodeChatEvent({ ...made, object: "chat.completion.chunk", choices: [], usage });
  yield DONE;
}
