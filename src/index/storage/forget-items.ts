import { setImmediate as nextRound } from "node:timers/promises";
import type { ItemId } from "../../contracts/ids.ts";
import { isListed, listOf } from "../../lib/sql/is-listed.ts";
import type { Sql } from "../../lib/sql/sql.ts";
import { dropLooseBodies } from "./cleanup.ts";
import { type DocumentRow, deleteDocuments, type SourceKey } from "./documents.ts";
import { visibleAt } from "./generations.ts";
import { releaseItems } from "./kept-documents.ts";
import { refuseIfPinned } from "./refuse-if-pinned.ts";
import { bumpVisibleRevision, writeInTurn } from "./state.ts";
import type { Store } from "./store.ts";

/** Small enough that others get their turn in between. */
const ITEMS_AT_ONCE = 200;

/**
 * Final in all generations of the store, for items that the active one does not show; those that it shows are left alone, and
 * told. What a draft is bringing just now stays. ConflictError while the store is rolled back: what nobody sees now may be what
 * they go forward to. Killed half-way, it may be repeated.
 */
export async function forgetItems(store: Store, source: SourceKey, items: readonly ItemId[]): Promise<ItemId[]> {
  return await inTurns(store, items, async (sql, some) => {
    await refuseIfPinned(sql, "forget documents of", source);
    const seen = new Set(await visibleOf(sql, source, some));
    const unseen = some.filter((item) => !seen.has(item));
    const rows = await deadRows(sql, source, unseen);
    await deleteDocuments(sql, store, rows);
    await releaseItems(sql, source, unseen);
    if (rows.length > 0) await bumpVisibleRevision(sql);
    return [...seen];
  });
}

/** They need not be kept in case they return; what kept generations show of them stays as long as those do. */
export async function letGoOfItems(store: Store, source: SourceKey, items: readonly ItemId[]): Promise<void> {
  await inTurns(store, items, async (sql, some) => {
    await releaseItems(sql, source, some);
    return [];
  });
}

/** Gathers what each turn says. */
async function inTurns(
  store: Store,
  items: readonly ItemId[],
  work: (sql: Sql, some: readonly ItemId[]) => Promise<ItemId[]>,
): Promise<ItemId[]> {
  const said: ItemId[] = [];
  for (let at = 0; at < items.length; at += ITEMS_AT_ONCE) {
    said.push(...(await writeInTurn(store.db, (sql) => work(sql, items.slice(at, at + ITEMS_AT_ONCE)))));
    await nextRound();
  }
  if (items.length === 0) return said;
  await dropLooseBodies(store);
  // The log of a SQLite file has pages as they were before. Whoever reads just now keeps it; the next purge, or the last to close, empties it.
  if (store.db.dialect === "sqlite") await store.db.run("PRAGMA wal_checkpoint(TRUNCATE)");
  return said;
}

async function visibleOf(sql: Sql, { domainId, sourceId }: SourceKey, items: readonly ItemId[]): Promise<ItemId[]> {
  const rows = await sql.all<{ itemId: ItemId }>(
    `SELECT DISTINCT d.item_id AS "itemId" FROM documents d
     WHERE d.domain_id = $1 AND d.source_id = $2 AND ${isListed(sql, "d.item_id", "$3", "text")}
       AND ${visibleAt("(SELECT active FROM state WHERE id = 1)")}`,
    [domainId, sourceId, listOf(items)],
  );
  return rows.map(({ itemId }) => itemId);
}

function deadRows(
  sql: Sql,
  { domainId, sourceId }: SourceKey,
  items: readonly ItemId[],
): Promise<Pick<DocumentRow, "id" | "bodyId">[]> {
  return sql.all(
    `SELECT d.id, d.body_id AS "bodyId" FROM documents d
     WHERE d.domain_id = $1 AND d.source_id = $2 AND ${isListed(sql, "d.item_id", "$3", "text")}
       AND +d.died IN (SELECT id FROM generations WHERE number <= (SELECT active FROM state WHERE id = 1))`,
    [domainId, sourceId, listOf(items)],
  );
}
