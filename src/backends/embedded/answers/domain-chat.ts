import type { DomainModels, FoundPassage, FoundPassages, SearchCall } from "../../../contracts/domain-models.ts";
import { RemoteError } from "../../../contracts/errors.ts";
import { searchAnswer } from "../../../index/answers/find-answer.ts";
import { isJsonObject, type JsonObject } from "../../../lib/json-object.ts";
import { randomId } from "../../../lib/random-id.ts";
import { readSseEvents } from "../../../lib/sse.ts";
import { nowSeconds } from "../../../lib/time.ts";
import { type ChatMade, chunk, DONE, encodeChatEvent as encode, toChatUsage } from "../wire/chat-codec.ts";
import { eventStream } from "../wire/event-stream.ts";
import { asArray, asBoolean, asNumber, asObject } from "../wire/read-fields.ts";
import { badRequest } from "../wire/wire-error.ts";
import type { ChatModel, FinishReason, UrlCitation } from "./answerer.ts";
import { CitedText, withoutSources } from "./cited-text.ts";
import { fit, toParts } from "./extractive-answerer.ts";
import { createInertStream } from "./inert-markdown.ts";
import { questionsIn, readItems } from "./items.ts";
import { brokenOff, createCitationReader, passageMessages, toModelError } from "./model-answerer.ts";
import { joinByRank, searchesFor } from "./question-in-context.ts";

/** What models that search domains answer from. */
export interface DomainAnswers {
  readonly models: DomainModels;
  /** Writes the answers; undefined: they are quotes. */
  readonly model: () => ChatModel | undefined;
}

const PASSAGES = 20;

/** Searches with the last question, and with those before it, in case it leans on them. */
export async function searchInContext(
  models: DomainModels,
  model: string,
  questions: readonly string[],
  call: SearchCall,
): Promise<FoundPassages> {
  const lists = await Promise.all(
    searchesFor(questions).map(async ({ text, weight }) => {
      return { weight, ...(await models.search(model, { text, limit: PASSAGES }, call)) };
    }),
  );
  const joined = joinByRank(
    lists.map(({ weight, passages: found }) => ({ weight, found })),
    ({ fileId, text }) => `${fileId}\n${text}`,
  );
  // The longest text has the words of all of them.
  const notes = [...new Set(lists.flatMap((list) => list.notes))];
  return { passages: joined.slice(0, PASSAGES), words: lists.at(-1)?.words, notes };
}

/** Answers a chat with what its domain has. `model` is the name as the list of models has it. */
export async function answerInChat(
  parts: DomainAnswers,
  fields: Readonly<JsonObject>,
  model: string,
  call: SearchCall,
): Promise<Response> {
  const messages = readMessages(fields);
  const questions = questionsIn(readItems(messages.filter(isOfUser), "messages", "any"));
  const question = questions.at(-1);
  if (question === undefined) throw badRequest("'messages' has no text of the user to answer.", "messages");
  const streamOptions = asObject(fields["stream_options"] ?? {}, "stream_options");
  const head: ChatHead = {
    made: { id: randomId("chatcmpl-"), created: nowSeconds(), model },
    stream: asBoolean(fields["stream"] ?? false, "stream"),
    includeUsage: streamOptions["include_usage"] === true,
    maxTokens: readLimit(fields),
  };
  const found = await searchInContext(parts.models, model, questions, call);
  const { passages, notes } = found;
  const writer = parts.model();
  // Without a passage there is nothing to write from; but tools of the client may know more.
  if (!writer && wantsJson(fields)) {
    throw badRequest(
      "There is no language model here, and quotes are text: 'response_format' must be 'text'.",
      "response_format",
    );
  }
  // A program that reads JSON cannot read our sentence either.
  if (!writer || (passages.length === 0 && !hasTools(fields) && !wantsJson(fields))) {
    const search = async (text: string): Promise<FoundPassages> =>
      parts.models.search(model, { text, limit: PASSAGES }, call);
    return quoteInChat(head, questions.toReversed(), found, search);
  }
  const { body, shown } = toModelRequest(fields, messages, passages, writer);
  const request = new Request("http://model.invalid/chat/completions", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
    signal: call.signal,
  });
  const response = await writer.complete(request);
  if (!response.ok) throw await toModelError(response);
  const reader = new ChatAnswer(shown, { numbered: !wantsJson(fields), notes });
  return head.stream ? eventStream(chunksOfModel(head, response, reader)) : whole(head, response, reader);
}

interface ChatHead {
  readonly made: ChatMade;
  readonly stream: boolean;
  readonly includeUsage: boolean;
  /** null: no limit. */
  readonly maxTokens: number | null;
}

