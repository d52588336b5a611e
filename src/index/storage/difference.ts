import type { ItemId } from "../../contracts/ids.ts";
import type { Sql } from "../../lib/sql/sql.ts";
import { visibleAt } from "./generations.ts";

/** A row that one of two generations shows and the other does not. */
export interface DifferenceRow {
  readonly id: number;
  readonly domainId: string;
  readonly sourceId: string;
  readonly itemId: ItemId;
  readonly name: string;
  readonly path: string;
  readonly inFrom: 0 | 1;
  readonly inTo: 0 | 1;
  /** The item has a row that the other generation shows. */
  readonly hasOther: 0 | 1;
}

/** The generations between two numbers: only rows that were born or died in one of them can differ. */
export async function generationsBetween(sql: Sql, from: number, to: number): Promise<number[]> {
  const rows = await sql.all<{ id: number }>(
    "SELECT id FROM generations WHERE number > $1 AND number <= $2 ORDER BY number",
    [Math.min(from, to), Math.max(from, to)],
  );
  return rows.map(({ id }) => id);
}

/** One page of the rows with this end of their life in the generation, whether they differ or not. */
export async function differenceBetween(
  sql: Sql,
  range: { readonly from: number; readonly to: number },
  page: {
    readonly end: "born" | "died";
    readonly generation: number;
    readonly afterId: number;
    readonly limit: number;
  },
): Promise<DifferenceRow[]> {
  const flag = (condition: string): string => `CASE WHEN ${condition} THEN 1 ELSE 0 END`;
  const other = (at: string): string =>
    `EXISTS (SELECT 1 FROM documents o WHERE o.domain_id = d.domain_id AND o.source_id = d.source_id
       AND o.item_id = d.item_id AND ${visibleAt(at, "o")})`;
  return sql.all<DifferenceRow>(
    `SELECT d.id, d.domain_id AS "domainId", d.source_id AS "sourceId", d.item_id AS "itemId", d.name, d.path,
       ${flag(visibleAt("$1"))} AS "inFrom", ${flag(visibleAt("$2"))} AS "inTo",
       ${flag(`CASE WHEN ${visibleAt("$2")} THEN ${other("$1")} ELSE ${other("$2")} END`)} AS "hasOther"
     FROM documents d WHERE d.${page.end} = $3 AND d.id > $4 ORDER BY d.id LIMIT $5`,
    [range.from, range.to, page.generation, page.afterId, page.limit],
  );
}
