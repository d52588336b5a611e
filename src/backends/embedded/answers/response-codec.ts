import { RemoteError } from "../../../contracts/errors.ts";
import type { FileId } from "../../../contracts/ids.ts";
import type { SearchHit } from "../../../contracts/search-index.ts";
import type { JsonObject } from "../../../lib/json-object.ts";
import { randomId } from "../../../lib/random-id.ts";
import type { Answer, AnswerPart, Ending } from "./answerer.ts";
import { type Include, type Item, showItem } from "./items.ts";
import type { ResponseRequest } from "./read-response-request.ts";
import type { StoredResponse } from "./responses.ts";

/** Responses as the wire protocol spells them. Clients rely on fields that are not null where they could be left out. */

interface Usage {
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/** What became of a request so far. */
interface Made {
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

interface OutputText {
  readonly type: "output_text";
  readonly text: string;
  readonly annotations: readonly FileCitation[];
  readonly logprobs: readonly never[];
}

interface FileCitation {
  readonly type: "file_citation";
  readonly index: number;
  readonly file_id: FileId;
  readonly filename: string;
}

interface OutputTextWriter {
  /** What the part adds to the text, and to the citations. */
  add(part: AnswerPart): { readonly delta: string; readonly annotation: FileCitation | undefined };
  content(): OutputText;
}

/**
 * The parts one after the other; a citation stands where its part ends. Blanks at the end wait for what follows them,
 * because a finished text has none.
 */
function createOutputText(): OutputTextWriter {
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

/** One event of a streamed response, as the wire protocol spells it; its number comes when it is sent. */
export type Step = JsonObject & { readonly type: string };

type Shown = StoredResponse["response"];

/** The events that lead to a finished response: whoever adds them up has the very same one. */
export async function* eventsOf(response: Shown): AsyncGenerator<Step, void> {
  yield* openingSteps(response);
  for (const [at, item] of response.output.entries()) {
    if (item.type === "message") yield* messageSteps(item.id, at, partsOf(item));
    else yield* searchSteps(item, at);
  }
  yield closingStep(response);
}

export function* openingSteps(response: Shown): Generator<Step, void> {
  const nothingYet = { completed_at: null, error: null, incomplete_details: null, output: [], usage: null };
  const begun = { ...response, status: "in_progress", ...nothingYet };
  yield { type: "response.created", response: begun };
  yield { type: "response.in_progress", response: begun };
}

export function closingStep(response: Shown): Step {
  return { type: `response.${response["status"]}`, response };
}

export function* searchSteps(item: Item, at: number): Generator<Step, void> {
  const begun = { ...item, status: "in_progress", results: null };
  yield { type: "response.output_item.added", output_index: at, item: begun };
  for (const state of ["in_progress", "searching", "completed"]) {
    yield { type: `response.file_search_call.${state}`, item_id: item.id, output_index: at };
  }
  yield { type: "response.output_item.done", output_index: at, item };
}

/** The message as far as it got, and how it ended: `failure` is why it broke off, for people. */
interface Said {
  readonly item: Item;
  readonly ending: Ending | { readonly failure: string };
}

/** Each part as soon as it is there. */
export async function* messageSteps(id: string, at: number, answer: Answer): AsyncGenerator<Step, Said> {
  const here = { item_id: id, output_index: at, content_index: 0 };
  const writer = createOutputText();
  let cited = 0;
  const stepsOf = function* (part: AnswerPart): Generator<Step, void> {
    const { delta, annotation } = writer.add(part);
    if (delta !== "") yield { type: "response.output_text.delta", ...here, delta, logprobs: [] };
    if (!annotation) return;
    yield { type: "response.output_text.annotation.added", ...here, annotation_index: cited++, annotation };
  };
  yield { type: "response.output_item.added", output_index: at, item: toMessage(id, [], "in_progress") };
  yield { type: "response.content_part.added", ...here, part: writer.content() };
  const ending = yield* partSteps(answer, stepsOf);
  const part = writer.content();
  const isWhole = !("failure" in ending) && !ending.cutShort;
  const item = toMessage(id, [part], isWhole ? "completed" : "incomplete");
  if ("failure" in ending) return { item, ending };
  yield { type: "response.output_text.done", ...here, text: part.text, logprobs: [] };
  yield { type: "response.content_part.done", ...here, part };
  yield { type: "response.output_item.done", output_index: at, item };
  return { item, ending };
}

/** An answer that nobody waits for any more is given up. */
async function* partSteps(
  answer: Answer,
  stepsOf: (part: AnswerPart) => Generator<Step, void>,
): AsyncGenerator<Step, Said["ending"]> {
  try {
    for (;;) {
      const next = await answer.next();
      if (next.done) return next.value;
      yield* stepsOf(next.value);
    }
  } catch (error) {
    if (error instanceof RemoteError) return { failure: error.message };
    throw error;
  } finally {
    await answer.return({ cutShort: true });
  }
}

/** What a stored message was made of. */
async function* partsOf(item: Item): Answer {
  const [{ text, annotations }] = item["content"] as readonly [OutputText];
  let at = 0;
  for (const { index, file_id: fileId, filename } of annotations) {
    yield { text: text.slice(at, index), from: { fileId, filename } };
    at = index;
  }
  yield { text: text.slice(at) };
  return { cutShort: item["status"] === "incomplete" };
}