function readLimit(fields: Readonly<JsonObject>): number | null {
  const name = ["max_completion_tokens", "max_tokens"].find((one) => typeof (fields[one] ?? null) !== "object");
  if (name === undefined) return null;
  return asNumber(fields[name], name, { min: 1, max: Number.MAX_SAFE_INTEGER, integer: true });
}

function readMessages(fields: Readonly<JsonObject>): readonly JsonObject[] {
  if (fields["messages"] === undefined) throw badRequest("Missing required parameter: 'messages'.", "messages");
  // Several answers would have several lists of sources.
  asNumber(fields["n"] ?? 1, "n", { min: 1, max: 1, integer: true });
  return asArray(fields["messages"], "messages").map((one, at) => asObject(one, `messages[${at}]`));
}

function isOfUser({ role }: JsonObject): boolean {
  return role === "user";
}

function hasTools({ tools, functions }: Readonly<JsonObject>): boolean {
  return [tools, functions].some((list) => Array.isArray(list) && list.length > 0);
}

/** A program reads the answer: nothing may stand in it or behind it that the model did not write. */
function wantsJson({ response_format: format }: Readonly<JsonObject>): boolean {
  return isJsonObject(format) && String(format["type"]).startsWith("json");
}

function isForSystem({ role }: JsonObject): boolean {
  return role === "system" || role === "developer";
}

/** What the client asks for, with our rules behind its instructions, and the passages before its conversation. */
function toModelRequest(
  fields: Readonly<JsonObject>,
  messages: readonly JsonObject[],
  passages: readonly FoundPassage[],
  { name, instructions, temperature }: ChatModel,
): { readonly body: JsonObject; readonly shown: readonly FoundPassage[] } {
  const first = messages.findIndex((message) => !isForSystem(message));
  const [own, conversation] = [messages.slice(0, Math.max(first, 0)), messages.slice(Math.max(first, 0))];
  const told = own.map(({ content }) => textOf(content)).filter((text) => text !== "");
  const { messages: before, shown } = passageMessages(told.join("\n\n") || instructions, passages);
  const settings = temperature === undefined ? {} : { temperature };
  const said = conversation.map((message) => {
    const { role, content } = message;
    return role === "assistant" && typeof content === "string"
      ? { ...message, content: withoutSources(content) }
      : message;
  });
  return { body: { ...settings, ...fields, model: name, messages: [...before, ...said] }, shown };
}

function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  const parts = Array.isArray(content) ? content.filter(isJsonObject) : [];
  return parts.map(({ text }) => (typeof text === "string" ? text : "")).join("\n");
}

/** Turns what the model writes into text that cites. */
class ChatAnswer {
  readonly #cited: CitedText;
  readonly #reader: ReturnType<typeof createCitationReader>;
  readonly #inert = createInertStream();

  constructor(passages: readonly FoundPassage[], options: ConstructorParameters<typeof CitedText>[1]) {
    this.#cited = new CitedText(passages, options);
    this.#reader = createCitationReader(passages);
  }

  get annotations(): readonly object[] {
    return this.#cited.citations.map(toAnnotation);
  }

  /** Returns what is certain by now. */
  read(text: string): string {
    return this.#write(this.#reader.read(this.#inert.read(text)));
  }

