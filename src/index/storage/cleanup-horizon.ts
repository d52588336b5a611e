import type { Sql } from "../../lib/sql/sql.ts";

export interface Keep {
  readonly crawls: number;
  /** Unix seconds. */
  readonly committedSince: number;
}

/**
 * Nothing that died at or below this number can be seen by a generation worth keeping; 0 when all are. Kept are what the
 * last few crawls committed and the state before the first of them, so each of them can be taken back as a whole.
 */
export async function cleanupHorizon(sql: Sql, keep: Keep): Promise<number> {
  const first = await firstOfCrawls(sql, keep.crawls);
  const before = await newestBelow(sql, first);
  if (!before) return 0;
  // From the top down, so that the cost is the number of young generations and not of all.
  const youngestOld = await sql.get<{ number: number }>(
    "SELECT number FROM generations WHERE number > 0 AND committed_at < $1 ORDER BY number DESC LIMIT 1",
    [keep.committedSince],
  );
  return youngestOld ? Math.min(before.number, youngestOld.number + 1) : 0;
}

/**
 * The number of the first generation that one of the last `count` crawls committed; 0 when there were not as many. One
 * without a mark is a crawl of its own. Crawls may run side by side, so those of one need not lie together.
 */
async function firstOfCrawls(sql: Sql, count: number): Promise<number> {
  const state = await sql.get<{ active: number }>("SELECT active FROM state WHERE id = 1");
  const marks: string[] = [];
  let at = (state?.active ?? 0) + 1;
  for (let crawl = 0; crawl < count; crawl++) {
    const newest = await newestBelow(sql, at, marks);
    if (!newest) return 0;
    at = newest.number;
    if (newest.crawl) marks.push(newest.crawl);
  }
  if (marks.length === 0) return at;
  const first = await sql.get<{ number: number }>(
    `SELECT min(number) AS number FROM generations WHERE number > 0 AND crawl IN (${placeholders(marks, 1)})`,
    marks,
  );
  return Math.min(at, first?.number ?? at);
}

/** The newest generation below a number that belongs to none of these crawls. */
function newestBelow(
  sql: Sql,
  number: number,
  marks: readonly string[] = [],
): Promise<{ readonly number: number; readonly crawl: string } | undefined> {
  const others = marks.length > 0 ? `AND crawl NOT IN (${placeholders(marks, 2)})` : "";
  return sql.get(
    `SELECT number, crawl FROM generations WHERE number > 0 AND number < $1 ${others} ORDER BY number DESC LIMIT 1`,
    [number, ...marks],
  );
}

function placeholders(values: readonly string[], from: number): string {
  return values.map((_, at) => `$${from + at}`).join(", ");
}
