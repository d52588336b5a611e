import { RemoteError } from "../../../contracts/errors.ts";
import type { FileId } from "../../../contracts/ids.ts";
import type { SearchHit } from "../../../contracts/search-index.ts";
import type { JsonObject } from "../../../lib/json-object.ts";
import { randomId } from "../../../lib/random-id.ts";
import type { Answer, AnswerPart, FinishReason, UrlCitation } from "./answerer.ts";
import { type Include, type Item, showItem } from "./items.ts";
import type { ResponseRequest } from "./read-response-request.ts";
import type { StoredResponse } from "./responses.ts";

/** Responses as the wire protocol spells them. Clients rely on fields that are not null where they could be left out. */

interface Usage {
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/** State of a response. */
interface ResponseState {
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

export function toResponse(request: ResponseRequest, made: ResponseState): StoredResponse["response"] {
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

/** Returns the response with the requested extras only. */
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

interface OutputText {
  readonly type: "output_text";
  readonly text: string;
  readonly annotations: readonly Citation[];
  readonly logprobs: readonly never[];
}

interface FileCitation {
  readonly type: "file_citation";
  readonly index: number;
  readonly file_id: FileId;
  readonly filename: string;
}

type Citation = FileCitation | UrlCitation;

interface OutputTextWriter {
  /** Returns what the part adds to the text, and to the citations. */
  add(part: AnswerPart): { readonly delta: string; readonly annotation: Citation | undefined };
  content(): OutputText;
}

/**
 * Joins the parts; a citation is placed where its part ends. Trailing blanks are held back until more text follows, because a
 * finished text has none.
 */
function createOutputText(): OutputTextWriter {
  let text = "";
  let blanks = "";
  const annotations: Citation[] = [];
  return {
    add({ text: more, from, citation }) {
      const all = blanks + more;
      const delta = all.trimEnd();
      blanks = all.slice(delta.length);
      text += delta;
      const annotation: Citation | undefined =
        citation ??
        (from && { type: "file_citation", index: text.length, file_id: from.fileId, filename: from.filename });
      if (annotation) annotations.push(annotation);
      return { delta, annotation };
    },
    content: () => ({ type: "output_text", text, annotations: [...annotations], logprobs: [] }),
  };
}

function toMessage(
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

/** One event of a streamed response; it gets its sequence number when it is sent. */
export type ResponseEvent = JsonObject & { readonly type: string };

type Shown = StoredResponse["response"];

/** Replays the events of a finished response. */
export async function* eventsOf(response: Shown): AsyncGenerator<ResponseEvent, void> {
  yield* openingEvents(response);
  for (const [at, item] of response.output.entries()) {
    if (item.type === "message") yield* messageEvents(item.id, at, partsOf(item));
    else yield* searchEvents(item, at);
  }
  yield closingEvent(response);
}

export function* openingEvents(response: Shown): Generator<ResponseEvent, void> {
  const nothingYet = { completed_at: null, error: null, incomplete_details: null, output: [], usage: null };
  const begun = { ...response, status: "in_progress", ...nothingYet };
  yield { type: "response.created", response: begun };
  yield { type: "response.in_progress", response: begun };
}

export function closingEvent(response: Shown): ResponseEvent {
  return { type: `response.${response["status"]}`, response };
}

export function* searchEvents(item: Item, at: number): Generator<ResponseEvent, void> {
  const begun = { ...item, status: "in_progress", results: null };
  yield { type: "response.output_item.added", output_index: at, item: begun };
  for (const state of ["in_progress", "searching", "completed"]) {
    yield { type: `response.file_search_call.${state}`, item_id: item.id, output_index: at };
  }
  yield { type: "response.output_item.done", output_index: at, item };
}

/** The message as far as it got, and how it ended: `failure` is why it broke off, for people. */
interface MessageOutcome {
  readonly item: Item;
  readonly ending: FinishReason | { readonly failure: string };
}

/** Streams the events of a message, each part as soon as it is there. */
export async function* messageEvents(
  id: string,
  at: number,
  answer: Answer,
): AsyncGenerator<ResponseEvent, MessageOutcome> {
  const here = { item_id: id, output_index: at, content_index: 0 };
  const writer = createOutputText();
  let cited = 0;
  const eventsOfPart = function* (part: AnswerPart): Generator<ResponseEvent, void> {
    const { delta, annotation } = writer.add(part);
    if (delta !== "") yield { type: "response.output_text.delta", ...here, delta, logprobs: [] };
    if (!annotation) return;
    yield { type: "response.output_text.annotation.added", ...here, annotation_index: cited++, annotation };
  };
  yield { type: "response.output_item.added", output_index: at, item: toMessage(id, [], "in_progress") };
  yield { type: "response.content_part.added", ...here, part: writer.content() };
  const ending = yield* partEvents(answer, eventsOfPart);
  const part = writer.content();
  const item = toMessage(id, [part], ending === "stop" ? "completed" : "incomplete");
  if (typeof ending === "object") return { item, ending };
  yield { type: "response.output_text.done", ...here, text: part.text, logprobs: [] };
  yield { type: "response.content_part.done", ...here, part };
  yield { type: "response.output_item.done", output_index: at, item };
  return { item, ending };
}

/** Ends the answer when the client leaves. */
async function* partEvents(
  answer: Answer,
  eventsOfPart: (part: AnswerPart) => Generator<ResponseEvent, void>,
): AsyncGenerator<ResponseEvent, MessageOutcome["ending"]> {
  try {
    for (;;) {
      const next = await answer.next();
      if (next.done) return next.value;
      yield* eventsOfPart(next.value);
    }
  } catch (error) {
    if (error instanceof RemoteError) return { failure: error.message };
    throw error;
  } finally {
    await answer.return("length");
  }
}

/** Returns the parts of a stored message. */
async function* partsOf(item: Item): Answer {
  const [{ text, annotations }] = item["content"] as readonly [OutputText];
  let at = 0;
  for (const annotation of annotations) {
    const end = annotation.type === "url_citation" ? annotation.end_index : annotation.index;
    const said = text.slice(at, end);
    at = Math.max(at, end);
    if (annotation.type === "url_citation") yield { text: said, citation: annotation };
    else yield { text: said, from: { fileId: annotation.file_id, filename: annotation.filename, text: "" } };
  }
  yield { text: text.slice(at) };
  return item["status"] === "incomplete" ? "length" : "stop";
}
