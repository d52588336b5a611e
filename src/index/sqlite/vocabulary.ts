import type { Sql } from "../../lib/sql/sql.ts";
import type { Words } from "../storage/store.ts";

/** Words of letters: nobody mistypes a number so that a similar one would be what was meant. */
const MIN_LENGTH = 4;
const SPELT = new RegExp(`^\\p{L}{${MIN_LENGTH},40}$`, "u");
const MAX_KNOWN = 200_000;

/** The words of a store by their character triples. */
export interface Vocabulary {
  add(sql: Sql, texts: readonly Words[]): Promise<void>;
  /** Words that contain this one, then those that share most of its triples. */
  similar(sql: Sql, word: string, limit: number): Promise<string[]>;
}

/**
 * Remembers which words are in the table already, so that a text made of known words costs no statement. What was
 * remembered inside a transaction that failed must be forgotten: the last word that was added tells, for it is gone, too.
 */
export function createVocabulary(): Vocabulary {
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
 * Most misspelt words have two triples in a row in common with what was meant, and few other words have. Only when none
 * does, every word with any triple in common is ranked, which takes longer.
 */
async function wordsLike(sql: Sql, word: string, limit: number): Promise<string[]> {
  const triples = triplesOf(padded(word));
  const pairs = triples.slice(1).map((triple, at) => `(${triples[at]} AND ${triple})`);
  const alike = await matchTriples(sql, pairs.join(" OR "), limit);
  return alike.some((other) => other !== word) ? alike : matchTriples(sql, triples.join(" OR "), limit);
}

/** Two letters swapped leave a short word hardly a triple, so these are looked up one by one. */
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
