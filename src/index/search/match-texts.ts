import { isListed, listOf } from "../../lib/sql/is-listed.ts";
import type { Sql } from "../../lib/sql/sql.ts";
import type { Match, Near, Phrase, Selection, Store, TextIndex, WordQuery, Words } from "../storage/store.ts";
import { labelWords } from "../text/label-words.ts";
import type { Question } from "./parse-query.ts";
import type { Passage, Passages, PassageWords } from "./passages.ts";
import type { VisibleDocuments } from "./visible-documents.ts";
import { countChunks, rarityOf } from "./word-rarity.ts";

export interface CandidateSearch {
  readonly store: Store;
  readonly sql: Sql;
  readonly visible: VisibleDocuments;
  readonly question: Question;
  /** Left out: by words alone. */
  readonly meaning?: {
    readonly space: { readonly id: number; readonly dimensions: number };
    readonly vector: Float32Array;
  };
  readonly byWords: boolean;
  /** The bodies of all chunks found on the way. */
  readonly bodyOf: Map<number, number>;
  readonly passages: Passages;
  /** How many hits are wanted. */
  readonly limit: number;
}

/** At first so many are taken, then so many; when still too few of them are visible, the index has to look at those only. */
const TEXT_STEPS = [100, 1000];
const VECTOR_STEPS = [100, 1000];
const LABEL_STEPS = [50, 500];
/** So many of the texts are ranked by looking into them. */
const RANKED = 24;
/** Below this, two texts have no more in common than any two texts of a language. */
const MIN_SIMILARITY = 0.25;

/** Chunks of visible documents by their words, score relative to the best. */
export async function matchTexts(search: CandidateSearch, query: WordQuery): Promise<Map<number, number>> {
  const { store, sql, visible, limit } = search;
  const matches = await takeVisible<Match & { bodyId: number }>(
    TEXT_STEPS,
    limit,
    async (count, among) => withBodies(search, await store.texts.matchChunks(sql, query, count, among)),
    (found) => ofVisibleBodies(visible, found),
    visible.select("body_id"),
  );
  const phrases = [...query.all, ...query.any];
  const ranked = await rankTexts(sql, store.texts, search.passages, matches, phrases, Math.max(RANKED, limit * 2));
  const best = ranked[0]?.score ?? 0;
  return new Map(ranked.map(({ id, score }) => [id, best > 0 ? score / best : 1]));
}

/** Adds the chunks closest in meaning, without any score for their words. */
export async function addNearest(search: CandidateSearch, texts: Map<number, number>): Promise<Map<number, number>> {
  const { store, sql, visible, meaning, byWords, limit } = search;
  if (!meaning) return texts;
  const near = await takeVisible<Near>(
    VECTOR_STEPS,
    limit,
    (count, among) => store.vectors.nearest(sql, meaning.space, meaning.vector, count, among),
    (found) => ofVisibleBodies(visible, found),
    visible.select("body_id"),
  );
  for (const { chunkId, bodyId, similarity } of near) {
    search.bodyOf.set(chunkId, bodyId);
    if ((!byWords || similarity >= MIN_SIMILARITY) && !texts.has(chunkId)) texts.set(chunkId, 0);
  }
  return texts;
}

/** Visible documents by name, path and title. */
export async function matchLabels(search: CandidateSearch, query: WordQuery): Promise<WeighedLabels> {
  const { store, sql, visible, limit } = search;
  const matches = await takeVisible<Match>(
    LABEL_STEPS,
    limit,
    (count, among) => store.texts.matchLabels(sql, query, count, among),
    async (found) => {
      const bodies = await visible.among(found.map(({ id }) => id));
      return found.filter(({ id }) => bodies.has(id));
    },
    visible.select("id"),
  );
  return weighLabels(search, matches);
}

/** The best visible ones. `find` tells the best, whether visible or not, unless it is given a selection. */
async function takeVisible<T>(
  steps: readonly number[],
  limit: number,
  find: (count: number, among?: Selection) => Promise<T[]>,
  keep: (found: T[]) => Promise<T[]>,
  selection: Selection,
): Promise<T[]> {
  const enough = Math.max(40, limit * 2);
  const [first = enough] = steps;
  for (const step of steps) {
    const count = Math.max(step, enough);
    const found = await find(count);
    const kept = await keep(found);
    if (found.length < count || kept.length >= enough) return kept.slice(0, Math.max(first, enough));
  }
  return keep(await find(Math.max(first, enough), selection));
}

async function ofVisibleBodies<T extends { bodyId: number }>(visible: VisibleDocuments, found: T[]): Promise<T[]> {
  const documents = await visible.ofBodies(found.map(({ bodyId }) => bodyId));
  return found.filter(({ bodyId }) => (documents.get(bodyId)?.length ?? 0) > 0);
}

async function withBodies(
  { sql, bodyOf }: CandidateSearch,
  matches: readonly Match[],
): Promise<(Match & { bodyId: number })[]> {
  const unknown = matches.flatMap(({ id }) => (bodyOf.has(id) ? [] : [id]));
  if (unknown.length > 0) {
    const rows = await sql.all<{ id: number; bodyId: number }>(
      `SELECT id, body_id AS "bodyId" FROM chunks WHERE ${isListed(sql, "id", "$1", "integer")}`,
      [listOf(unknown)],
    );
    for (const { id, bodyId } of rows) bodyOf.set(id, bodyId);
  }
  return matches.map((match) => ({ ...match, bodyId: bodyOf.get(match.id) ?? 0 }));
}

/**
 * BM25 as it ranked best on several collections: a word that half of all texts have still says a little, and a word that
 * occurs often says more for longer. Full-text engines bring their own idea of both, so the first of their matches are
 * ranked again, by all words of the question.
 */
const K1 = 2.5;
const B = 0.75;
const HEADING_WEIGHT = 2;

/** The matches in their new order; those behind the first `count` keep their order and stay behind. Best first. */
async function rankTexts<M extends Match>(
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

interface WeighedLabels {
  /** By document: 1 when its name, path and title have everything the question says, little when they share a common word. */
  readonly labels: ReadonlyMap<number, number>;
  /** How much of the question texts can answer at all; the rest of it is in names only. */
  readonly textShare: number;
}

/**
 * Judges labels by what they have in common with the question, each word by how rare it is: `INV-2026-0123` in a name says
 * everything, though a thousand texts have the other words of the question. Words that occur nowhere say nothing.
 */
async function weighLabels(
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
