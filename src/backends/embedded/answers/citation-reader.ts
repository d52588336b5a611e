import type { AnswerPart, Passage } from "./answerer.ts";

/** How a model is told to cite: the number of a passage between brackets that texts hardly ever have. */
export const CITATION = { open: "【", close: "】" };

/** `3`, `1, 4`, and `3†source` and `3:0†source`, which models of OpenAI have learnt to write. */
const NUMBERS = /^\s*\d{1,3}(\s*[,;]\s*\d{1,3})*\s*$/;
const LEARNT = /^\s*(\d{1,3})(:\d{1,3})?†/;
/** What is longer is no marker. */
const LONGEST = 60;
/** A marker takes the blanks before it along. */
const MAY_BE_MARKER = new RegExp(` *(${CITATION.open}[^${CITATION.close}]*)?$`);

export interface CitationReader {
  /** What is certain to be text or citation by now; a marker that has only begun is held back. */
  read(text: string): Generator<AnswerPart, void>;
  /** What was still held back. */
  end(): Generator<AnswerPart, void>;
}

/** Takes the markers out of a text that comes in pieces and puts citations in their place. */
export function createCitationReader(passages: readonly Passage[]): CitationReader {
  let held = "";
  function* settle(upTo: number): Generator<AnswerPart, void> {
    const settled = held.slice(0, upTo);
    held = held.slice(upTo);
    let at = 0;
    for (const marker of settled.matchAll(/ *【([^】]*)】/g)) {
      const numbers = numbersIn(marker[1] ?? "");
      if (!numbers) continue;
      yield* textPart(settled.slice(at, marker.index));
      yield* citationsOf(numbers, passages);
      at = marker.index + marker[0].length;
    }
    yield* textPart(settled.slice(at));
  }
  return {
    *read(text) {
      held += text;
      const open = MAY_BE_MARKER.exec(held)?.index ?? held.length;
      yield* settle(held.length - open > LONGEST ? held.length : open);
    },
    *end() {
      yield* settle(held.length);
    },
  };
}

function* textPart(text: string): Generator<AnswerPart, void> {
  if (text !== "") yield { text };
}

function numbersIn(marker: string): number[] | undefined {
  if (marker.length > LONGEST) return undefined;
  if (NUMBERS.test(marker)) return marker.split(/[,;]/).map(Number);
  const learnt = LEARNT.exec(marker);
  return learnt ? [Number(learnt[1])] : undefined;
}

/** A number that no passage has cites nothing: the model made it up. */
function* citationsOf(numbers: readonly number[], passages: readonly Passage[]): Generator<AnswerPart, void> {
  const files = new Map(numbers.flatMap((number) => passages[number - 1] ?? []).map((one) => [one.fileId, one]));
  for (const { fileId, filename } of files.values()) yield { text: "", from: { fileId, filename } };
}
