import type { ItemId } from "../contracts/ids.ts";
import type { SqlDatabase } from "../lib/sql/sql.ts";

/** What this run saw, in a temporary database: memory does not grow with the source. */
export const VERIFY_TABLES = `
CREATE TABLE listed (item_id TEXT PRIMARY KEY, sighting TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE undecided (item_id TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
CREATE TABLE known (item_id TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
CREATE TABLE held (item_id TEXT NOT NULL, file_id TEXT NOT NULL, ref TEXT NOT NULL, PRIMARY KEY (item_id, file_id)) STRICT, WITHOUT ROWID;
CREATE TABLE item (item_id TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
CREATE TABLE stranger (path TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
`;

export async function insertItems(
  db: SqlDatabase,
  table: "known" | "undecided",
  items: readonly ItemId[],
): Promise<void> {
  const rows = items.map((itemId) => [itemId]);
  await db.insert(`${table} (item_id)`, rows, "ON CONFLICT DO NOTHING");
}
