import { isListed, listOf, type Sql } from "../../lib/sql/sql.ts";
import { labelWords } from "../analyzer.ts";
import type { Phrase, Selection, Store, TextIndex, TextMatch, VectorMatch, WordQuery, Words } from "../store.ts";
import type { Candidate } from "./fuse-scores.ts";
import type { ParsedQuery } from "./parse-query.ts";
import type { Passage, Passages, PassageWords } from "./passages.ts";
import type { VisibleDocuments } from "./visible-documents.ts";

export interface Candidates {
  readonly all: readonly Candidate[];
  /** Phrases to highlight: those of the question and their substitutes. */
  readonly phrases: readonly Phrase[];
  /** The word of the question that each substitute stands for. */
  readonly standsFor: ReadonlyMap<string, string>;
  /** Share of the question that occurs in texts, 0 to 1. */
  readonly textShare: number;
  /** Share of the question's words that labels were compared with: those that occur somewhere. */
  readonly labelShare: number;
  /** The quoted phrases occur nowhere, and were searched as ordinary words. */
  readonly quotesIgnored: boolean;
}

/** Weights of words that merely contain a word of the question, and of guessed words. */
const COMPOUND_WEIGHT = 0.5;
const SUBSTITUTE_WEIGHT = 0.7;
/** Finds candidates. Quoted phrases must occur, unless they occur nowhere: some answer is better than none. */
export async function findCandidates(search: CandidateSearch): Promise<Candidates> {
  const { question } = search;
  if (!search.byWords) {
    const all = await join(search, await addNearest(search, new Map()), new Map());
    return { all, phrases: [], standsFor: new Map(), textShare: 1, labelShare: 1, quotesIgnored: false };
  }
  if (question.quoted.length > 0) {
    const query = { any: question.phrases, all: question.quoted };
    const texts = await matchTexts(search, query);
    const { labels, textShare, labelShare } = await matchLabels(search, query);
    if (texts.size > 0 || labels.size > 0) {
      const all = await weakenShort(search, await join(search, texts, labels), [...query.all, ...query.any]);
      return {
        all,
        phrases: [...question.quoted, ...question.phrases],
        standsFor: new Map(),
        textShare,
        labelShare,
        quotesIgnored: false,
      };
    }
  }
  const expansion = await expandWords(search.sql, search.store.texts, question.words);
  const any = [...question.phrases, ...expansion.substitutes.map(single)];
  const texts = weaken(await matchTexts(search, { any, all: [] }), certainty(question, expansion));
  if (expansion.compounds.length > 0) {
    const others = await matchTexts(search, { any: expansion.compounds.map(single), all: [] });
    for (const [chunkId, score] of weaken(others, COMPOUND_WEIGHT)) if (!texts.has(chunkId)) texts.set(chunkId, score);
  }
  const { labels, textShare, labelShare } = await matchLabels(search, { any, all: [] });
  const joined = await join(search, await addNearest(search, texts), labels);
  const all = await weakenShort(search, joined, any);
  return {
    all,
    phrases: [...question.quoted, ...any, ...expansion.compounds.map(single)],
    standsFor: expansion.standsFor,
    textShare,
    labelShare,
    quotesIgnored: question.quoted.length > 0,
  };
}

function single(word: string): Phrase {
  return { words: [word], beginning: false };
}

function weaken(scores: Map<number, number>, factor: number): Map<number, number> {
  if (factor < 1) for (const [id, score] of scores) scores.set(id, score * factor);
  return scores;
}

function certainty({ words }: ParsedQuery, { absent, substitutes }: Expansion): number {
  return substitutes.length === 0 ? 1 : 1 - (1 - SUBSTITUTE_WEIGHT) * (absent / words.length);
}

