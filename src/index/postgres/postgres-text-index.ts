import { isListed, listOf, type Sql, type SqlValue } from "../../lib/sql/sql.ts";
import type { Phrase, Selection, TextIndex, TextMatch, WordQuery, Words } from "../store.ts";

/**
 * Every row with a word of the query is ranked. Beyond this many rows the most frequent words are left out of the match: they say least.
 * The rarest stays, however frequent it is.
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
    async dropLostWords(db) {
      const occurs = ["chunks", "labels"].map(
        (name) => `EXISTS (SELECT 1 FROM ${name}_postings p WHERE p.word = w.word)`,
      );
      await db.run(`DELETE FROM words w WHERE NOT (${occurs.join(" OR ")})`);
      await db.run("DELETE FROM words_triples t WHERE NOT EXISTS (SELECT 1 FROM words w WHERE w.word = t.word)");
    },
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

/** The constants of SQLite's bm25(), so that both databases rank alike. */
const K1 = 1.2;
const B = 0.75;
/** The weight of a word that more than half of the rows have: nearly 0, but not negative. */
const LEAST_IDF = 1e-6;

/** Builds one statement: the matches of each phrase, how rare each is, and the score of every row. */
async function matchWords(
  sql: Sql,
  kind: Kind,
  query: WordQuery,
  limit: number,
  among?: Selection,
): Promise<TextMatch[]> {
  const phrases = gatherPhrases(query);
  if (phrases.length === 0) return [];
  const values: SqlValue[] = [...(among?.values ?? [])];
  const place = (value: SqlValue): string => `$${values.push(value)}`;
  const required = phrases.filter((phrase) => phrase.required).length;
  const text = `
    WITH hits (phrase, id, f, length) AS MATERIALIZED (${hitsOf(kind, phrases, place)}),
    phrases AS (
      SELECT a.number, a.times, a.required, greatest(ln((t.row_count - f.n + 0.5) / (f.n + 0.5)), ${LEAST_IDF}) AS idf
      FROM (VALUES ${phrases.map((one, at) => `(${at}, ${one.times}, ${one.required})`).join(", ")}) a (number, times, required)
      JOIN (SELECT phrase, count(*)::float8 AS n FROM hits GROUP BY phrase) f ON f.phrase = a.number
      JOIN text_totals t ON t.kind = '${kind.name}'
    ),
    average AS (SELECT greatest(word_count, 1)::float8 / greatest(row_count, 1) AS length FROM text_totals WHERE kind = '${kind.name}')
    SELECT h.id, sum(a.times * a.idf * h.f * ${K1 + 1} / (h.f + ${K1} * (${1 - B} + ${B} * (h.length / v.length)))) AS score
    FROM hits h JOIN phrases a ON a.number = h.phrase CROSS JOIN average v
    ${among ? `WHERE h.id IN (${among.sql})` : ""}
    GROUP BY h.id ${required > 0 ? `HAVING count(*) FILTER (WHERE a.required) = ${required}` : ""}
    ORDER BY score DESC, h.id LIMIT ${place(limit)}`;
  return sql.all<TextMatch>(text, values);
}

interface WeightedPhrase extends Phrase {
  readonly required: boolean;
  /** How often it is in the query. */
  times: number;
}

function gatherPhrases({ any, all }: WordQuery): WeightedPhrase[] {
  const byText = new Map<string, WeightedPhrase>();
  for (const [phrases, required] of [
    [all, true],
    [any, false],
  ] as const) {
    for (const phrase of phrases) {
      const words = phrase.words.map(clip);
      if (words.length === 0) continue;
      const key = `${words.join(" ")}${phrase.beginning ? "*" : ""}`;
      const known = byText.get(key);
      if (known) known.times++;
      else byText.set(key, { words, beginning: phrase.beginning, required, times: 1 });
    }
  }
  return [...byText.values()];
}

/** Rows (phrase, id, f, length): f is how often the phrase occurs, each field with its weight. */
function hitsOf(kind: Kind, phrases: readonly WeightedPhrase[], place: (value: SqlValue) => string): string {
  const plain = phrases.filter(isPlain);
  const parts: string[] = [];
  if (plain.length > 0) {
    const rows = plain.map((phrase) => `(${phrases.indexOf(phrase)}, ${place(phrase.words[0] ?? "")}::text)`);
    parts.push(`SELECT w.number AS phrase, p.id, ${weighted(kind)} AS f, p.length
      FROM (VALUES ${rows.join(", ")}) w (number, word) JOIN ${kind.name}_postings p ON p.word = w.word`);
  }
  for (const [number, phrase] of phrases.entries()) {
    if (isPlain(phrase)) continue;
    parts.push(
      phrase.words.length === 1 ? beginsWith(kind, number, phrase, place) : sequence(kind, number, phrase, place),
    );
  }
  return parts.join(" UNION ALL ");
}

function isPlain({ words, beginning }: Phrase): boolean {
  return words.length === 1 && !beginning;
}

