import { isListed, listOf } from "../../lib/sql/is-listed.ts";
import type { Match } from "../storage/store.ts";
import { labelWords } from "../text/label-words.ts";
import type { CandidateSearch } from "./match-texts.ts";
import { countChunks, rarityOf } from "./word-rarity.ts";

export interface WeighedLabels {
  /** By document: 1 when its name, path and title have everything the question says, little when they share a common word. */
  readonly labels: ReadonlyMap<number, number>;
  /** How much of the question texts can answer at all; the rest of it is in names only. */
  readonly textShare: number;
}

/**
 * Judges labels by what they have in common with the question, each word by how rare it is: `INV-2026-0123` in a name says
 * everything, though a thousand texts have the other words of the question. Words that occur nowhere say nothing.
 */
export async function weighLabels(
  { store, sql, question }: CandidateSearch,
  matches: readonly Match[],
): Promise<WeighedLabels> {
  const words = [...new Set(question.phrases.flatMap((phrase) => (phrase.words.length === 1 ? phrase.words : [])))];
  const inTexts = await store.texts.countWords(sql, words);
  const all = await countChunks(sql);
  const rows = await sql.all<{ id: number; name: string; path: string; title: string | null }>(
    `SELECT d.id, d.name, d.path, b.title FROM documents d LEFT JOIN bodies b ON b.id = d.body_id
     WHERE ${isListed(sql, "d.id", "$1", "integer")}`,
    [listOf(matches.map(({ id }) => id))],
  );
  const labelled = rows.map(({ id, name, path, title }) => {
    const found = new Set(Object.values(labelWords({ name, path, title: title ?? "" })).flat());
    return { id, words: words.filter((word) => found.has(word)) };
  });
  const inLabels = new Map<string, number>();
  for (const { words: found } of labelled) for (const word of found) inLabels.set(word, (inLabels.get(word) ?? 0) + 1);
  const weightOf = (word: string): number => {
    const having = inTexts.get(word) ?? inLabels.get(word) ?? 0;
    return having === 0 ? 0 : rarityOf(having, all);
  };
  const weights = new Map(words.map((word) => [word, weightOf(word)]));
  const sum = (of: readonly string[]): number => of.reduce((total, word) => total + (weights.get(word) ?? 0), 0);
  const total = sum(words);
  if (total === 0) return { labels: new Map(), textShare: 1 };
  return {
    labels: new Map(labelled.map(({ id, words: found }) => [id, (sum(found) / total) ** 2])),
    textShare: sum(words.filter((word) => inTexts.has(word))) / total,
  };
}
