import type { Sql } from "../../lib/sql/sql.ts";
import type { Match, Phrase, TextIndex, Words } from "../storage/store.ts";
import type { Passage, Passages, PassageWords } from "./passages.ts";
import { countChunks, rarityOf } from "./word-rarity.ts";

/**
 * BM25 as it ranked best on several collections: a word that half of all texts have still says a little, and a word that
 * occurs often says more for longer. Full-text engines bring their own idea of both, so the first of their matches are
 * ranked again, by all words of the question.
 */
const K1 = 2.5;
const B = 0.75;
const HEADING_WEIGHT = 2;

/** The matches in their new order; those behind the first `count` keep their order and stay behind. Best first. */
export async function rankTexts<M extends Match>(
  sql: Sql,
  texts: TextIndex,
  passages: Passages,
  matches: readonly M[],
  phrases: readonly Phrase[],
  count: number,
): Promise<M[]> {
  const head = matches.slice(0, count);
  if (head.length === 0) return [];
  const loaded = await passages.load(head.map(({ id }) => id));
  const weights = await weightsOf(sql, texts, phrases);
  const lengths = head.map(({ id }) => lengthOf(loaded.get(id)));
  const average = Math.max(1, lengths.reduce((sum, length) => sum + length, 0) / head.length);
  const counter = createCounter(phrases);
  const ranked = head.map((match, at) => {
    const passage = loaded.get(match.id);
    const score = passage ? bm25(counter(passage.words), weights, (lengths[at] ?? 0) / average) : 0;
    return { ...match, score };
  });
  ranked.sort((a, b) => b.score - a.score || a.id - b.id);
  const last = ranked.at(-1)?.score ?? 0;
  const border = head.at(-1)?.score ?? 1;
  const tail = matches.slice(count).map((match) => ({ ...match, score: (last * match.score) / border }));
  return [...ranked, ...tail];
}

/** How much each phrase says: the fewer texts have its rarest word, the more. */
async function weightsOf(sql: Sql, texts: TextIndex, phrases: readonly Phrase[]): Promise<number[]> {
  const all = await countChunks(sql);
  const counts = await texts.countWords(
    sql,
    phrases.flatMap(({ words }) => words),
  );
  return phrases.map(({ words }) => rarityOf(Math.min(...words.map((word) => counts.get(word) ?? 0)), all));
}

function bm25(counts: readonly number[], weights: readonly number[], length: number): number {
  let score = 0;
  for (const [at, count] of counts.entries()) {
    if (count > 0) score += ((weights[at] ?? 0) * count * (K1 + 1)) / (count + K1 * (1 - B + B * length));
  }
  return score;
}

/** Counts how often a passage has each of the phrases, with one look at each of its words. */
function createCounter(phrases: readonly Phrase[]): (words: PassageWords) => number[] {
  const byFirst = new Map<string, number[]>();
  const beginnings: number[] = [];
  for (const [at, { words, beginning }] of phrases.entries()) {
    if (beginning && words.length === 1) beginnings.push(at);
    else byFirst.set(words[0] ?? "", [...(byFirst.get(words[0] ?? "") ?? []), at]);
  }
  const add = (counts: number[], words: Words, weight: number): void => {
    for (let at = 0; at < words.length; at++) {
      const word = words[at] ?? "";
      for (const phrase of byFirst.get(word) ?? []) {
        if (phrases[phrase]?.words.every((wanted, i) => words[at + i] === wanted))
          counts[phrase] = (counts[phrase] ?? 0) + weight;
      }
      for (const phrase of beginnings) {
        if (word.startsWith(phrases[phrase]?.words[0] ?? "")) counts[phrase] = (counts[phrase] ?? 0) + weight;
      }
    }
  };
  return ({ headings, text }) => {
    const counts = Array<number>(phrases.length).fill(0);
    add(counts, headings, HEADING_WEIGHT);
    add(counts, text, 1);
    return counts;
  };
}

function lengthOf(passage: Passage | undefined): number {
  return passage ? passage.words.headings.length + passage.words.text.length : 0;
}
