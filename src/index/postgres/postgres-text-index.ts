import type { Sql } from "../../lib/sql/sql.ts";
import type { Phrase, Selection, TextIndex, WordQuery } from "../storage/store.ts";
import { matchWords } from "./match-words.ts";
import { addRows, CHUNKS, LABELS, removeRows } from "./postings.ts";
import { findSimilarWords, noteWords } from "./similar-words.ts";
import { createWordCounts, type WordCounts } from "./word-counts.ts";

/**
 * Every row that has a word of the question is ranked. Beyond so many rows the most frequent words are left out of the
 * match: they say least. The rarest stays, however frequent it is.
 */
const MAX_RANKED = 50_000;

/** Ranks by the same BM25 over the same words as the full-text tables of SQLite. */
export function createPostgresTextIndex(): TextIndex {
  const counts = createWordCounts();
  return {
    async addChunks(sql, chunks) {
      await noteWords(
        sql,
        chunks.flatMap(({ headings, text }) => [headings, text]),
      );
      await addRows(
        sql,
        CHUNKS,
        chunks.map(({ chunkId, headings, text }) => ({ id: chunkId, fields: [headings, text] })),
      );
    },
    removeChunks: (sql, chunkIds) => removeRows(sql, CHUNKS, chunkIds),
    async addLabels(sql, labels) {
      await noteWords(
        sql,
        labels.flatMap(({ name, path, title }) => [name, path, title]),
      );
      await addRows(
        sql,
        LABELS,
        labels.map(({ documentId, name, path, title }) => ({ id: documentId, fields: [name, path, title] })),
      );
    },
    removeLabels: (sql, documentIds) => removeRows(sql, LABELS, documentIds),
    async matchChunks(sql, query, limit, among) {
      return matchWords(sql, CHUNKS, await affordable(sql, counts, query), limit, among && ofBodies(among));
    },
    matchLabels: (sql, query, limit, among) => matchWords(sql, LABELS, query, limit, among),
    countWords: (sql, words) => counts.of(sql, words),
    similarWords: findSimilarWords,
  };
}

function ofBodies({ sql, values }: Selection): Selection {
  return { sql: `SELECT id FROM chunks WHERE body_id IN (${sql})`, values };
}

async function affordable(sql: Sql, counts: WordCounts, query: WordQuery): Promise<WordQuery> {
  if (query.all.length > 0 || query.any.length < 2) return query;
  const known = await counts.of(
    sql,
    query.any.flatMap(({ words }) => words),
  );
  const rows = ({ words }: Phrase): number => Math.min(...words.map((word) => known.get(word) ?? 0));
  const [first, ...others] = [...query.any].sort((a, b) => rows(a) - rows(b));
  let left = MAX_RANKED - (first ? rows(first) : 0);
  const kept = others.filter((phrase) => {
    left -= rows(phrase);
    return left >= 0;
  });
  return { any: first ? [first, ...kept] : [], all: [] };
}
