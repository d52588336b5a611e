import type { ItemId, SourceId } from "../contracts/ids.ts";
import type { CopyOfDocument, ErasedDocuments, ItemTraces } from "../contracts/search-index.ts";
import { slicesOf } from "../lib/slices-of.ts";
import { isListed, listOf, type Sql } from "../lib/sql/sql.ts";
import type { DocumentRow, SourceKey } from "./documents.ts";
import { keptGenerations, visibleAt } from "./generations.ts";
import { dropLooseBodies, eraseRows, releaseItems } from "./retention.ts";
import type { Store } from "./store.ts";
import { writeLocked } from "./store-state.ts";

const DOCUMENTS_AT_ONCE = 200;

/**
 * Deletes items from every generation, kept and shown ones and open drafts included, with their texts unless
 * another document has the same. Words that occur nowhere else leave the word tables. Searches see it at once: it is no
 * generation. Repeatable after a kill.
 */
export async function eraseItems(
  store: Store,
  source: SourceKey,
  items: readonly ItemId[],
  { dryRun }: { readonly dryRun: boolean },
): Promise<ErasedDocuments> {
  const rows = await rowsOf(store.db, source, items);
  const generations = await shownBy(store.db, source, items);
  if (dryRun) return { documents: rows.length, generations };
  for (const slice of slicesOf(rows, DOCUMENTS_AT_ONCE)) {
    await writeLocked(store.db, (sql) => eraseRows(sql, store, slice));
  }
  await writeLocked(store.db, (sql) => releaseItems(sql, source, items));
  await dropLooseBodies(store);
  await store.texts.dropLostWords(store.db);
  return { documents: rows.length, generations };
}

/** Every row of the items: current, earlier, of drafts. */
function rowsOf(
  sql: Sql,
  { domainId, sourceId }: SourceKey,
  items: readonly ItemId[],
): Promise<Pick<DocumentRow, "id" | "bodyId">[]> {
  return sql.all(
    `SELECT d.id, d.body_id AS "bodyId" FROM documents d
     WHERE d.domain_id = $1 AND d.source_id = $2 AND ${isListed(sql, "d.item_id", "$3", "text")} ORDER BY d.id`,
    [domainId, sourceId, listOf(items)],
  );
}

/** Returns the kept generations that show the items, and how many of their documents. */
async function shownBy(
  sql: Sql,
  { domainId, sourceId }: SourceKey,
  items: readonly ItemId[],
): Promise<ErasedDocuments["generations"]> {
  const shown: { number: number; documents: number }[] = [];
  for (const { number } of await keptGenerations(sql)) {
    const row = await sql.get<{ n: number }>(
      `SELECT count(*) AS n FROM documents d
       WHERE d.domain_id = $1 AND d.source_id = $2 AND ${isListed(sql, "d.item_id", "$3", "text")} AND ${visibleAt("$4")}`,
      [domainId, sourceId, listOf(items), number],
    );
    if (Number(row?.n ?? 0) > 0) shown.push({ number, documents: Number(row?.n) });
  }
  return shown;
}

/** What the index knows of an item, in all generations. */
export async function describeItem(
  sql: Sql,
  { domainId, sourceId }: SourceKey,
  item: ItemId,
): Promise<readonly ItemTraces[]> {
  return sql.all(
    `SELECT DISTINCT name, path, url, file_id AS "fileId", sha256 FROM documents
     WHERE domain_id = $1 AND source_id = $2 AND item_id = $3`,
    [domainId, sourceId, item],
  );
}

/** Yields the texts of an item's versions, one section at a time. */
export async function* textsOfItem(
  sql: Sql,
  { domainId, sourceId }: SourceKey,
  item: ItemId,
): AsyncGenerator<string, void> {
  const bodies = await sql.all<{ id: number }>(
    `SELECT DISTINCT body_id AS id FROM documents
     WHERE domain_id = $1 AND source_id = $2 AND item_id = $3 AND body_id IS NOT NULL ORDER BY body_id`,
    [domainId, sourceId, item],
  );
  for (const { id } of bodies) {
    for (let after = -1; ; ) {
      const page = await sql.all<{ position: number; text: string }>(
        "SELECT position, text FROM chunks WHERE body_id = $1 AND position > $2 ORDER BY position LIMIT 100",
        [id, after],
      );
      for (const { text } of page) yield text;
      if (page.length < 100) break;
      after = page.at(-1)?.position ?? 0;
    }
  }
}

const MENTIONS_AT_ONCE = 500;

/** Yields the items of a domain in whose text, in any generation, these words occur as they are written; case does not count. */
export async function* itemsWithText(
  sql: Sql,
  domainId: string,
  text: string,
): AsyncGenerator<readonly { readonly sourceId: SourceId; readonly itemId: ItemId }[], void> {
  // SQLite folds only ASCII letters, so it gets the others as people write them.
  const capital = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1).toLowerCase();
  const written = [text, text.toLowerCase(), text.toUpperCase(), text.replaceAll(/\p{L}+/gu, capital)];
  const spellings = sql.dialect === "sqlite" ? [...new Set(written)] : [text];
  const find = sql.dialect === "sqlite" ? "instr(lower(@), lower($))" : "position(lower($) in lower(@))";
  const has = (column: string): string =>
    `(${spellings.map((_, at) => `${find.replace("@", column).replace("$", `$${at + 3}`)} > 0`).join(" OR ")})`;
  for (let after = 0; ; ) {
    const page = await sql.all<{ id: number; sourceId: SourceId; itemId: ItemId }>(
      `SELECT d.id, d.source_id AS "sourceId", d.item_id AS "itemId" FROM documents d
       WHERE d.domain_id = $1 AND d.id > $2 AND (${has("d.name")} OR ${has("d.path")}
         OR EXISTS (SELECT 1 FROM bodies b WHERE b.id = d.body_id AND ${has("b.title")})
         OR EXISTS (SELECT 1 FROM sections s WHERE s.body_id = d.body_id AND (${has("s.content")} OR ${has("s.heading")}))
         OR EXISTS (SELECT 1 FROM chunks c WHERE c.body_id = d.body_id AND ${has("c.text")}))
       ORDER BY d.id LIMIT ${MENTIONS_AT_ONCE}`,
      [domainId, after, ...spellings],
    );
    if (page.length > 0) yield page.map(({ sourceId, itemId }) => ({ sourceId, itemId }));
    if (page.length < MENTIONS_AT_ONCE) return;
    after = page.at(-1)?.id ?? 0;
  }
}

/** Returns the documents of the store, of any domain and generation, that were made of bytes with one of these hashes. */
export async function documentsWithHash(sql: Sql, hashes: readonly string[]): Promise<readonly CopyOfDocument[]> {
  return sql.all(
    `SELECT DISTINCT domain_id AS "domainId", source_id AS "sourceId", item_id AS "itemId", file_id AS "fileId", name, path
     FROM documents WHERE ${isListed(sql, "sha256", "$1", "text")}`,
    [listOf(hashes)],
  );
}
