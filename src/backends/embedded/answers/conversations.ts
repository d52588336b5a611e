import { type Asker, maySee, mayWrite, NOT_YOURS_TO_ORDER } from "../../../contracts/access.ts";
import type { Sql, SqlDatabase } from "../../../lib/sql/sql.ts";
import { type ListKey, type Page, type PageRequest, readPage } from "../read-page.ts";
import { WireError } from "../wire/wire-error.ts";
import type { Quota } from "./answer-context.ts";
import type { Item } from "./items.ts";

export interface Conversation {
  readonly id: string;
  /** Unix seconds. */
  readonly createdAt: number;
  readonly metadata: Readonly<Record<string, string>>;
  /** null: unknown. */
  readonly owner: string | null;
}

export interface ItemRow extends ListKey {
  readonly id: string;
  /** JSON. */
  readonly item: string;
}

export async function insertConversation(
  db: SqlDatabase,
  { id, createdAt, metadata, owner }: Conversation,
  items: readonly Item[],
): Promise<void> {
  await db.write(async (sql) => {
    await sql.run("INSERT INTO conversations (id, created_at, metadata, owner) VALUES ($1, $2, $3, $4)", [
      id,
      createdAt,
      JSON.stringify(metadata),
      owner,
    ]);
    await appendItems(sql, id, items);
  });
}

export async function findConversation(sql: Sql, id: string, asker: Asker): Promise<Conversation | undefined> {
  const row = await sql.get<Omit<Conversation, "metadata"> & { readonly metadata: string }>(
    'SELECT id, created_at AS "createdAt", metadata, owner FROM conversations WHERE id = $1',
    [id],
  );
  if (!row || !maySee(asker, row.owner)) return undefined;
  return { ...row, metadata: JSON.parse(row.metadata) as Record<string, string> };
}

export async function updateConversation(sql: Sql, id: string, metadata: Conversation["metadata"]): Promise<void> {
  await sql.run("UPDATE conversations SET metadata = $1 WHERE id = $2", [JSON.stringify(metadata), id]);
}

/** With its items. */
export async function deleteConversation(db: SqlDatabase, id: string): Promise<void> {
  await db.run("DELETE FROM conversations WHERE id = $1", [id]);
}

/** Appends the items in one transaction, in this order. Returns false if the conversation does not exist. */
export async function appendItems(sql: Sql, id: string, items: readonly Item[]): Promise<boolean> {
  // Locks the row until the transaction ends, so that the items of concurrent appends do not mix.
  const rows = items.map((item) => [item.id, id, JSON.stringify(item)]);
  const bytes = rows.reduce((sum, [, , item = ""]) => sum + item.length, 0);
  if ((await sql.run("UPDATE conversations SET bytes = bytes + $2 WHERE id = $1", [id, bytes])) === 0) return false;
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

/** Items have no time; they are ordered by sequence number. */
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

/** Returns false if there was none. */
export async function deleteItem(sql: Sql, id: string, itemId: string): Promise<boolean> {
  const row = await findItem(sql, id, itemId);
  if (!row) return false;
  await sql.run("UPDATE conversations SET bytes = bytes - $2 WHERE id = $1", [id, row.item.length]);
  return (await sql.run("DELETE FROM conversation_items WHERE conversation_id = $1 AND id = $2", [id, itemId])) > 0;
}

/** Throws WireError if the owner's quota is used up. Conversations never expire, so none is deleted for another. */
export async function checkRoom(sql: Sql, owner: string | null, { conversations, bytes }: Quota): Promise<void> {
  if (owner === null) return;
  const kept = await sql.get<{ readonly count: number; readonly bytes: number }>(
    "SELECT count(*) AS count, coalesce(sum(bytes), 0) AS bytes FROM conversations WHERE owner = $1",
    [owner],
  );
  if (Number(kept?.count) < conversations && Number(kept?.bytes) < bytes) return;
  throw new WireError(
    429,
    `This key has as many conversations as one may have (${conversations}, or ${bytes} characters together). An administrator can delete some; questions with 'previous_response_id' need none.`,
    null,
    "insufficient_quota",
  );
}

export function checkItems(items: readonly Item[], { owner }: Conversation, asker: Asker): void {
  if (!items.every(({ role }) => mayWrite(asker, owner, role))) throw new WireError(400, NOT_YOURS_TO_ORDER);
}
