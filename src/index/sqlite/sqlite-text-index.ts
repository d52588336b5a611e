import type { Sql, SqlDatabase } from "../../lib/sql/sql.ts";
import type { Phrase, Selection, TextIndex, TextMatch, WordQuery, Words } from "../store.ts";
import { WORDS_TRIPLES } from "./store-tables.ts";

/** Headings say what a passage is about; so does the name of a document, and its folders a little. */
const CHUNK_WEIGHTS = "bm25(2.0, 1.0)";
const LABEL_WEIGHTS = "bm25(2.0, 1.0, 2.0)";
/**
 * FTS5 ranks every matching row, at microseconds each. Beyond this many rows the most frequent words of a query are left out of the match:
 * they say least, and the rows found by the others are ranked by all of them anyway.
 */
const MAX_RANKED = 20_000;
/** Assumed number of rows that a prefix matches: counting them would take as long as matching them. */
const BEGINNING = 1000;
/** The score of rows that match only a frequent word. */
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
    async dropLostWords(db) {
      for (const table of ["chunks_text", "labels_text"]) await mergeWhole(db, table);
      await db.write(keepOccurringWords);
    },
  };
}

/** Pages per step: a step is a short transaction. */
const MERGED_AT_ONCE = 500;

/** A deleted row leaves its words in the segments of a full-text table until they are merged into one. */
async function mergeWhole(db: SqlDatabase, table: string): Promise<void> {
  // A negative number begins a merge of all segments, positive ones go on with it.
  for (let pages = -MERGED_AT_ONCE; ; pages = MERGED_AT_ONCE) {
    const work = await db.write(async (sql) => {
      const before = await totalChanges(sql);
      await sql.run(`INSERT INTO ${table} (${table}, rank) VALUES ('merge', $1)`, [pages]);
      return (await totalChanges(sql)) - before;
    });
    if (work < 2) return;
  }
}

async function totalChanges(sql: Sql): Promise<number> {
  return (await sql.get<{ n: number }>("SELECT total_changes() AS n"))?.n ?? 0;
}

