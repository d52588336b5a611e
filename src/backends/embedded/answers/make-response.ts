import type { SearchHit } from "../../../contracts/search-index.ts";
import { estimateTokens } from "../../../index/chunk/estimate-tokens.ts";
import { randomId } from "../../../index/storage/random-id.ts";
import type { Sql } from "../../../lib/sql/sql.ts";
import { badRequest, notFound } from "../wire/wire-error.ts";
import type { AnswerParts } from "./answer-parts.ts";
import type { AnswerPart, Passage } from "./answerer.ts";
import { appendItems, findConversation, itemsOf } from "./conversations.ts";
import { type Item, lastQuestion, textOfItem } from "./items.ts";

import type { ResponseRequest } from "./read-response-request.ts";
import { toMessage, toResponse, toSearchCall } from "./response-codec.ts";
import { chainOf, findResponse, insertResponse, type StoredResponse } from "./responses.ts";
import { searchPassages } from "./search-passages.ts";

/** Searches, answers, and keeps the outcome where the request says: as a response, in a conversation, or nowhere. */
export async function makeResponse(
  parts: AnswerParts,
  request: ResponseRequest,
  signal: AbortSignal,
): Promise<StoredResponse["response"]> {
  const createdAt = nowSeconds();
  const context = [...(await historyOf(parts.db, request)), ...request.input];
  const question = lastQuestion(context);
  if (question === undefined) throw badRequest("'input' has no message of the user to answer.", "input");
  const found: SearchHit[][] = [];
  for (const search of request.searches) found.push(await searchPassages(parts, search, question));
  const passages = request.searches.length > 0 ? toPassages(found.flat()) : undefined;
  const answer = await parts.answerer.answer(question, passages, signal);
  const { kept, cutShort } = fit(answer, request.maxOutputTokens);
  const response = toResponse(request, {
    id: randomId("resp_"),
    createdAt,
    completedAt: nowSeconds(),
    output: [
      ...found.map((hits) => toSearchCall(question, hits)),
      toMessage(kept, cutShort ? "incomplete" : "completed"),
    ],
    usage: {
      inputTokens: countInput(context, request.instructions) + tokensOf((passages ?? []).map(({ text }) => text)),
      outputTokens: tokensOf(kept.map(({ text }) => text)),
    },
    cutShort,
  });
  await keep(parts, request, { response, createdAt });
  return response;
}

/** What was said before: in the conversation, or up to the previous response. */
export async function historyOf(
  sql: Sql,
  { previousId, conversationId }: Pick<ResponseRequest, "previousId" | "conversationId">,
): Promise<Item[]> {
  if (previousId !== null) {
    const previous = await findResponse(sql, previousId);
    if (!previous) throw notFound(`Previous response with id '${previousId}' not found.`);
    return chainOf(sql, previous);
  }
  if (conversationId === null) return [];
  if (!(await findConversation(sql, conversationId))) throw noSuchConversation(conversationId);
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

/** Parts are never cut: a sentence without its end may say the opposite. */
function fit(answer: readonly AnswerPart[], maxTokens: number | null): { kept: AnswerPart[]; cutShort: boolean } {
  const kept: AnswerPart[] = [];
  let left = maxTokens ?? Number.POSITIVE_INFINITY;
  for (const part of answer) {
    left -= estimateTokens(part.text);
    if (left < 0) return { kept, cutShort: true };
    kept.push(part);
  }
  return { kept, cutShort: false };
}

async function keep(
  { db }: AnswerParts,
  request: ResponseRequest,
  { response, createdAt }: { response: StoredResponse["response"]; createdAt: number },
): Promise<void> {
  const { conversationId, previousId, input, store } = request;
  if (!store && conversationId === null) return;
  await db.write(async (sql) => {
    if (store) await insertResponse(sql, { id: String(response["id"]), createdAt, previousId, response, input });
    if (conversationId === null) return;
    const items = [...input, ...response.output];
    if (!(await appendItems(sql, conversationId, items))) throw noSuchConversation(conversationId);
  });
}

function nowSeconds(): number {
  return Math.floor(Date.now() / 1000);
}
