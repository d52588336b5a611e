import type { ItemId } from "../../contracts/ids.ts";
import { isListed, listOf } from "../../lib/sql/is-listed.ts";
import type { Sql, Values } from "../../lib/sql/sql.ts";
import { noteLooseBodies } from "./bodies.ts";
import type { DocumentRow, SourceKey } from "./documents.ts";

/** Hidden by a draft, and kept in case they return. One that was kept before is kept as it is now. */
export async function keepHidden(
  sql: Sql,
  documents: readonly Pick<DocumentRow, "domainId" | "sourceId" | "itemId" | "bodyId">[],
  died: number,
): Promise<void> {
  const rows = documents.flatMap(({ domainId, sourceId, itemId, bodyId }): Values[] =>
    bodyId === null ? [] : [[domainId, sourceId, itemId, bodyId, died]],
  );
  const [first] = documents;
  if (!first || rows.length === 0) return;
  await releaseItems(
    sql,
    first,
    documents.map(({ itemId }) => itemId),
  );
  await sql.insert("kept_documents (domain_id, source_id, item_id, body_id, died)", rows);
}

/** They need not be kept any longer. */
export async function releaseItems(
  sql: Sql,
  { domainId, sourceId }: SourceKey,
  items: readonly ItemId[],
): Promise<void> {
  const those = isListed(sql, "item_id", "$3", "text");
  await release(sql, `domain_id = $1 AND source_id = $2 AND ${those}`, [domainId, sourceId, listOf(items)]);
}

/** What this generation brought has returned. Costs what is kept of the source, not what the generation brought. */
export async function releaseReturned(sql: Sql, { domainId, sourceId }: SourceKey, generation: number): Promise<void> {
  const returned = `EXISTS (SELECT 1 FROM documents d WHERE d.domain_id = $1 AND d.source_id = $2
    AND d.item_id = kept_documents.item_id AND +d.born = $3)`;
  await release(sql, `domain_id = $1 AND source_id = $2 AND ${returned}`, [domainId, sourceId, generation]);
}

/** What this generation hid was never hidden: it was abandoned. */
export async function releaseHiddenBy(sql: Sql, generation: number): Promise<void> {
  await release(sql, "died = $1", [generation]);
}

/** Somebody deleted the file itself. To be called while it still has its rows. */
export async function releaseFile(sql: Sql, fileId: string): Promise<void> {
  const itsItem = `EXISTS (SELECT 1 FROM documents d WHERE d.file_id = $1 AND d.domain_id = kept_documents.domain_id
    AND d.source_id = kept_documents.source_id AND d.item_id = kept_documents.item_id)`;
  await release(sql, itsItem, [fileId]);
}

async function release(sql: Sql, condition: string, values: Values): Promise<void> {
  const rows = await sql.all<{ bodyId: number }>(
    `DELETE FROM kept_documents WHERE ${condition} RETURNING body_id AS "bodyId"`,
    values,
  );
  await noteLooseBodies(
    sql,
    rows.map(({ bodyId }) => bodyId),
  );
}
