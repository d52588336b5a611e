import { NOTHING_ANSWERS, type WordCounts } from "../../../contracts/answer.ts";
import { findAnswer, type Quoted } from "../../../index/answers/find-answer.ts";
import { estimateTokens } from "../../../index/estimate-tokens.ts";
import type { Answer, Answerer, AnswerPart, FinishReason, Passage } from "./answerer.ts";
import { inertMarkdown } from "./inert-markdown.ts";

/** The name must not suggest a language model. */
export const EXTRACTIVE_MODEL = "lockstep-extractive";

const INTRODUCTION = "Taken from the documents, no language model:\n\n";
export const NOTHING_FOUND = `${NOTHING_ANSWERS}.`;
const NO_SEARCH =
  "There is no language model here: answers are taken from documents. " +
  "Give the tool file_search with the ids of vector stores to search.";

/** Answers with the statements of the passages that answer the question. */
export function createExtractiveAnswerer(): Answerer {
  return {
    answer: async ({ text, earlier = [], passages, words, maxTokens }) =>
      streamed(fit(quote([text, ...earlier], passages, words), maxTokens)),
  };
}

/** `questions`: the one that was asked, and those it may lean on, the latest first. At least one part. */
export function quote(
  questions: readonly string[],
  passages: readonly Passage[] | undefined,
  words?: WordCounts,
): AnswerPart[] {
  if (!passages) return [{ text: NO_SEARCH }];
  return toParts(findAnswer(questions, passages, words));
}

export function toParts(found: readonly Quoted<Passage>[]): AnswerPart[] {
  // What is merely closest would be taken for the answer.
  if (found.length === 0) return [{ text: NOTHING_FOUND }];
  const quotes = found.map(({ text, passage }) => ({ text: `- ${inertMarkdown(text)}\n`, from: passage }));
  return [{ text: INTRODUCTION }, ...quotes];
}

/** Drops parts beyond the limit. Never cuts one: half a sentence may say the opposite. */
export function fit(parts: readonly AnswerPart[], maxTokens: number | null): FittingParts {
  let left = maxTokens ?? Number.POSITIVE_INFINITY;
  const overflow = parts.findIndex(({ text }) => {
    left -= estimateTokens(text);
    return left < 0;
  });
  return overflow < 0 ? { parts, finish: "stop" } : { parts: parts.slice(0, overflow), finish: "length" };
}

interface FittingParts {
  readonly parts: readonly AnswerPart[];
  readonly finish: FinishReason;
}

async function* streamed({ parts, finish }: FittingParts): Answer {
  yield* parts;
  return finish;
}
