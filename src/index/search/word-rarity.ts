import type { Sql } from "../../lib/sql/sql.ts";

/** How many chunks there are, about: ids are given out one after the other, and few of them are gone. */
export async function countChunks(sql: Sql): Promise<number> {
  return Number((await sql.get<{ n: number }>("SELECT coalesce(max(id), 0) AS n FROM chunks"))?.n ?? 0);
}

/** How much a word says: the fewer of `all` texts have it, the more. */
export function rarityOf(having: number, all: number): number {
  return Math.log(1 + (Math.max(0, all - having) + 0.5) / (having + 0.5));
}
