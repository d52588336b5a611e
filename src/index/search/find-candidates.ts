import { isListed, listOf } from "../../lib/sql/is-listed.ts";
import type { Sql } from "../../lib/sql/sql.ts";
import type { Phrase } from "../storage/store.ts";
import { type Expansion, expandWords } from "./expand-words.ts";
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
