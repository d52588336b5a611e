import { type Asker, askerOf, type Principal } from "../../../contracts/access.ts";
import type { SearchHit } from "../../../contracts/search-index.ts";
import { estimateTokens } from "../../../index/estimate-tokens.ts";
import { randomId } from "../../../lib/random-id.ts";
import { nowSeconds } from "../../../lib/time.ts";
import { badRequest, notFound } from "../wire/wire-error.ts";
import type { AnswerParts } from "./answer-context.ts";
import type { Answer, Passage } from "./answerer.ts";
import { appendItems, checkItems, checkRoom, findConversation, itemsOf } from "./conversations.ts";
import { type Item, lastQuestion, showItem, textOfItem } from "./items.ts";
import type { FileSearch, ResponseRequest } from "./read-response-request.ts";
import {
  closingStep,
  messageSteps,
  openingSteps,
  type Step,
  searchSteps,
  showResponse,
  toResponse,
  toSearchCall,
} from "./response-codec.ts";
import { chainOf, findResponse, insertResponse, type StoredResponse } from "./responses.ts";

type Stored = StoredResponse["response"];

/**
 * Searches, and has the answer begun: whatever keeps it from that rejects, and nobody was told anything yet. Then the events
 * come as the answer does. At its end the outcome is kept where the request says (as a response, in a conversation, or
 * nowhere) and returned; one that broke off is `failed`.
 */
export async function beginResponse(
  parts: AnswerParts,
  request: ResponseRequest,
  { by, signal }: { readonly by: Principal | undefined; readonly signal: AbortSignal },
): Promise<AsyncGenerator<Step, Stored>> {
  const asker = askerOf(by);
  const createdAt = nowSeconds();
  const context = [...(await historyOf(parts, request, asker)), ...request.input];
  const text = lastQuestion(context);
  if (text === undefined) throw badRequest("'input' has no message of the user to answer.", "input");
  const answerer = parts.answerers.of(request.model);
  const found: SearchHit[][] = [];
  for (const search of request.searches) found.push(await searchPassages(parts, search, { text, by, signal }));
  const passages = request.searches.length > 0 ? toPassages(found.flat()) : undefined;
  const { model, instructions, maxOutputTokens: maxTokens, sampling } = request;
  const question = { text, context, passages, model, instructions, maxTokens, sampling };
  const answer = await answerer.answer(question, signal);
  const inputTokens = countInput(context, instructions) + tokensOf((passages ?? []).map((one) => one.text));
  return respond(parts, request, {
    owner: asker.owner,
    createdAt,
    calls: found.map((hits) => toSearchCall(text, hits)),
    answer,
    inputTokens,
  });
}

interface Begun {
  readonly owner: string | null;
  readonly createdAt: number;
  readonly calls: readonly Item[];
  readonly answer: Answer;
  readonly inputTokens: number;
}

async function* respond(parts: AnswerParts, request: ResponseRequest, begun: Begun): AsyncGenerator<Step, Stored> {
  const { owner, createdAt, calls, answer, inputTokens } = begun;
  const id = randomId("resp_");
  const blank = { id, createdAt, completedAt: null, output: [], usage: null, failure: "" };
  yield* openingSteps(toResponse(request, { ...blank, status: "in_progress" }));
  for (const [at, call] of calls.entries()) yield* searchSteps(showItem(call, request.include), at);
  const { item, ending } = yield* messageSteps(randomId("msg_"), calls.length, answer);
  const failure = "failure" in ending ? ending.failure : "";
  const response = toResponse(request, {
    ...blank,
    status: "failure" in ending ? "failed" : ending.cutShort ? "incomplete" : "completed",
    completedAt: failure === "" ? nowSeconds() : null,
    output: [...calls, item],
    usage: { inputTokens, outputTokens: tokensOf([textOfItem(item)]) },
    failure,
  });
  // Who does not stream learns of the failure instead of an id.
  if (failure === "" || request.stream) await keep(parts, request, { response, createdAt, owner });
  const shown = showResponse(response, request.include);
  yield closingStep(shown);
  return shown;
}

/** What was said before: in the conversation, or up to the previous response. */
export async function historyOf(
  { db: sql, quota }: Pick<AnswerParts, "db" | "quota">,
  { previousId, conversationId, input }: Pick<ResponseRequest, "previousId" | "conversationId" | "input">,
  asker: Asker,
): Promise<Item[]> {
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

/** Best first, whichever search found it. */
function toPassages(hits: readonly SearchHit[]): Passage[] {
  return hits
    .map(({ fileId, name, text, score }) => ({ fileId, filename: name, text, score }))
    .sort((a, b) => b.score - a.score);
}

async function keep(
  { db, quota }: AnswerParts,
  request: ResponseRequest,
  { response, createdAt, owner }: Pick<StoredResponse, "response" | "createdAt" | "owner">,
): Promise<void> {
  const { conversationId, previousId, input, store } = request;
  if (!store && conversationId === null) return;
  await db.write(async (sql) => {
    const id = String(response["id"]);
    if (store) await insertResponse(sql, { id, createdAt, previousId, response, input, owner }, quota);
    if (conversationId === null || response["status"] === "failed") return;
    const items = [...input, ...response.output];
    if (!(await appendItems(sql, conversationId, items))) throw noSuchConversation(conversationId);
  });
}

export interface Asked {
  readonly text: string;
  readonly by: Principal | undefined;
  readonly signal: AbortSignal;
}

/** Weights order what was found; enough has to be found first. */
const MOST_HITS = 50;

/** What a file_search finds in all its stores, best first, as many as it asked for. */
async function searchPassages(
  parts: Pick<AnswerParts, "search">,
  { storeIds, query, weights }: FileSearch,
  { text: question, by, signal }: Asked,
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

/** The parts of a score are relative to the best of their search; how good that one is stays as the index judged it. */
function weigh(hits: readonly SearchHit[], { text, vector }: NonNullable<FileSearch["weights"]>): SearchHit[] {
  const best = hits.reduce((most, { score }) => Math.max(most, score), 0);
  return hits.map((hit) => {
    if (!hit.details || text === 0 || vector === 0) return hit;
    const { parts } = hit.details;
    return { ...hit, score: (best * (text * parts.text + vector * parts.vector)) / (text + vector) };
  });
}
