import type { SearchHit } from "../../../contracts/search-index.ts";
import { randomId } from "../../../index/storage/random-id.ts";
import type { AnswerPart } from "./answerer.ts";
import { type Include, type Item, showItem } from "./items.ts";

import type { ResponseRequest } from "./read-response-request.ts";
import type { StoredResponse } from "./responses.ts";

/** Responses as the wire protocol spells them. Clients rely on fields that are not null where they could be left out. */

export interface Usage {
  readonly inputTokens: number;
  readonly outputTokens: number;
}

export function toResponse(
  request: ResponseRequest,
  made: {
    readonly id: string;
    readonly createdAt: number;
    readonly completedAt: number;
    readonly output: readonly Item[];
    readonly usage: Usage;
    readonly cutShort: boolean;
  },
): StoredResponse["response"] {
  const { conversationId } = request;
  return {
    id: made.id,
    object: "response",
    created_at: made.createdAt,
    completed_at: made.completedAt,
    status: made.cutShort ? "incomplete" : "completed",
    error: null,
    incomplete_details: made.cutShort ? { reason: "max_output_tokens" } : null,
    instructions: request.instructions,
    model: request.model,
    output: made.output,
    access_programs: null,
    conversation: conversationId === null ? null : { id: conversationId },
    frequency_penalty: 0,
    max_output_tokens: request.maxOutputTokens,
    presence_penalty: 0,
    previous_response_id: request.previousId,
    reasoning: { effort: null, summary: null },
    service_tier: "default",
    store: request.store,
    usage: toUsage(made.usage),
    ...request.settings,
  };
}

/** As somebody sees it who asked for these extras. */
export function showResponse(response: StoredResponse["response"], include: Include): StoredResponse["response"] {
  return { ...response, output: response.output.map((item) => showItem(item, include)) };
}

export function toSearchCall(question: string, hits: readonly SearchHit[]): Item {
  return {
    id: randomId("fs_"),
    type: "file_search_call",
    status: "completed",
    queries: [question],
    results: hits.map((hit) => ({
      file_id: hit.fileId,
      filename: hit.name,
      score: hit.score,
      attributes: hit.attributes,
      text: hit.text,
    })),
  };
}

/** The parts one after the other; a citation stands where its part ends. */
export function toMessage(parts: readonly AnswerPart[], status: "completed" | "incomplete"): Item {
  let text = "";
  const annotations: object[] = [];
  for (const part of parts) {
    text += part.text;
    if (!part.from) continue;
    const { fileId, filename } = part.from;
    annotations.push({ type: "file_citation", index: text.trimEnd().length, file_id: fileId, filename });
  }
  const content = [{ type: "output_text", text: text.trimEnd(), annotations, logprobs: [] }];
  return { id: randomId("msg_"), type: "message", status, role: "assistant", content };
}

function toUsage({ inputTokens, outputTokens }: Usage): object {
  return {
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: inputTokens + outputTokens,
  };
}
