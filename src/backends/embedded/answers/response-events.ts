import type { JsonObject } from "../../../lib/json-object.ts";
import type { Item } from "./items.ts";
import type { StoredResponse } from "./responses.ts";

/** One event of a streamed response, as the wire protocol spells it. */
export interface ResponseEvent extends JsonObject {
  readonly type: string;
  readonly sequence_number: number;
}

type Step = JsonObject & { readonly type: string };
interface OutputText {
  readonly text: string;
  readonly annotations: readonly { readonly index: number }[];
}

/** The events that lead to a finished response: whoever adds them up has the very same one. */
export function* eventsOf(response: StoredResponse["response"]): Generator<ResponseEvent> {
  let sequence = 0;
  for (const step of stepsOf(response)) yield { ...step, sequence_number: sequence++ };
}

function* stepsOf(response: StoredResponse["response"]): Generator<Step> {
  const begun = {
    ...response,
    status: "in_progress",
    completed_at: null,
    incomplete_details: null,
    output: [],
    usage: null,
  };
  yield { type: "response.created", response: begun };
  yield { type: "response.in_progress", response: begun };
  for (const [at, item] of response.output.entries()) {
    const place = { item_id: item.id, output_index: at };
    yield { type: "response.output_item.added", output_index: at, item: unfinished(item) };
    yield* item.type === "message" ? messageSteps(item, place) : searchSteps(place);
    yield { type: "response.output_item.done", output_index: at, item };
  }
  yield { type: response["status"] === "incomplete" ? "response.incomplete" : "response.completed", response };
}

function unfinished(item: Item): Item {
  if (item.type === "message") return { ...item, status: "in_progress", content: [] };
  return { ...item, status: "in_progress", results: null };
}

function* searchSteps(place: JsonObject): Generator<Step> {
  for (const state of ["in_progress", "searching", "completed"]) {
    yield { type: `response.file_search_call.${state}`, ...place };
  }
}

function* messageSteps(item: Item, place: JsonObject): Generator<Step> {
  const parts = item["content"] as readonly OutputText[];
  for (const [at, part] of parts.entries()) {
    const here = { ...place, content_index: at };
    yield { type: "response.content_part.added", ...here, part: { ...part, text: "", annotations: [] } };
    yield* textSteps(part, here);
    yield { type: "response.output_text.done", ...here, text: part.text, logprobs: [] };
    yield { type: "response.content_part.done", ...here, part };
  }
}

/** Line by line, each citation as soon as the text it belongs to is there. */
function* textSteps({ text, annotations }: OutputText, here: JsonObject): Generator<Step> {
  let written = 0;
  let cited = 0;
  for (const delta of text.match(/[^\n]*\n|[^\n]+$/g) ?? []) {
    written += delta.length;
    yield { type: "response.output_text.delta", ...here, delta, logprobs: [] };
    for (; (annotations[cited]?.index ?? Number.POSITIVE_INFINITY) <= written; cited += 1) {
      const annotation = annotations[cited];
      yield { type: "response.output_text.annotation.added", ...here, annotation_index: cited, annotation };
    }
  }
}
