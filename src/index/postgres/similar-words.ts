import { isListed, listOf } from "../../lib/sql/is-listed.ts";
import type { Sql } from "../../lib/sql/sql.ts";
import type { Words } from "../storage/store.ts";

/** Words of letters: nobody mistypes a number so that a similar one would be what was meant. */
const SPELT = /^\p{L}{4,40}$/u;

/** Notes words by their character triples. Known ones cost a look each. */
export async function noteWords(sql: Sql, texts: readonly Words[]): Promise<void> {
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

/** Words that contain this one, then those that share most of its triples; of equals the one of the nearest length. */
export async function findSimilarWords(sql: Sql, word: string, limit: number): Promise<string[]> {
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
