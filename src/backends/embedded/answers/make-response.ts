import { type Asker, askerOf, type Principal } from "../../../contracts/access.ts";
import type { SearchCall } from "../../../contracts/domain-models.ts";
import type { SearchHit } from "../../../contracts/search-index.ts";
import { estimateTokens } from "../../../index/estimate-tokens.ts";
import { randomId } from "../../../lib/random-id.ts";
import { nowSeconds } from "../../../lib/time.ts";
import { badRequest, notFound } from "../wire/wire-error.ts";
import type { AnswerContext } from "./answer-context.ts";
import type { Answer, Passage } from "./answerer.ts";
import { CitedText } from "./cited-text.ts";
import { appendItems, checkItems, checkRoom, findConversation, itemsOf } from "./conversations.ts";
import { type DomainAnswers, searchInContext } from "./domain-chat.ts";
import { createExtractiveAnswerer, EXTRACTIVE_MODEL } from "./extractive-answerer.ts";
import { type Item, lastQuestion, questionsIn, showItem, textOfItem } from "./items.ts";
import { createModelAnswerer } from "./model-answerer.ts";
import type { FileSearch, ResponseRequest } from "./read-response-request.ts";
import {
  closingEvent,
  messageEvents,
  openingEvents,
  type ResponseEvent,
  searchEvents,
  showResponse,
  toResponse,
  toSearchCall,
} from "./response-codec.ts";
import { chainOf, findResponse, insertResponse, type StoredResponse } from "./responses.ts";

type Stored = StoredResponse["response"];

/**
 * Searches and starts the answer; rejects if that fails, before anything was sent. The generator then yields events as the
 * answer comes. At its end the response is stored where the request says (as a response, in a conversation, or nowhere) and
 * returned; an answer that broke off is `failed`.
 */
export async function beginResponse(
  parts: AnswerContext,
  request: ResponseRequest,
  { by, signal }: { readonly by: Principal | undefined; readonly signal: AbortSignal },
): Promise<AsyncGenerator<ResponseEvent, Stored>> {
  const asker = askerOf(by);
  const createdAt = nowSeconds();
  const context = [...(await historyOf(parts, request, asker)), ...request.input];
  const text = lastQuestion(context);
  if (text === undefined) throw badRequest("'input' has no message of the user to answer.", "input");
  const found: SearchHit[][] = [];
  for (const search of request.searches) found.push(await searchPassages(parts, search, { text, by, signal }));
  const passages = request.searches.length > 0 ? toPassages(found.flat()) : undefined;
  const { model, instructions, maxOutputTokens: maxTokens, sampling } = request;
  // Only quotes are judged by them.
  const [storeId] = model === EXTRACTIVE_MODEL ? request.searches.flatMap(({ storeIds }) => storeIds) : [];
  const words = storeId === undefined ? undefined : await parts.countWords(storeId, text);
  const question = { text, context, passages, words, model, instructions, maxTokens, sampling };
  const answer = await parts.answerers.of(model).answer(question, signal);
  const inputTokens = countInput(context, instructions) + tokensOf((passages ?? []).map((one) => one.text));
  return respond(parts, request, {
    owner: asker.owner,
    createdAt,
    calls: found.map((hits) => toSearchCall(text, hits)),
    answer,
    inputTokens,
  });
}

/** The same for a model that searches domains: the answer cites addresses, and ends with a list of its sources. */
export async function beginDomainResponse(
  parts: ResponseParts & DomainAnswers,
  request: ResponseRequest,
  call: SearchCall,
): Promise<AsyncGenerator<ResponseEvent, Stored>> {
  const asker = askerOf(call.by);
  const createdAt = nowSeconds();
  const context = [...(await historyOf(parts, request, asker)), ...request.input];
  const questions = questionsIn(context);
  const text = questions.at(-1);
  if (text === undefined) throw badRequest("'input' has no message of the user to answer.", "input");
  const { passages, words, notes } = await searchInContext(parts.models, request.model, questions, call);
  const { instructions, maxOutputTokens: maxTokens, sampling } = request;
  const earlier = questions.slice(0, -1).reverse();
  const writer = parts.model();
  const asked = { text, earlier, context, passages, words };
  const question = { ...asked, model: writer?.name ?? "", instructions, maxTokens, sampling };
  // Without a passage there is nothing to write from, whatever a model makes of it.
  const answerer = writer && passages.length > 0 ? createModelAnswerer(writer) : createExtractiveAnswerer();
  const answer = withSources(await answerer.answer(question, call.signal), new CitedText(passages, { notes }));
  const inputTokens = countInput(context, instructions) + tokensOf(passages.map((one) => one.text));
  const found = toSearchCall(
    text,
    passages.map(({ filename: name, ...passage }) => ({ ...passage, name, sectionPath: "" })),
  );
  return respond(parts, request, { owner: asker.owner, createdAt, calls: [found], answer, inputTokens });
}

/** Cites the addresses of passages instead of their files. */
async function* withSources(answer: Answer, cited: CitedText): Answer {
  try {
    for (;;) {
      const next = await answer.next();
      if (!next.done) {
        yield* cited.add(next.value);
        continue;
      }
      yield* cited.end();
      return next.value;
    }
  } finally {
    await answer.return("length");
  }
}

/** Where responses are kept; undefined: nowhere, because a remote backend keeps its own. */
interface ResponseParts extends Pick<AnswerContext, "quota"> {
  readonly db: AnswerContext["db"] | undefined;
}

interface StartedAnswer {
  readonly owner: string | null;
  readonly createdAt: number;
  readonly calls: readonly Item[];
  readonly answer: Answer;
  readonly inputTokens: number;
}

