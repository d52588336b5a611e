import type { ItemId } from "../../contracts/ids.ts";
import type { Sql } from "../../lib/sql/sql.ts";
import type { SourceKey } from "./documents.ts";
import { visibleAt } from "./generations.ts";

const ACTIVE = "(SELECT active FROM state WHERE id = 1)";

/** One page of the items that the active generation does not show and that may return, or that an earlier one shows. */
export async function hiddenItems(
  sql: Sql,
  { domainId, sourceId }: SourceKey,
  page: { readonly after: string; readonly limit: number },
): Promise<ItemId[]> {
  const ended = `+h.died IN (SELECT id FROM generations WHERE number <= ${ACTIVE})`;
  const unseen = `h.item_id > $3 AND NOT EXISTS (
    SELECT 1 FROM documents d WHERE d.domain_id = $1 AND d.source_id = $2 AND d.item_id = h.item_id
      AND ${visibleAt(ACTIVE)})`;
  // A page from either table, in the order of its index: a page costs what it has, however much is hidden.
  const pageOf = (table: string, condition: string): string =>
    `SELECT * FROM (SELECT DISTINCT h.item_id FROM ${table} h
       WHERE h.domain_id = $1 AND h.source_id = $2 AND ${condition} ORDER BY h.item_id LIMIT $4) AS page`;
  const rows = await sql.all<{ itemId: ItemId }>(
    `SELECT item_id AS "itemId" FROM (
       ${pageOf("kept_documents", unseen)} UNION ${pageOf("documents", `${ended} AND ${unseen}`)}
     ) AS pages ORDER BY item_id LIMIT $4`,
    [domainId, sourceId, page.after, page.limit],
  );
  return rows.map(({ itemId }) => itemId);
}