  /** Returns the rest, with the list of sources; none stands behind a call of a tool: the answer comes with its result. */
  end(finish: string): string {
    const rest = this.#write(this.#reader.read(this.#inert.end())) + this.#write(this.#reader.end());
    if (finish === "tool_calls" || finish === "function_call") return rest;
    return rest + [...this.#cited.end()].map(({ text }) => text).join("");
  }

  #write(parts: Iterable<Parameters<CitedText["add"]>[0]>): string {
    let text = "";
    for (const part of parts) for (const piece of this.#cited.add(part)) text += piece.text;
    return text;
  }
}

function toAnnotation({ type, ...citation }: UrlCitation): object {
  return { type, url_citation: citation };
}

/** Without a model: quotes. `questions` has the latest first. */
async function quoteInChat(
  head: ChatHead,
  questions: readonly string[],
  found: FoundPassages,
  search: (text: string) => Promise<FoundPassages>,
): Promise<Response> {
  const quoted = await searchAnswer(questions, found, search);
  const { parts, finish } = fit(toParts(quoted), head.maxTokens);
  const passages = quoted.map(({ passage }) => passage);
  const cited = new CitedText(passages, { notes: found.notes });
  const texts = parts.map((part) => [...cited.add(part)].map(({ text }) => text).join(""));
  texts.push([...cited.end()].map(({ text }) => text).join(""));
  const content = texts.join("").trimEnd();
  const annotations = cited.citations.map(toAnnotation);
  const usage = toChatUsage(questions[0] ?? "", content);
  if (head.stream) return eventStream(chunksOfQuotes(head, texts, { annotations, usage, finish }));
  const message = { role: "assistant", content, refusal: null, annotations };
  const choices = [{ index: 0, message, logprobs: null, finish_reason: finish }];
  return Response.json({ ...head.made, object: "chat.completion", choices, usage });
}

async function* chunksOfQuotes(
  { made: common, includeUsage }: ChatHead,
  texts: readonly string[],
  { annotations, usage, finish }: { annotations: readonly object[]; usage: object; finish: FinishReason },
): AsyncGenerator<string> {
  // The protocol has it in every chunk, and counts in the last.
  const made = includeUsage ? { ...common, usage: null } : common;
  yield chunk(made, { role: "assistant", content: "", refusal: null });
  let held = "";
  for (const text of texts) {
    const all = held + text;
    const said = all.trimEnd();
    held = all.slice(said.length);
    if (said !== "") yield chunk(made, { content: said });
  }
  yield chunk(made, { annotations }, finish);
  if (includeUsage) yield encode({ ...made, object: "chat.completion.chunk", choices: [], usage });
  yield DONE;
}

/** The model's chunks as they come, tool calls and all; only text is rewritten. */
async function* chunksOfModel(head: ChatHead, response: Response, reader: ChatAnswer): AsyncGenerator<string> {
  const { made } = head;
  let isFinished = false;
  // Not every server says whose the message is, and clients insist on it.
  yield chunk(made, { role: "assistant", content: "" });
  for await (const body of bodiesOf(response)) {
    if (isJsonObject(body["error"])) {
      yield encode(body);
      return;
    }
    const [choice] = asChoices(body);
    const common: JsonObject = { ...body, ...made, object: "chat.completion.chunk" };
    if (!choice) {
      yield encode(common);
      continue;
    }
    const { delta: given, message, finish_reason: finish, ...others } = choice;
    // A server that does not stream answers with the whole message.
    const delta: JsonObject = isJsonObject(given) ? given : isJsonObject(message) ? message : {};
    const { content, role: _said, annotations: _theirs, ...rest } = delta;
    const text = typeof content === "string" ? reader.read(content) : "";
    const isOver = typeof finish === "string" && finish !== "";
    const shown = text + (isOver ? reader.end(finish) : "");
    if (shown !== "" || Object.keys(rest).length > 0) {
      const delta = { ...rest, ...(shown !== "" && { content: shown }) };
      const { usage: _atTheEnd, ...early } = common;
      yield encode({ ...(isOver ? early : common), choices: [{ ...others, delta, finish_reason: null }] });
    }
    if (!isOver) continue;
    isFinished = true;
    const last = { annotations: reader.annotations };
    yield encode({ ...common, choices: [{ ...others, delta: last, finish_reason: finish }] });
  }
  // An ordinary end would make half an answer look like a whole one.
  if (!isFinished) throw brokenOff();
  yield DONE;
}

async function* bodiesOf(response: Response): AsyncGenerator<JsonObject> {
  if (!response.headers.get("content-type")?.includes("text/event-stream")) {
    const body: unknown = await response.json().catch(() => undefined);
    if (isJsonObject(body)) yield body;
    return;
  }
  try {
    for await (const { data } of readSseEvents(response.body ?? new ReadableStream())) {
      if (data === "[DONE]") return;
      const body: unknown = JSON.parse(data);
      if (isJsonObject(body)) yield body;
    }
  } catch (error) {
    throw error instanceof RemoteError ? error : brokenOff(error);
  }
}

function asChoices({ choices }: JsonObject): readonly JsonObject[] {
  return Array.isArray(choices) ? choices.filter(isJsonObject) : [];
}

async function whole({ made }: ChatHead, response: Response, reader: ChatAnswer): Promise<Response> {
  const body: unknown = await response.json().catch(() => undefined);
  const [choice] = isJsonObject(body) ? asChoices(body) : [];
  if (!isJsonObject(body) || !choice) throw brokenOff();
  const message: JsonObject = isJsonObject(choice["message"]) ? choice["message"] : {};
  const finish = String(choice["finish_reason"] ?? "stop");
  const said = typeof message["content"] === "string" ? reader.read(message["content"]) + reader.end(finish) : null;
  const shown = { role: "assistant", refusal: null, ...message, content: said, annotations: reader.annotations };
  const choices = [{ logprobs: null, ...choice, message: shown }];
  return Response.json({ ...body, ...made, object: "chat.completion", choices });
}