function beginsWith(kind: Kind, number: number, phrase: Phrase, place: (value: SqlValue) => string): string {
  return `SELECT ${number}, p.id, sum(${weighted(kind)}), max(p.length) FROM ${kind.name}_postings p
    WHERE ${wordIs(phrase, 0, place)} GROUP BY p.id`;
}

/** Rows with all of the words, then those with the words in sequence; overlapping occurrences count once. */
function sequence(kind: Kind, number: number, phrase: Phrase, place: (value: SqlValue) => string): string {
  const having = phrase.words.map(
    (_, at) => `t.id IN (SELECT p.id FROM ${kind.name}_postings p WHERE ${wordIs(phrase, at, place)})`,
  );
  // Every blank is doubled, so that two consecutive occurrences do not share the blank between them.
  const wanted = ` ${phrase.words.join("  ")}${phrase.beginning ? "" : " "}`;
  const sought = place(wanted);
  const found = kind.fields.map(({ name, weight }) => {
    const spaced = `replace(' ' || t.${name} || ' ', ' ', '  ')`;
    return `${weight} * (length(${spaced}) - length(replace(${spaced}, ${sought}::text, '')))::float8 / ${wanted.length}`;
  });
  return `SELECT ${number}, s.id, s.f, s.length FROM
    (SELECT t.id, ${found.join(" + ")} AS f, t.length FROM ${kind.name}_text t WHERE ${having.join(" AND ")}) s WHERE s.f > 0`;
}

function wordIs({ words, beginning }: Phrase, at: number, place: (value: SqlValue) => string): string {
  const word = `${place(words[at] ?? "")}::text`;
  if (!beginning || at < words.length - 1) return `p.word = ${word}`;
  // No character comes after the last one of Unicode, so everything that begins with the word is between the two.
  return `p.word >= ${word} AND p.word < ${word} || U&'\\+10FFFF'`;
}

function weighted({ fields }: Kind): string {
  return `(${fields.map(({ name, weight }) => `${weight} * p.${name}`).join(" + ")})::float8`;
}

/** Words of letters only: similar numbers are not typos of each other. */
const SPELT = /^\p{L}{4,40}$/u;

/** Stores words by their character triples. Known ones cost a lookup each. */
async function noteWords(sql: Sql, texts: readonly Words[]): Promise<void> {
  const words = new Set<string>();
  for (const text of texts) for (const word of text) if (SPELT.test(word)) words.add(word);
  if (words.size === 0) return;
  const fresh = await sql.all<{ word: string }>(
    "INSERT INTO words (word) SELECT jsonb_array_elements_text($1::jsonb) ON CONFLICT DO NOTHING RETURNING word",
    [listOf([...words].sort())],
  );
  await sql.insert(
    "words_triples (triple, word)",
    fresh.flatMap(({ word }) => triplesOf(word).map((triple) => [triple, word])),
  );
}

/** Returns words that contain this one, then those that share most of its triples; equal ones by nearest length. */
async function findSimilarWords(sql: Sql, word: string, limit: number): Promise<string[]> {
  if (!SPELT.test(word)) return [];
  const rows = await sql.all<{ word: string }>(
    `SELECT t.word FROM words_triples t WHERE ${isListed(sql, "t.triple", "$1", "text")} AND t.word <> $2
     GROUP BY t.word ORDER BY position($2 IN t.word) > 0 DESC, count(*) DESC, abs(length(t.word) - length($2)), t.word
     LIMIT $3`,
    [listOf(triplesOf(word)), word, limit],
  );
  return rows.map((row) => row.word);
}

/** Both ends are marked, so that words that begin or end alike have more in common. */
function triplesOf(word: string): string[] {
  const letters = ["_", ...word, "_"];
  return [...new Set(letters.slice(2).map((_, at) => letters.slice(at, at + 3).join("")))];
}

/** Below this, counting is cheap, and whether a word is rare, or there at all, must be exact. */
const FREQUENT = 100;
/** A count is accurate enough for ranking until the store has grown or shrunk by this share. */
const DRIFT = 0.02;
const MAX_KNOWN = 50_000;

/** Counts the chunks that contain a word. Counts of frequent words are cached. */
interface WordCounts {
  /** Words that do not occur are left out. */
  of(sql: Sql, words: readonly string[]): Promise<Map<string, number>>;
}

function createWordCounts(): WordCounts {
  const known = new Map<string, { readonly count: number; readonly rows: number }>();
  return {
    async of(sql, words) {
      const clipped = new Map(words.map((word) => [word, clip(word)]));
      const { counts, rows } = await countUpTo(sql, [...new Set(clipped.values())]);
      const frequent = [...counts].filter(([, count]) => count >= FREQUENT).map(([word]) => word);
      const isFresh = (word: string): boolean => Math.abs((known.get(word)?.rows ?? -1) - rows) <= rows * DRIFT;
      const unknown = frequent.filter((word) => !known.has(word) || !isFresh(word));
      if (known.size + unknown.length > MAX_KNOWN) known.clear();
      for (const [word, count] of await countAll(sql, unknown)) known.set(word, { count, rows });
      for (const word of frequent) counts.set(word, known.get(word)?.count ?? FREQUENT);
      const found = [...clipped].map(([word, short]) => [word, counts.get(short) ?? 0] as const);
      return new Map(found.filter(([, count]) => count > 0));
    },
  };
}

