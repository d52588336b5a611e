import { scanRuns } from "./scan-runs.ts";
import { charactersOf, unspacedWords } from "./unspaced-words.ts";
import { wordsOfRun } from "./words-of-run.ts";

/** Changes whenever some text would give other words; text tables that were filled by another one are filled again. */
export const ANALYZER_REVISION = "words-2";

/** A word and where the text has it. The parts of an identifier all have the place of the whole. */
export interface PlacedWord {
  readonly word: string;
  readonly start: number;
  readonly end: number;
}

/**
 * The words of a text as the full-text tables have them: folded, stemmed, in reading order, made of letters, digits and
 * underscores only. Questions go through the same function, so whatever it does, both agree.
 */
export function analyze(text: string): string[] {
  const words: string[] = [];
  scanRuns(text, (start, end, unspaced) => {
    const run = text.slice(start, end);
    for (const word of unspaced ? unspacedWords(run) : wordsOfRun(run)) words.push(word);
  });
  return words;
}

/** The same words with their places, for marking them. */
export function placeWords(text: string): PlacedWord[] {
  const words: PlacedWord[] = [];
  scanRuns(text, (start, end, unspaced) => {
    const run = text.slice(start, end);
    if (!unspaced) {
      for (const word of wordsOfRun(run)) words.push({ word, start, end });
      return;
    }
    const characters = charactersOf(run, start);
    for (const [at, first] of characters.entries()) {
      const second = characters[at + 1];
      words.push({ word: first.text + (second?.text ?? ""), start: first.start, end: (second ?? first).end });
    }
  });
  return words;
}
