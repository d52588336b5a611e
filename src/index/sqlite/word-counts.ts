import type { Sql } from "../../lib/sql/sql.ts";

/** Counting a frequent word takes milliseconds, so its count is kept until the table has grown by a fifth. */
const FREQUENT = 1000;
const GROWTH = 1.2;
const MAX_KEPT = 10_000;

export interface WordCounts {
  /** How many rows have each of these words; those of frequent words may be a little old. 0 for words that do not occur. */
  of(sql: Sql, words: Iterable<string>): Promise<Map<string, number>>;
}

interface Kept {
  readonly count: number;
  /** The newest row at that time. */
  readonly lastRow: number;
}

/** `vocabulary` counts the words of `table`. */
export function createWordCounts(table: "chunks" | "documents", vocabulary: string): WordCounts {
  const kept = new Map<string, Kept>();
  return {
    async of(sql, words) {
      const row = await sql.get<{ id: number }>(`SELECT coalesce(max(id), 0) AS id FROM ${table}`);
      const lastRow = row?.id ?? 0;
      const counts = new Map<string, number>();
      for (const word of new Set(words)) {
        const known = kept.get(word);
        if (known && isValid(known, lastRow)) {
          counts.set(word, known.count);
          continue;
        }
        const found = await sql.get<{ n: number }>(`SELECT doc AS n FROM ${vocabulary} WHERE term = $1`, [word]);
        const count = found?.n ?? 0;
        counts.set(word, count);
        if (kept.size >= MAX_KEPT) kept.clear();
        kept.set(word, { count, lastRow });
      }
      return counts;
    },
  };
}

function isValid({ count, lastRow }: Kept, lastNow: number): boolean {
  if (lastRow === lastNow) return true;
  return count >= FREQUENT && lastRow < lastNow && lastNow <= lastRow * GROWTH;
}
