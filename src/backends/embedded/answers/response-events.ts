import { RemoteError } from "../../../contracts/errors.ts";
import type { JsonObject } from "../../../lib/json-object.ts";
import type { Answer, AnswerPart, Ending } from "./answerer.ts";
import type { Item } from "./items.ts";
import { createOutputText, type OutputText, toMessage } from "./response-codec.ts";
import type { StoredResponse } from "./responses.ts";

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
export interface Said {
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
