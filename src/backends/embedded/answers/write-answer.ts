import { type AnswerSentence, NOTHING_ANSWERS } from "../../../contracts/answer.ts";
import { RemoteError } from "../../../contracts/errors.ts";
import { cutSentences, withoutMarks } from "../../../index/answers/statements-of.ts";
import { segments } from "../../../index/segments.ts";
import { WireError } from "../wire/wire-error.ts";
import type { Answerer, ChatModel, Passage } from "./answerer.ts";
import { readItems } from "./items.ts";
import { createModelAnswerer } from "./model-answerer.ts";

const INSTRUCTIONS =
  "You answer questions from the passages of documents given in the next message, in the language of the question, in at most five sentences, without Markdown. " +
  `If the passages do not have the answer, write exactly: ${NOTHING_ANSWERS}.`;

/**
 * Yields the answer of a language model sentence by sentence, as it writes them, each with the passages that it cites among those it was
 * shown. Yields nothing if the model says that nothing here answers. Throws RemoteError where it does not
 * begin, or breaks off.
 */
export async function* writeAnswer<P extends Passage>(
  question: string,
  passages: readonly P[],
  model: ChatModel,
  signal: AbortSignal,
): AsyncGenerator<AnswerSentence> {
  if (passages.length === 0) return;
  const answerer: Answerer = createModelAnswerer({ ...model, instructions: model.instructions || INSTRUCTIONS });
  const context = readItems(question, "input", "any");
  const settings = { model: model.name, instructions: null, maxTokens: null, sampling: {} };
  const answer = await answerer.answer({ text: question, context, passages, ...settings }, signal).catch(toRemoteError);
  const places = new Map<object, number>(passages.map((passage, place) => [passage, place]));
  const written = new Sentences();
  try {
    for (;;) {
      const next = await answer.next();
      if (next.done) break;
      const { text, from } = next.value;
      const place = from && places.get(from);
      if (place !== undefined) written.cite(place);
      else yield* written.add(text);
    }
    yield* written.end();
  } finally {
    await answer.return("length");
  }
}

function toRemoteError(error: unknown): never {
  throw error instanceof WireError ? new RemoteError(error.message, { cause: error }) : error;
}

/** Cuts text that comes in pieces into sentences. One is complete when the next begins, since citations stand behind it. */
class Sentences {
  #text = "";
  #cited: { readonly at: number; readonly place: number }[] = [];

  cite(place: number): void {
    this.#cited.push({ at: this.#text.trimEnd().length, place });
  }

  *add(piece: string): Generator<AnswerSentence> {
    this.#text += piece;
    const parts = partsOf(this.#text);
    const last = parts.at(-1) ?? "";
    // Only marks or blanks: what follows may still be cited.
    if (!/[\p{L}\p{N}]/u.test(last)) return;
    for (const part of parts.slice(0, -1)) yield* this.#take(part.length);
  }

  *end(): Generator<AnswerSentence> {
    for (const part of partsOf(this.#text)) yield* this.#take(part.length);
  }

  *#take(length: number): Generator<AnswerSentence> {
    const text = withoutMarks(this.#text.slice(0, length).replace(/^\s*(?:[-*+>]|\d{1,3}[.)]|#{1,6})\s+/, ""));
    const from = this.#cited.filter(({ at }) => at <= length).map(({ place }) => place);
    this.#cited = this.#cited.filter(({ at }) => at > length).map(({ at, place }) => ({ at: at - length, place }));
    this.#text = this.#text.slice(length);
    const says = text.replace(/[.!\s"]+$/, "");
    if (/[\p{L}\p{N}]/u.test(text) && says !== NOTHING_ANSWERS) yield { text, from: [...new Set(from)] };
  }
}

/** Also at the ends of lines: items of lists have no full stop. */
function partsOf(text: string): string[] {
  return [...segments(text, "lines")].flatMap(cutSentences);
}