/** Makes the table of words anew: from its trigrams nothing can be taken out. Ids go on, so that every process drops its cache. */
async function keepOccurringWords(sql: Sql): Promise<void> {
  const occurs = ["chunks_words", "labels_words"].map(
    (table) => `EXISTS (SELECT 1 FROM ${table} v WHERE v.term = w.word)`,
  );
  const lost = await sql.get(`SELECT 1 FROM words w WHERE NOT (${occurs.join(" OR ")}) LIMIT 1`);
  if (!lost) return;
  const last = await sql.get<{ id: number }>("SELECT coalesce(max(id), 0) AS id FROM words");
  await sql.run(`DELETE FROM words AS w WHERE NOT (${occurs.join(" OR ")})`);
  await sql.run("UPDATE words SET id = id + $1", [(last?.id ?? 0) + 1]);
  await sql.run("DROP TABLE words_triples");
  await sql.run(WORDS_TRIPLES);
  await sql.run("INSERT INTO words_triples (rowid, word) SELECT id, '_' || word || '_' FROM words ORDER BY id");
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
): Promise<TextMatch[]> {
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

/** Returns the query with as many of its rarest words as can be ranked; undefined if there is none. */
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
): Promise<TextMatch[]> {
  if (expression === "") return [];
  const values = among?.values ?? [];
  const [text, count] = [`$${values.length + 1}`, `$${values.length + 2}`];
  // The plus keeps SQLite from running the full-text query once for every row of the selection.
  const within = among ? `AND +rowid IN (${among.sql})` : "";
  const [score, ranking, order] = weights
    ? ["-rank", `AND rank MATCH '${weights}'`, "ORDER BY rank"]
    : [String(UNRANKED), "", ""];
  return sql.all<TextMatch>(
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
  // Required phrases are among the optional ones, too: a text without any of the others also matches.
  const some = optional.length > 0 ? [`(${[required[0], ...optional].join(" OR ")})`] : [];
  return [...required, ...some].join(" AND ");
}

/** In quotes, so that nothing in it is syntax. */
function render({ words, beginning }: Phrase): string {
  return `"${words.join(" ").replaceAll('"', '""')}"${beginning ? " *" : ""}`;
}

/** Words of letters only: similar numbers are not typos of each other. */
const MIN_LENGTH = 4;
const SPELT = new RegExp(`^\\p{L}{${MIN_LENGTH},40}$`, "u");
const MAX_KNOWN = 200_000;

/** The words of a store by their character triples. */
interface Vocabulary {
  add(sql: Sql, texts: readonly Words[]): Promise<void>;
  /** Returns words that contain this one, then those that share most of its triples. */
  similar(sql: Sql, word: string, limit: number): Promise<string[]>;
}

/**
 * Caches which words are in the table already, so that a text of known words costs no statement. What was cached inside a transaction that
 * failed must be dropped: the last added word shows it, because it is missing then.
 */
function createVocabulary(): Vocabulary {
  const known = new Set<string>();
  let last: { readonly id: number; readonly word: string } | undefined;

  const forgetUnlessThere = async (sql: Sql): Promise<void> => {
    if (!last) return;
    const row = await sql.get<{ word: string }>("SELECT word FROM words WHERE id = $1", [last.id]);
    if (row?.word === last.word) return;
    known.clear();
    last = undefined;
  };

  return {
    async add(sql, texts) {
      await forgetUnlessThere(sql);
      const fresh = unknownWords(texts, known);
      if (fresh.length === 0) return;
      if (known.size + fresh.length > MAX_KNOWN) known.clear();
      const top = await sql.get<{ id: number }>("SELECT coalesce(max(id), 0) AS id FROM words");
      await sql.insert(
        "words (word)",
        fresh.map((word) => [word]),
        "ON CONFLICT DO NOTHING",
      );
      const added = await sql.all<{ id: number; word: string }>(
        "SELECT id, word FROM words WHERE id > $1 ORDER BY id",
        [top?.id ?? 0],
      );
      await sql.insert(
        "words_triples (rowid, word)",
        added.map(({ id, word }) => [id, padded(word)]),
      );
      for (const word of fresh) known.add(word);
      last = added.at(-1) ?? last;
    },
    async similar(sql, word, limit) {
      if (!SPELT.test(word)) return [];
      const containing = await matchTriples(sql, triplesOf(word).join(" AND "), limit);
      const swapped = await thoseThere(sql, swaps(word));
      const alike = await wordsLike(sql, word, limit);
      const found = [...containing.filter((other) => other.includes(word)), ...swapped, ...alike];
      return [...new Set(found)].filter((other) => other !== word).slice(0, limit);
    },
  };
}

/**
 * Most misspelt words share two consecutive triples with the intended word, and few other words do. Only if none does, every word with any
 * common triple is ranked, which takes longer.
 */
async function wordsLike(sql: Sql, word: string, limit: number): Promise<string[]> {
  const triples = triplesOf(padded(word));
  const pairs = triples.slice(1).map((triple, at) => `(${triples[at]} AND ${triple})`);
  const alike = await matchTriples(sql, pairs.join(" OR "), limit);
  return alike.some((other) => other !== word) ? alike : matchTriples(sql, triples.join(" OR "), limit);
}

/** Swapping two letters leaves a short word hardly a triple, so swaps are looked up one by one. */
function swaps(word: string): string[] {
  const letters = [...word];
  return letters
    .slice(1)
    .map((letter, at) => [...letters.slice(0, at), letter, letters[at], ...letters.slice(at + 2)].join(""));
}

async function thoseThere(sql: Sql, words: readonly string[]): Promise<string[]> {
  const rows = await sql.all<{ word: string }>(
    "SELECT word FROM words WHERE word IN (SELECT value FROM json_each($1)) ORDER BY word",
    [JSON.stringify(words)],
  );
  return rows.map(({ word }) => word);
}

async function matchTriples(sql: Sql, expression: string, limit: number): Promise<string[]> {
  const rows = await sql.all<{ word: string }>(
    `SELECT w.word FROM (SELECT rowid AS id, rank AS distance FROM words_triples WHERE words_triples MATCH $1
       ORDER BY rank LIMIT $2) t JOIN words w ON w.id = t.id ORDER BY t.distance, w.word`,
    [expression, limit],
  );
  return rows.map(({ word }) => word);
}

function unknownWords(texts: readonly Words[], known: ReadonlySet<string>): string[] {
  const fresh = new Set<string>();
  for (const words of texts) {
    for (const word of words) {
      if (word.length >= MIN_LENGTH && !known.has(word) && !fresh.has(word) && SPELT.test(word)) fresh.add(word);
    }
  }
  return [...fresh];
}

/** Marks both ends, so that words that begin or end alike have more in common. */
function padded(word: string): string {
  return `_${word}_`;
}

function triplesOf(word: string): string[] {
  const letters = [...word];
  return letters.slice(2).map((_, at) => `"${letters.slice(at, at + 3).join("")}"`);
}

/** Counting a frequent word takes milliseconds, so its count is cached until the table has grown by a fifth. */
const FREQUENT = 1000;
const GROWTH = 1.2;
const MAX_CACHED = 10_000;

interface WordCounts {
  /** Returns how many rows have each of these words; counts of frequent words may be a little old. 0 for words that do not occur. */
  of(sql: Sql, words: Iterable<string>): Promise<Map<string, number>>;
}

interface CachedCount {
  readonly count: number;
  /** The newest row at that time. */
  readonly lastRow: number;
}

/** `vocabulary` counts the words of `table`. */
function createWordCounts(table: "chunks" | "documents", vocabulary: string): WordCounts {
  const cached = new Map<string, CachedCount>();
  return {
    async of(sql, words) {
      const row = await sql.get<{ id: number }>(`SELECT coalesce(max(id), 0) AS id FROM ${table}`);
      const lastRow = row?.id ?? 0;
      const counts = new Map<string, number>();
      for (const word of new Set(words)) {
        const known = cached.get(word);
        if (known && isValid(known, lastRow)) {
          counts.set(word, known.count);
          continue;
        }
        const found = await sql.get<{ n: number }>(`SELECT doc AS n FROM ${vocabulary} WHERE term = $1`, [word]);
        const count = found?.n ?? 0;
        counts.set(word, count);
        if (cached.size >= MAX_CACHED) cached.clear();
        cached.set(word, { count, lastRow });
      }
      return counts;
    },
  };
}

function isValid({ count, lastRow }: CachedCount, lastNow: number): boolean {
  if (lastRow === lastNow) return true;
  return count >= FREQUENT && lastRow < lastNow && lastNow <= lastRow * GROWTH;
}
