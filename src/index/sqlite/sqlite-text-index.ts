import type { Sql } from "../../lib/sql/sql.ts";
import type { Match, Phrase, Selection, TextIndex, WordQuery } from "../storage/store.ts";
import { createVocabulary } from "./vocabulary.ts";
import { createWordCounts, type WordCounts } from "./word-counts.ts";

/** Headings say what a passage is about; so does the name of a document, and its folders a little. */
const CHUNK_WEIGHTS = "bm25(2.0, 1.0)";
const LABEL_WEIGHTS = "bm25(2.0, 1.0, 2.0)";
/**
 * FTS5 ranks every row that matches, at microseconds each. Beyond so many rows the most frequent words of a question are
 * left out of the match: they say least, and those it finds by the others are ranked by all of them anyway.
 */
const MAX_RANKED = 20_000;
/** How many rows a beginning is taken to match: counting them would take as long as matching them. */
const BEGINNING = 1000;
/** What is matched by a frequent word alone, without ranking. */
const UNRANKED = 1e-9;

export function createSqliteTextIndex(): TextIndex {
  const vocabulary = createVocabulary();
  const counts = createWordCounts("chunks", "chunks_words");
  const labelCounts = createWordCounts("documents", "labels_words");
  return {
    async addChunks(sql, chunks) {
      await vocabulary.add(
        sql,
        chunks.flatMap(({ headings, text }) => [headings, text]),
      );
      await sql.insert(
        "chunks_text (rowid, headings, text)",
        chunks.map(({ chunkId, headings, text }) => [chunkId, headings.join(" "), text.join(" ")]),
      );
    },
    removeChunks: (sql, chunkIds) => removeRows(sql, "chunks_text", chunkIds),
    async addLabels(sql, labels) {
      await vocabulary.add(
        sql,
        labels.flatMap(({ name, path, title }) => [name, path, title]),
      );
      await sql.insert(
        "labels_text (rowid, name, path, title)",
        labels.map(({ documentId, name, path, title }) => [
          documentId,
          name.join(" "),
          path.join(" "),
          title.join(" "),
        ]),
      );
    },
    removeLabels: (sql, documentIds) => removeRows(sql, "labels_text", documentIds),
    matchChunks: (sql, query, limit, among) => matchChunks(sql, counts, query, limit, among && ofBodies(among)),
    async matchLabels(sql, query, limit, among) {
      // A word that very many names and paths have says nothing about any of them.
      const ranked = await affordable(sql, labelCounts, query);
      if (!ranked) return [];
      return match(sql, "labels_text", { expression: expressionOf(ranked), weights: LABEL_WEIGHTS }, limit, among);
    },
    async countWords(sql, words) {
      const all = await counts.of(sql, words);
      return new Map([...all].filter(([, count]) => count > 0));
    },
    similarWords: (sql, word, limit) => vocabulary.similar(sql, word, limit),
  };
}

async function removeRows(sql: Sql, table: string, ids: readonly number[]): Promise<void> {
  if (ids.length === 0) return;
  await sql.run(`DELETE FROM ${table} WHERE rowid IN (SELECT value FROM json_each($1))`, [JSON.stringify(ids)]);
}

async function matchChunks(
  sql: Sql,
  counts: WordCounts,
  query: WordQuery,
  limit: number,
  among: Selection | undefined,
): Promise<Match[]> {
  const ranked = await affordable(sql, counts, query);
  const expression = expressionOf(ranked ?? query);
  const weights = CHUNK_WEIGHTS;
  if (ranked) return match(sql, "chunks_text", { expression, weights }, limit, among);
  const inHeadings = await match(
    sql,
    "chunks_text",
    { expression: `{headings} : (${expression})`, weights },
    limit,
    among,
  );
  if (inHeadings.length >= limit) return inHeadings;
  const known = new Set(inHeadings.map(({ id }) => id));
  const others = await match(sql, "chunks_text", { expression }, limit, among);
  return [...inHeadings, ...others.filter(({ id }) => !known.has(id))].slice(0, limit);
}

/** The query with as many of its rarest words as can be ranked; undefined when there is no such word. */
async function affordable(sql: Sql, counts: WordCounts, query: WordQuery): Promise<WordQuery | undefined> {
  const phrases = query.all.length > 0 ? query.all : query.any;
  const known = await counts.of(
    sql,
    phrases.flatMap(({ words }) => words),
  );
  const rarest = ({ words, beginning }: Phrase): number =>
    beginning ? BEGINNING : Math.min(...words.map((word) => known.get(word) ?? 0));
  if (query.all.length > 0) return Math.min(...query.all.map(rarest)) > MAX_RANKED ? undefined : query;
  const byCount = query.any.map((phrase) => ({ phrase, count: rarest(phrase) })).sort((a, b) => a.count - b.count);
  let left = MAX_RANKED;
  const any: Phrase[] = [];
  for (const { phrase, count } of byCount) {
    if (count > left) break;
    left -= count;
    any.push(phrase);
  }
  if (any.length === query.any.length) return query;
  return left < MAX_RANKED ? { any, all: [] } : undefined;
}

async function match(
  sql: Sql,
  table: string,
  { expression, weights }: { readonly expression: string; readonly weights?: string },
  limit: number,
  among?: Selection,
): Promise<Match[]> {
  if (expression === "") return [];
  const values = among?.values ?? [];
  const [text, count] = [`$${values.length + 1}`, `$${values.length + 2}`];
  // The plus keeps SQLite from running the full-text query once for every row of the selection.
  const within = among ? `AND +rowid IN (${among.sql})` : "";
  const [score, ranking, order] = weights
    ? ["-rank", `AND rank MATCH '${weights}'`, "ORDER BY rank"]
    : [String(UNRANKED), "", ""];
  return sql.all<Match>(
    `SELECT rowid AS id, ${score} AS score FROM ${table}
     WHERE ${table} MATCH ${text} ${ranking} ${within} ${order} LIMIT ${count}`,
    [...values, expression, limit],
  );
}

function ofBodies({ sql, values }: Selection): Selection {
  return { sql: `SELECT id FROM chunks WHERE body_id IN (${sql})`, values };
}

function expressionOf({ any, all }: WordQuery): string {
  const required = all.filter(({ words }) => words.length > 0).map(render);
  const optional = any.filter(({ words }) => words.length > 0).map(render);
  if (required.length === 0) return optional.join(" OR ");
  // What is required stands among the optional ones, too: a text without any of the others matches as well.
  const some = optional.length > 0 ? [`(${[required[0], ...optional].join(" OR ")})`] : [];
  return [...required, ...some].join(" AND ");
}

/** In quotes, so that nothing in it can be syntax. */
function render({ words, beginning }: Phrase): string {
  return `"${words.join(" ").replaceAll('"', '""')}"${beginning ? " *" : ""}`;
}
