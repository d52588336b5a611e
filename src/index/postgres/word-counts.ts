import { isListed, listOf } from "../../lib/sql/is-listed.ts";
import type { Sql } from "../../lib/sql/sql.ts";
import { clip } from "./postings.ts";

/** Below this, counting costs nothing, and whether a word is rare, or there at all, must be right. */
const FREQUENT = 100;
/** A count stays good enough for ranking until the store has grown or shrunk by so much. */
const DRIFT = 0.02;
const MAX_KNOWN = 50_000;

/** In how many chunks words occur. What frequent words were counted to is remembered. */
export interface WordCounts {
  /** Words that do not occur are left out. */
  of(sql: Sql, words: readonly string[]): Promise<Map<string, number>>;
}

export function createWordCounts(): WordCounts {
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
