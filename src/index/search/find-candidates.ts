import { isListed, listOf } from "../../lib/sql/is-listed.ts";
import type { Sql } from "../../lib/sql/sql.ts";
import type { Phrase, TextIndex } from "../storage/store.ts";
import type { Candidate } from "./fuse-scores.ts";
import { addNearest, type CandidateSearch, matchLabels, matchTexts } from "./match-texts.ts";
import type { Question } from "./parse-query.ts";
import type { VisibleDocuments } from "./visible-documents.ts";

export interface Candidates {
  readonly all: readonly Candidate[];
  /** What was looked for, to be marked in the texts: what the question says, and what stands for it. */
  readonly phrases: readonly Phrase[];
  /** How much of the question texts can answer at all, 0 to 1. */
  readonly textShare: number;
  /** What is in quotes occurs nowhere, and was taken for ordinary words. */
  readonly quotesIgnored: boolean;
}

/** What only contains a word of the question counts half, and what was guessed for all its words this much. */
const BESIDES = 0.5;
const GUESSED = 0.7;
/** What is in quotes must occur, unless it occurs nowhere: an answer to the rest is better than none. */
export async function findCandidates(search: CandidateSearch): Promise<Candidates> {
  const { question } = search;
  if (!search.byWords) {
    const all = await join(search, await addNearest(search, new Map()), new Map());
    return { all, phrases: [], textShare: 1, quotesIgnored: false };
  }
  if (question.quoted.length > 0) {
    const query = { any: question.phrases, all: question.quoted };
    const texts = await matchTexts(search, query);
    const { labels, textShare } = await matchLabels(search, query);
    if (texts.size > 0 || labels.size > 0) {
      const all = await join(search, texts, labels);
      return { all, phrases: [...question.quoted, ...question.phrases], textShare, quotesIgnored: false };
    }
  }
  const expansion = await expandWords(search.sql, search.store.texts, question.words);
  const any = [...question.phrases, ...expansion.instead.map(single)];
  const texts = weaken(await matchTexts(search, { any, all: [] }), certainty(question, expansion));
  if (expansion.besides.length > 0) {
    const others = await matchTexts(search, { any: expansion.besides.map(single), all: [] });
    for (const [chunkId, score] of weaken(others, BESIDES)) if (!texts.has(chunkId)) texts.set(chunkId, score);
  }
  const { labels, textShare } = await matchLabels(search, { any, all: [] });
  const all = await join(search, await addNearest(search, texts), labels);
  return {
    all,
    phrases: [...question.quoted, ...any, ...expansion.besides.map(single)],
    textShare,
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

function certainty({ words }: Question, { absent, instead }: Expansion): number {
  return instead.length === 0 ? 1 : 1 - (1 - GUESSED) * (absent / words.length);
}

/** Every chunk under every document that has it; of documents found by their label alone, the beginning. */
async function join(
  { store, sql, visible, meaning, bodyOf }: CandidateSearch,
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
  for (const [documentId, chunkId] of await beginnings(sql, visible, uncovered)) pairs.push([documentId, chunkId, 0]);
  const chunkIds = [...new Set(pairs.map(([, chunkId]) => chunkId))];
  const similarities = meaning
    ? await store.vectors.similarities(sql, meaning.space, meaning.vector, chunkIds)
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

async function beginnings(
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

/** Words of the store that stand for words of the question. */
interface Expansion {
  /** Other forms of rare words; for words that occur nowhere what was meant, or what they are part of, or made of. */
  readonly instead: readonly string[];
  /** For words that hardly occur: longer ones that contain them. They count less than the word itself. */
  readonly besides: readonly string[];
  /** How many words of the question occur nowhere as they are. */
  readonly absent: number;
}

/** A word with fewer passages than this is looked for in other forms, too. */
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
  const instead = new Set<string>();
  const besides = new Set<string>();
  for (const word of rare.slice(0, MAX_EXPANDED)) {
    const similar = await texts.similarWords(sql, word, CANDIDATES);
    const containing = similar.filter((other) => other.includes(word)).slice(0, MAX_CONTAINING);
    const forms = containing.filter((other) => other.startsWith(word) && other.length <= word.length + MAX_ENDING);
    // A form of the word is the word; what merely contains it steps back behind that.
    const isThere = counts.has(word) || forms.length > 0;
    for (const other of forms) instead.add(other);
    for (const other of containing) (isThere ? besides : instead).add(other);
    if (!isThere) for (const other of insteadOf(word, similar)) instead.add(other);
  }
  const absent = words.filter((word) => !counts.has(word)).length;
  return { instead: [...instead], besides: [...besides].filter((word) => !instead.has(word)), absent };
}

/** The most alike; where nothing is, the parts that a compound begins and ends with. */
function insteadOf(word: string, similar: readonly string[]): string[] {
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
 * How many letters have to be inserted, left out, replaced or swapped with their neighbour to make one word of the other;
 * anything above `max` when it takes more.
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