/** Pairs every chunk with every document that has it; documents found only by their label get their first chunk. */
async function join(
  { store, sql, visible, queryVector, bodyOf }: CandidateSearch,
  texts: ReadonlyMap<number, number>,
  labels: ReadonlyMap<number, number>,
): Promise<Candidate[]> {
  const bodies = [...texts.keys()].map((chunkId) => bodyOf.get(chunkId) ?? 0);
  const documents = await visible.ofBodies(bodies);
  const pairs: [documentId: number, chunkId: number, text: number][] = [];
  const covered = new Set<number>();
  for (const [chunkId, text] of texts) {
    for (const documentId of documents.get(bodyOf.get(chunkId) ?? 0) ?? []) {
      covered.add(documentId);
      pairs.push([documentId, chunkId, text]);
    }
  }
  const uncovered = [...labels.keys()].filter((id) => !covered.has(id));
  for (const [documentId, chunkId] of await firstChunks(sql, visible, uncovered)) pairs.push([documentId, chunkId, 0]);
  const chunkIds = [...new Set(pairs.map(([, chunkId]) => chunkId))];
  const similarities = queryVector
    ? await store.vectors.similarities(sql, queryVector.space, queryVector.vector, chunkIds)
    : chunkIds.map(() => 0);
  const similarityOf = new Map(chunkIds.map((id, at) => [id, similarities[at] ?? 0]));
  return pairs.map(([documentId, chunkId, text]) => ({
    documentId,
    chunkId,
    text,
    label: labels.get(documentId) ?? 0,
    similarity: similarityOf.get(chunkId) ?? 0,
  }));
}

/** A passage of fewer words, headings included, must have the words of the question. */
const FEW_WORDS = 25;
/** Longer texts are not read for it. */
const SHORT_TEXT = 250;

/**
 * Weakens short passages that have only some words of the question. Where one word is half of the text, BM25 and cosines take
 * the text to be about it, and rank it before a long one that has all words.
 */
async function weakenShort(
  { sql, store, passages }: CandidateSearch,
  candidates: readonly Candidate[],
  phrases: readonly Phrase[],
): Promise<readonly Candidate[]> {
  const byWords = candidates.filter(({ text }) => text > 0).map(({ chunkId }) => chunkId);
  const short = await sql.all<{ id: number }>(
    `SELECT id FROM chunks WHERE ${isListed(sql, "id", "$1", "integer")} AND length(text) <= ${SHORT_TEXT}`,
    [listOf([...new Set(byWords)])],
  );
  if (short.length === 0 || short.length === byWords.length) return candidates;
  const loaded = await passages.load(short.map(({ id }) => id));
  const weights = await weightsOf(sql, store.texts, phrases);
  const count = createCounter(phrases);
  const share = (counts: readonly number[]): number => {
    let [has, all] = [0, 0];
    for (const [at, weight] of weights.entries()) {
      all += weight;
      if ((counts[at] ?? 0) > 0) has += weight;
    }
    return all === 0 ? 1 : has / all;
  };
  const found = new Map<number, { readonly share: number; readonly length: number }>();
  for (const { id } of short) {
    const passage = loaded.get(id);
    if (passage) found.set(id, { share: share(count(passage.words)), length: lengthOf(passage) });
  }
  const weakened = candidates.map((candidate) => {
    const one = found.get(candidate.chunkId);
    if (!one || one.length >= FEW_WORDS) return candidate;
    // A name that has the words is as good as a text that does.
    const missing = 1 - Math.max(one.share ** 2, candidate.label);
    const factor = 1 - missing * (1 - one.length / FEW_WORDS);
    return { ...candidate, text: candidate.text * factor, similarity: candidate.similarity * factor };
  });
  const best = weakened.reduce((most, { text }) => Math.max(most, text), 0);
  return best > 0 ? weakened.map((one) => ({ ...one, text: one.text / best })) : weakened;
}

async function firstChunks(
  sql: Sql,
  visible: VisibleDocuments,
  documentIds: readonly number[],
): Promise<[documentId: number, chunkId: number][]> {
  const bodyOf = await visible.among(documentIds);
  if (bodyOf.size === 0) return [];
  const rows = await sql.all<{ bodyId: number; first: number }>(
    `SELECT body_id AS "bodyId", min(id) AS first FROM chunks
     WHERE ${isListed(sql, "body_id", "$1", "integer")} GROUP BY body_id`,
    [listOf([...new Set(bodyOf.values())])],
  );
  const firstOf = new Map(rows.map(({ bodyId, first }) => [bodyId, first]));
  return [...bodyOf].flatMap(([documentId, bodyId]) => {
    const first = firstOf.get(bodyId);
    return first === undefined ? [] : [[documentId, first]];
  });
}

/** Words of the store that are searched for words of the question. */
interface Expansion {
  /** Other forms of rare words; for words that occur nowhere: corrections, compounds, or their parts. */
  readonly substitutes: readonly string[];
  /** For rare words: longer ones that contain them. They count less than the word itself. */
  readonly compounds: readonly string[];
  /** The word of the question that each of them stands for. */
  readonly standsFor: ReadonlyMap<string, string>;
  /** How many words of the question occur nowhere as they are. */
  readonly absent: number;
}