async function* respond(
  parts: ResponseParts,
  request: ResponseRequest,
  begun: StartedAnswer,
): AsyncGenerator<ResponseEvent, Stored> {
  const { owner, createdAt, calls, answer, inputTokens } = begun;
  const id = randomId("resp_");
  const blank = { id, createdAt, completedAt: null, output: [], usage: null, failure: "" };
  yield* openingEvents(toResponse(request, { ...blank, status: "in_progress" }));
  for (const [at, call] of calls.entries()) yield* searchEvents(showItem(call, request.include), at);
  const { item, ending } = yield* messageEvents(randomId("msg_"), calls.length, answer);
  const failure = typeof ending === "object" ? ending.failure : "";
  const response = toResponse(request, {
    ...blank,
    status: typeof ending === "object" ? "failed" : ending === "length" ? "incomplete" : "completed",
    completedAt: failure === "" ? nowSeconds() : null,
    output: [...calls, item],
    usage: { inputTokens, outputTokens: tokensOf([textOfItem(item)]) },
    failure,
  });
  // A client that does not stream gets the error instead of an id.
  if (failure === "" || request.stream) await storeResponse(parts, request, { response, createdAt, owner });
  const shown = showResponse(response, request.include);
  yield closingEvent(shown);
  return shown;
}

/** Returns the earlier messages: of the conversation, or up to the previous response. */
export async function historyOf(
  { db: sql, quota }: ResponseParts,
  { previousId, conversationId, input }: Pick<ResponseRequest, "previousId" | "conversationId" | "input">,
  asker: Asker,
): Promise<Item[]> {
  if (sql === undefined) {
    if (previousId === null && conversationId === null) return [];
    throw badRequest(
      "With this backend, a model that searches domains keeps no responses: send the whole conversation as 'input'.",
      previousId === null ? "conversation" : "previous_response_id",
    );
  }
  if (previousId !== null) {
    const previous = await findResponse(sql, previousId, asker);
    if (!previous) throw notFound(`Previous response with id '${previousId}' not found.`);
    return chainOf(sql, previous, asker);
  }
  if (conversationId === null) return [];
  const conversation = await findConversation(sql, conversationId, asker);
  if (!conversation) throw noSuchConversation(conversationId);
  checkItems(input, conversation, asker);
  await checkRoom(sql, conversation.owner, quota);
  return itemsOf(sql, conversationId);
}

export function noSuchConversation(id: string): Error {
  return notFound(`Conversation with id '${id}' not found.`);
}

export function countInput(context: readonly Item[], instructions: string | null): number {
  return tokensOf([...context.map(textOfItem), instructions ?? ""]);
}

function tokensOf(texts: readonly string[]): number {
  return Math.ceil(texts.reduce((sum, text) => sum + estimateTokens(text), 0));
}

/** Sorts the hits of all searches, best first. */
function toPassages(hits: readonly SearchHit[]): Passage[] {
  return hits
    .map(({ fileId, name, text, score }) => ({ fileId, filename: name, text, score }))
    .sort((a, b) => b.score - a.score);
}

async function storeResponse(
  { db, quota }: ResponseParts,
  request: ResponseRequest,
  { response, createdAt, owner }: Pick<StoredResponse, "response" | "createdAt" | "owner">,
): Promise<void> {
  const { conversationId, previousId, input, store } = request;
  if (!db || (!store && conversationId === null)) return;
  await db.write(async (sql) => {
    const id = String(response["id"]);
    if (store) await insertResponse(sql, { id, createdAt, previousId, response, input, owner }, quota);
    if (conversationId === null || response["status"] === "failed") return;
    const items = [...input, ...response.output];
    if (!(await appendItems(sql, conversationId, items))) throw noSuchConversation(conversationId);
  });
}

/** The question, its caller, and the signal that ends the search. */
export interface SearchRequest {
  readonly text: string;
  readonly by: Principal | undefined;
  readonly signal: AbortSignal;
}

/** Hits to fetch per store if the request has weights: they reorder what was found. */
const MOST_HITS = 50;

/** Runs a file_search over all its stores. Returns the best hits, at most its limit. */
async function searchPassages(
  parts: Pick<AnswerContext, "search">,
  { storeIds, query, weights }: FileSearch,
  { text: question, by, signal }: SearchRequest,
): Promise<SearchHit[]> {
  const { limit, scoreThreshold = 0 } = query;
  const asked = { ...query, text: question, signal, ...(weights && using(weights)) };
  let hits: SearchHit[] = [];
  for (const id of new Set(storeIds)) {
    const found = await parts.search(id, asked, by);
    hits = [...hits, ...(weights ? weigh(found, weights) : found)]
      .filter(({ score }) => score >= scoreThreshold)
      .sort((a, b) => b.score - a.score)
      .slice(0, limit);
  }
  return hits;
}

function using({ text, vector }: NonNullable<FileSearch["weights"]>): object {
  if (vector === 0) return { using: "text" };
  if (text === 0) return { using: "vectors" };
  return { limit: MOST_HITS, scoreThreshold: 0 };
}

/** Reweighs scores. Their parts are relative to the best hit of the search, whose absolute score is kept. */
function weigh(hits: readonly SearchHit[], { text, vector }: NonNullable<FileSearch["weights"]>): SearchHit[] {
  const best = hits.reduce((most, { score }) => Math.max(most, score), 0);
  return hits.map((hit) => {
    if (!hit.details || text === 0 || vector === 0) return hit;
    const { parts } = hit.details;
    return { ...hit, score: (best * (text * parts.text + vector * parts.vector)) / (text + vector) };
  });
}