async function countUpTo(
  sql: Sql,
  words: readonly string[],
): Promise<{ readonly counts: Map<string, number>; readonly rows: number }> {
  const found = await sql.all<{ word: string; n: number; rows: number }>(
    `SELECT w.word, t.row_count AS rows, (SELECT count(*) FROM
       (SELECT 1 FROM chunks_postings p WHERE p.word = w.word LIMIT ${FREQUENT}) found) AS n
     FROM jsonb_array_elements_text($1::jsonb) AS w (word) CROSS JOIN text_totals t WHERE t.kind = 'chunks'`,
    [listOf(words)],
  );
  return { counts: new Map(found.map(({ word, n }) => [word, n])), rows: found[0]?.rows ?? 0 };
}

async function countAll(sql: Sql, words: readonly string[]): Promise<Map<string, number>> {
  if (words.length === 0) return new Map();
  const found = await sql.all<{ word: string; n: number }>(
    `SELECT word, count(*) AS n FROM chunks_postings WHERE ${isListed(sql, "word", "$1", "text")} GROUP BY word`,
    [listOf(words)],
  );
  return new Map(found.map(({ word, n }) => [word, n]));
}

/** The tables `<name>_text` and `<name>_postings`, and the weight of each field. */
interface Kind {
  readonly name: "chunks" | "labels";
  readonly fields: readonly { readonly name: string; readonly weight: number }[];
}

/** Headings say what a passage is about; so does the name of a document, and its folders a little. As in SQLite. */
const CHUNKS: Kind = {
  name: "chunks",
  fields: [
    { name: "headings", weight: 2 },
    { name: "text", weight: 1 },
  ],
};
const LABELS: Kind = {
  name: "labels",
  fields: [
    { name: "name", weight: 2 },
    { name: "path", weight: 1 },
    { name: "title", weight: 2 },
  ],
};

/** An index entry must fit a third of a page; a longer "word" is the beginning of a blob. */
const MAX_WORD = 200;

function clip(word: string): string {
  return word.length > MAX_WORD ? word.slice(0, MAX_WORD).toWellFormed() : word;
}

/** One row with the words of each field, in the order of the fields. */
interface WordRow {
  readonly id: number;
  readonly fields: readonly Words[];
}

async function addRows(sql: Sql, { name, fields }: Kind, rows: readonly WordRow[]): Promise<void> {
  if (rows.length === 0) return;
  const lengths = rows.map(({ fields }) => fields.reduce((sum, words) => sum + words.length, 0));
  const columns = fields.map((field) => field.name);
  await sql.insert(
    `${name}_text (id, ${columns.join(", ")}, length)`,
    rows.map(({ id, fields }, at) => [id, ...fields.map((words) => words.map(clip).join(" ")), lengths[at] ?? 0]),
  );
  // Counted in the database: it has the words now, and a row for each of them would have to be sent.
  const perField = fields.map(
    (field) =>
      `SELECT id, length, unnest(string_to_array(${field.name}, ' ')) AS word, ${fields
        .map((other) => `${other === field ? 1 : 0} AS ${other.name}`)
        .join(", ")} FROM ${name}_text WHERE ${isListed(sql, "id", "$1", "integer")}`,
  );
  await sql.run(
    `INSERT INTO ${name}_postings (word, id, ${columns.join(", ")}, length)
     SELECT word, id, ${columns.map((column) => `sum(${column})`).join(", ")}, max(length)
     FROM (${perField.join(" UNION ALL ")}) w GROUP BY word, id ORDER BY word, id`,
    [listOf(rows.map(({ id }) => id))],
  );
  await addToTotals(
    sql,
    name,
    rows.length,
    lengths.reduce((sum, length) => sum + length, 0),
  );
}

async function removeRows(sql: Sql, { name, fields }: Kind, ids: readonly number[]): Promise<void> {
  if (ids.length === 0) return;
  const listed = isListed(sql, "t.id", "$1", "integer");
  const words = fields.map((field) => `string_to_array(t.${field.name}, ' ')`).join(" || ");
  // Deletes by the words of the row, so that the postings need no second index.
  await sql.run(
    `DELETE FROM ${name}_postings p
     USING (SELECT DISTINCT t.id, unnest(${words}) AS word FROM ${name}_text t WHERE ${listed}) gone
     WHERE p.word = gone.word AND p.id = gone.id`,
    [listOf(ids)],
  );
  const gone = await sql.all<{ length: number }>(`DELETE FROM ${name}_text t WHERE ${listed} RETURNING length`, [
    listOf(ids),
  ]);
  await addToTotals(sql, name, -gone.length, -gone.reduce((sum, { length }) => sum + length, 0));
}

async function addToTotals(sql: Sql, kind: string, rows: number, words: number): Promise<void> {
  await sql.run("UPDATE text_totals SET row_count = row_count + $2, word_count = word_count + $3 WHERE kind = $1", [
    kind,
    rows,
    words,
  ]);
}