/** Words in fewer passages than this are expanded. */
const RARE = 3;
const CANDIDATES = 60;
const MAX_EXPANDED = 8;
const MAX_CONTAINING = 20;
const MAX_ALIKE = 5;
/** Shorter ones are in too many words by chance. */
const MIN_PART = 4;
/** `Rechnungen`, `Rechnungs`: endings that the stemmer does not know. */
const MAX_ENDING = 3;

async function expandWords(sql: Sql, texts: TextIndex, words: readonly string[]): Promise<Expansion> {
  const counts = await texts.countWords(sql, words);
  const rare = words.filter((word) => (counts.get(word) ?? 0) < RARE);
  const substitutes = new Set<string>();
  const compounds = new Set<string>();
  const standsFor = new Map<string, string>();
  for (const word of rare.slice(0, MAX_EXPANDED)) {
    const similar = await texts.similarWords(sql, word, CANDIDATES);
    const containing = similar.filter((other) => other.includes(word)).slice(0, MAX_CONTAINING);
    const forms = containing.filter((other) => other.startsWith(word) && other.length <= word.length + MAX_ENDING);
    // An inflected form counts as the word; words that merely contain it count less.
    const isThere = counts.has(word) || forms.length > 0;
    const others = isThere ? [] : substitutesOf(word, similar);
    for (const other of [...forms, ...others]) substitutes.add(other);
    for (const other of containing) (isThere ? compounds : substitutes).add(other);
    for (const other of [...containing, ...others]) standsFor.set(other, word);
  }
  const absent = words.filter((word) => !counts.has(word)).length;
  return {
    substitutes: [...substitutes],
    compounds: [...compounds].filter((word) => !substitutes.has(word)),
    standsFor,
    absent,
  };
}

/** Returns the most similar words; if there are none, the first and last parts of a compound. */
function substitutesOf(word: string, similar: readonly string[]): string[] {
  const max = word.length <= 5 ? 1 : 2;
  const distances = similar.map((other) => ({ other, distance: editDistance(word, other, max) }));
  const least = Math.min(...distances.map(({ distance }) => distance));
  if (least <= max) {
    const alike = distances.filter(({ distance }) => distance === least).map(({ other }) => other);
    return alike.slice(0, MAX_ALIKE);
  }
  const parts = similar.filter((other) => other.length >= MIN_PART && (word.startsWith(other) || word.endsWith(other)));
  return parts.slice(0, MAX_ALIKE);
}

/**
 * Damerau-Levenshtein distance; any value above `max` if it is larger than `max`.
 */
function editDistance(a: string, b: string, max: number): number {
  if (Math.abs(a.length - b.length) > max) return max + 1;
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) row.push(cell(a, b, i, j, row, last, before));
    if (Math.min(...row) > max) return max + 1;
    before = last;
    last = row;
  }
  return last[b.length] ?? 0;
}

function cell(
  a: string,
  b: string,
  i: number,
  j: number,
  row: readonly number[],
  last: readonly number[],
  before: readonly number[],
): number {
  const same = a[i - 1] === b[j - 1];
  const best = Math.min((row[j - 1] ?? 0) + 1, (last[j] ?? 0) + 1, (last[j - 1] ?? 0) + (same ? 0 : 1));
  const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
  return swapped ? Math.min(best, (before[j - 2] ?? 0) + 1) : best;
}

export interface CandidateSearch {
  readonly store: Store;
  readonly sql: Sql;
  readonly visible: VisibleDocuments;
  readonly question: ParsedQuery;
  /** undefined: search by words only. */
  readonly queryVector?: {
    readonly space: { readonly id: number; readonly dimensions: number };
    readonly vector: Float32Array;
  };
  readonly byWords: boolean;
  /** Bodies of all chunks found so far. */
  readonly bodyOf: Map<number, number>;
  readonly passages: Passages;
  /** Number of hits to return. */
  readonly limit: number;
}

/** Numbers of matches to fetch, one after the other; if too few are visible, the index is restricted to visible ones. */
const TEXT_STEPS = [100, 1000];
const VECTOR_STEPS = [100, 1000];
const LABEL_STEPS = [50, 500];
/** Number of texts that are ranked again by their words. */
const RANKED = 24;
/** Below this, two texts are no more similar than any two of a language. */
const MIN_SIMILARITY = 0.25;

