import type { Sql, SqlDatabase } from "../../../lib/sql/sql.ts";
import { type ListKey, type Page, type PageRequest, readPage } from "../catalog/read-page.ts";
import type { Item } from "./items.ts";

export interface Conversation {
  readonly id: string;
  /** Unix seconds. */
  readonly createdAt: number;
  readonly metadata: Readonly<Record<string, string>>;
}

export interface ItemRow extends ListKey {
  readonly id: string;
  /** JSON. */
  readonly item: string;
}

export async function insertConversation(
  db: SqlDatabase,
  { id, createdAt, metadata }: Conversation,
  items: readonly Item[],
): Promise<void> {
  await db.write(async (sql) => {
    await sql.run("INSERT INTO conversations (id, created_at, metadata) VALUES ($1, $2, $3)", [
      id,
      createdAt,
      JSON.stringify(metadata),
    ]);
    await appendItems(sql, id, items);
  });
}

export async function findConversation(sql: Sql, id: string): Promise<Conversation | undefined> {
  const row = await sql.get<{ readonly id: string; readonly createdAt: number; readonly metadata: string }>(
    'SELECT id, created_at AS "createdAt", metadata FROM conversations WHERE id = $1',
    [id],
  );
  return row && { ...row, metadata: JSON.parse(row.metadata) as Record<string, string> };
}

export async function updateConversation(sql: Sql, id: string, metadata: Conversation["metadata"]): Promise<void> {
  await sql.run("UPDATE conversations SET metadata = $1 WHERE id = $2", [JSON.stringify(metadata), id]);
}

/** With its items. */
export async function deleteConversation(db: SqlDatabase, id: string): Promise<void> {
  await db.run("DELETE FROM conversations WHERE id = $1", [id]);
}

/** At the end of the conversation, together and in this order. false: there is no such conversation (any more). */
export async function appendItems(sql: Sql, id: string, items: readonly Item[]): Promise<boolean> {
  // Holds the row until the transaction ends, so that the items of two who append at once do not mix.
  if ((await sql.run("UPDATE conversations SET metadata = metadata WHERE id = $1", [id])) === 0) return false;
  const rows = items.map((item) => [item.id, id, JSON.stringify(item)]);
  await sql.insert("conversation_items (id, conversation_id, item)", rows);
  return true;
}

export async function itemsOf(sql: Sql, id: string): Promise<Item[]> {
  const rows = await sql.all<{ readonly item: string }>(
    "SELECT item FROM conversation_items WHERE conversation_id = $1 ORDER BY seq",
    [id],
  );
  return rows.map(({ item }) => JSON.parse(item) as Item);
}

/** Items have no time of their own: they stand in the order in which they were said. */
const ITEM_COLUMNS = 'id, seq, seq AS "createdAt", item';

export async function listItems(sql: Sql, id: string, request: PageRequest): Promise<Page<ItemRow>> {
  const where = { where: "conversation_id = $1", values: [id] };
  return readPage(
    sql,
    { columns: ITEM_COLUMNS, from: "conversation_items", createdAt: "seq", seq: "seq", ...where },
    request,
  );
}

export async function findItem(sql: Sql, id: string, itemId: string): Promise<ItemRow | undefined> {
  return sql.get(`SELECT ${ITEM_COLUMNS} FROM conversation_items WHERE conversation_id = $1 AND id = $2`, [id, itemId]);
}

/** false: there was none. */
export async function deleteItem(sql: Sql, id: string, itemId: string): Promise<boolean> {
  return (await sql.run("DELETE FROM conversation_items WHERE conversation_id = $1 AND id = $2", [id, itemId])) > 0;
}
