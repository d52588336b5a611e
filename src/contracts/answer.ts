/** How common the words of a question are in what was searched. */
export interface WordCounts {
  /** How many passages there are. */
  readonly passages: number;
  /** How many of them have each word, as the index spells words; absent ones occur nowhere. */
  readonly having: ReadonlyMap<string, number>;
}

/** What is said of a question to which nothing that was searched has an answer. */
export const NOTHING_ANSWERS = "Nothing here answers this";

/** A sentence of an answer. */
export interface AnswerSentence {
  readonly text: string;
  /** Where it is from, as places in the list of what was found; none: nothing that was found is known to support it. */
  readonly from: readonly number[];
  /** The page on which it stands, where its passage begins on another; only if it is from one source. */
  readonly page?: number;
}