/** Returns chunks of visible documents by their words, with scores relative to the best. */
async function matchTexts(search: CandidateSearch, query: WordQuery): Promise<Map<number, number>> {
  const { store, sql, visible, limit } = search;
  const matches = await takeVisible<TextMatch & { bodyId: number }>(
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
async function addNearest(search: CandidateSearch, texts: Map<number, number>): Promise<Map<number, number>> {
  const { store, sql, visible, queryVector, byWords, limit } = search;
  if (!queryVector) return texts;
  const near = await takeVisible<VectorMatch>(
    VECTOR_STEPS,
    limit,
    (count, among) => store.vectors.nearest(sql, queryVector.space, queryVector.vector, count, among),
    (found) => ofVisibleBodies(visible, found),
    visible.select("body_id"),
  );
  for (const { chunkId, bodyId, similarity } of near) {
    search.bodyOf.set(chunkId, bodyId);
    if ((!byWords || similarity >= MIN_SIMILARITY) && !texts.has(chunkId)) texts.set(chunkId, 0);
  }
  return texts;
}

/** Returns visible documents by name, path and title. */
async function matchLabels(search: CandidateSearch, query: WordQuery): Promise<WeighedLabels> {
  const { store, sql, visible, limit } = search;
  const matches = await takeVisible<TextMatch>(
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

/** Returns the best visible matches. `find` returns visible and invisible ones, unless it is given a selection. */
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
  matches: readonly TextMatch[],
): Promise<(TextMatch & { bodyId: number })[]> {
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
 * BM25 parameters that ranked best on several collections: common words still count a little, and frequent occurrences saturate
 * later. Full-text engines use their own, so their first matches are ranked again, by all words of the question.
 */
const K1 = 2.5;
const B = 0.75;
const HEADING_WEIGHT = 2;

/** Ranks the first `count` matches again; the others follow in their old order. Best first. */
async function rankTexts<M extends TextMatch>(
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

/** Weighs each phrase by its rarest word: the fewer texts have it, the more. */
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

/** Counts how often a passage has each phrase, in one pass over its words. */
function createCounter(phrases: readonly Phrase[]): (words: PassageWords) => number[] {
  const byFirst = new Map<string, number[]>();
  const firstChunks: number[] = [];
  for (const [at, { words, beginning }] of phrases.entries()) {
    if (beginning && words.length === 1) firstChunks.push(at);
    else byFirst.set(words[0] ?? "", [...(byFirst.get(words[0] ?? "") ?? []), at]);
  }
  const add = (counts: number[], words: Words, weight: number): void => {
    for (let at = 0; at < words.length; at++) {
      const word = words[at] ?? "";
      for (const phrase of byFirst.get(word) ?? []) {
        if (phrases[phrase]?.words.every((wanted, i) => words[at + i] === wanted))
          counts[phrase] = (counts[phrase] ?? 0) + weight;
      }
      for (const phrase of firstChunks) {
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
  /** By document: 1 if name, path and title have all words of the question, little if they share a common word. */
  readonly labels: ReadonlyMap<number, number>;
  /** Share of the question that occurs in texts; the rest occurs in names only. */
  readonly textShare: number;
  /** Share of its words that occur in either. */
  readonly labelShare: number;
}

/**
 * Scores labels by the words they share with the question, weighted by rarity: `INV-2026-0123` in a name counts most, even if a
 * thousand texts have the other words. Words that occur nowhere count nothing.
 */
async function weighLabels(
  { store, sql, question }: CandidateSearch,
  matches: readonly TextMatch[],
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
  if (total === 0) return { labels: new Map(), textShare: 1, labelShare: 1 };
  return {
    labels: new Map(labelled.map(({ id, words: found }) => [id, (sum(found) / total) ** 2])),
    textShare: sum(words.filter((word) => inTexts.has(word))) / total,
    labelShare: words.filter((word) => weights.get(word) !== 0).length / words.length,
  };
}

/** Returns the approximate number of chunks: the highest id. */
export async function countChunks(sql: Sql): Promise<number> {
  return Number((await sql.get<{ n: number }>("SELECT coalesce(max(id), 0) AS n FROM chunks"))?.n ?? 0);
}

/** Inverse document frequency. */
function rarityOf(having: number, all: number): number {
  return Math.log(1 + (Math.max(0, all - having) + 0.5) / (having + 0.5));
}
