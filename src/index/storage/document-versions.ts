import type { DomainId } from "../../contracts/ids.ts";
import type { DocumentVersion, DocumentWanted } from "../../contracts/search-index.ts";
import type { Sql, Values } from "../../lib/sql/sql.ts";
import { visibleAt } from "./generations.ts";

export interface VersionRow extends Omit<DocumentVersion, "visible"> {
  readonly visible: 0 | 1;
}

const MAX_VERSIONS = 20;

/** Rows of committed generations, rolled-back ones included. By what a document is called, all rows are looked at. */
export async function documentVersions(sql: Sql, domain: DomainId, wanted: DocumentWanted): Promise<VersionRow[]> {
  const [condition, values]: [string, Values] =
    "called" in wanted
      ? [
          "(d.item_id = $2 OR d.file_id = $2 OR d.path = $2 OR d.url = $2 OR lower(d.name) = lower($2))",
          [wanted.called],
        ]
      : ["d.source_id = $2 AND d.item_id = $3", [wanted.sourceId, wanted.itemId]];
  return sql.all<VersionRow>(
    `SELECT d.source_id AS "sourceId", d.item_id AS "itemId", d.file_id AS "fileId", d.name, d.path, d.url,
       b.number AS since, e.number AS until,
       CASE WHEN ${visibleAt("(SELECT active FROM state WHERE id = 1)")} THEN 1 ELSE 0 END AS visible
     FROM documents d JOIN generations b ON b.id = d.born LEFT JOIN generations e ON e.id = d.died
     WHERE d.domain_id = $1 AND d.body_id IS NOT NULL AND b.number > 0 AND ${condition}
     ORDER BY b.number DESC, d.id DESC LIMIT ${MAX_VERSIONS}`,
    [domain, ...values],
  );
}
