import type { FileId } from "../../../contracts/ids.ts";
import type { SearchHit } from "../../../contracts/search-index.ts";
import { randomId } from "../../../lib/random-id.ts";
import type { AnswerPart } from "./answerer.ts";
import { type Include, type Item, showItem } from "./items.ts";

import type { ResponseRequest } from "./read-response-request.ts";
import type { StoredResponse } from "./responses.ts";

/** Responses as the wire protocol spells them. Clients rely on fields that are not null where they could be left out. */

export interface Usage {
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/** What became of a request so far. */
export interface Made {
  readonly id: string;
  readonly createdAt: number;
  readonly status: "in_progress" | "completed" | "incomplete" | "failed";
  /** null: not yet, or never. */
  readonly completedAt: number | null;
  readonly output: readonly Item[];
  readonly usage: Usage | null;
  /** Why it failed, for people; "" when it did not. */
  readonly failure: string;
}

export function toResponse(request: ResponseRequest, made: Made): StoredResponse["response"] {
  const { conversationId } = request;
  return {
    id: made.id,
    object: "response",
    created_at: made.createdAt,
    completed_at: made.completedAt,
    status: made.status,
    error: made.failure === "" ? null : { code: "server_error", message: made.failure },
    incomplete_details: made.status === "incomplete" ? { reason: "max_output_tokens" } : null,
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
    usage: made.usage && toUsage(made.usage),
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

export interface OutputText {
  readonly type: "output_text";
  readonly text: string;
  readonly annotations: readonly FileCitation[];
  readonly logprobs: readonly never[];
}

export interface FileCitation {
  readonly type: "file_citation";
  readonly index: number;
  readonly file_id: FileId;
  readonly filename: string;
}

export interface OutputTextWriter {
  /** What the part adds to the text, and to the citations. */
  add(part: AnswerPart): { readonly delta: string; readonly annotation: FileCitation | undefined };
  content(): OutputText;
}

/**
 * The parts one after the other; a citation stands where its part ends. Blanks at the end wait for what follows them,
 * because a finished text has none.
 */
export function createOutputText(): OutputTextWriter {
  let text = "";
  let blanks = "";
  const annotations: FileCitation[] = [];
  return {
    add({ text: more, from }) {
      const all = blanks + more;
      const delta = all.trimEnd();
      blanks = all.slice(delta.length);
      text += delta;
      const annotation: FileCitation | undefined = from && {
        type: "file_citation",
        index: text.length,
        file_id: from.fileId,
        filename: from.filename,
      };
      if (annotation) annotations.push(annotation);
      return { delta, annotation };
    },
    content: () => ({ type: "output_text", text, annotations: [...annotations], logprobs: [] }),
  };
}

export function toMessage(
  id: string,
  content: readonly OutputText[],
  status: "in_progress" | "completed" | "incomplete",
): Item {
  return { id, type: "message", status, role: "assistant", content };
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
