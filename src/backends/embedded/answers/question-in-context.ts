import { analyze } from "../../../index/analyzer.ts";
import { STOP_WORDS } from "../../../index/search/stop-words.ts";

/** One of several searches for the same question. */
interface WeightedSearch {
  readonly text: string;
  readonly weight: number;
}

/** Earlier questions that take part; older ones are about something else by now. */
const EARLIER = 2;
const LONGEST = 500;
/** A question with fewer words that say something leans on what was asked before. */
const FEW_WORDS = 3;
/** "Which of them", "and for others?", "what about", "davon", "und für": they refer to something that was said. */
const REFERS =
  /\b(?:it|its|they|them|their|theirs|those|these|he|she|him|her|his|hers|ones?|others?|another|there|such|both|former|latter|davon|daf(?:ü|ue)r|dazu|darin|dabei|diese[rsmn]?|jene[rsmn]?|ihnen|ihn|ihm|dort|welche[rsmn]?|celui|celle|ceux|celles|lesquels?|lesquelles|cu[aá]les)\b|^(?:and|but|or|what about|how about|und|aber|oder|et|mais|y|pero)\b/iu;

const EMPTY_WORDS: ReadonlySet<string> = new Set([...STOP_WORDS].flatMap(analyze));

/** Returns the words of a question that say what it is about. */
export function tellingWords(question: string): readonly string[] {
  return [...new Set(analyze(question))].filter((word) => !EMPTY_WORDS.has(word));
}

/**
 * Returns what to search for, given the questions of a conversation, oldest first: the last one alone, and together with those
 * before it, which says what "them" is. No model is needed for it, and a change of the subject still finds the new one.
 */
export function searchesFor(questions: readonly string[]): readonly WeightedSearch[] {
  const last = questions.at(-1) ?? "";
  const earlier = questions.slice(0, -1).slice(-EARLIER);
  if (earlier.length === 0) return [{ text: last, weight: 1 }];
  const words = tellingWords(last).length;
  const leans = words <= FEW_WORDS || (words <= 2 * FEW_WORDS && REFERS.test(last));
  const whole = [...earlier.map((text) => text.slice(0, LONGEST)), last].join("\n");
  return [
    { text: last, weight: leans ? 0.4 : 1 },
    { text: whole, weight: leans ? 1 : 0.4 },
  ];
}

/** Ranks count less and less, slowly: what two searches found is better than what one found first. */
const RANK_OFFSET = 5;

/** Joins the results of the searches, each best first, by their ranks. */
export function joinByRank<T>(
  lists: readonly { readonly weight: number; readonly found: readonly T[] }[],
  keyOf: (one: T) => string,
): readonly T[] {
  const ranked = new Map<string, { readonly one: T; readonly rank: number }>();
  for (const { weight, found } of lists) {
    for (const [at, one] of found.entries()) {
      const key = keyOf(one);
      const before = ranked.get(key);
      const rank = (before?.rank ?? 0) + weight / (RANK_OFFSET + at);
      ranked.set(key, { one: before?.one ?? one, rank });
    }
  }
  return [...ranked.values()].sort((a, b) => b.rank - a.rank).map(({ one }) => one);
}
