import { ConflictError } from "../../contracts/errors.ts";
import type { ItemId } from "../../contracts/ids.ts";
import type { IngestItem, ItemVersion, RegisteredItem, Registry } from "../../contracts/registry.ts";
import { openOnce } from "../../lib/open-once.ts";
import { type GatheredWrite, gatherWrites } from "../../lib/sql/gathered-writes.ts";
import { isListed, listOf } from "../../lib/sql/is-listed.ts";
import type { Sql, SqlDatabase } from "../../lib/sql/sql.ts";
import { sqlEarlierMembers } from "./earlier-members.ts";
import { columnsOf, INSERT_ITEM, ITEM_COLUMNS, type ItemRow, toRegistered, UPDATE_ITEM } from "./item-rows.ts";
import { listItems, summarizeItems } from "./sql-listing.ts";
import { type PartitionStrategy, partitionOf, rowKeyOf } from "./table-keys.ts";

const ROWS_AT_ONCE = 500;

/** The database is opened by the first call. Tables: registry-tables.ts. */
export function createSqlRegistry(
  openDatabase: () => Promise<SqlDatabase>,
  partitions: PartitionStrategy = "host",
): Registry {
  const opened = openOnce(async () => {
    const db = await openDatabase();
    return { db, write: gatherWrites(db), close: () => db.close() };
  });
  const open = async (): Promise<SqlDatabase> => (await opened.open()).db;
  const write: GatheredWrite = async (work) => (await opened.open()).write(work);
  return {
    async get(id) {
      const row = await (await open()).get<ItemRow>(`SELECT ${ITEM_COLUMNS} FROM items WHERE id = $1`, [id]);
      return row && toRegistered(row);
    },
    async getMany(ids) {
      return getItems(await open(), ids);
    },
    put: (item, expected) => putItem(write, item, expected),
    keysOf: async (item) => ({ partitionKey: partitionOf(item, partitions), rowKey: rowKeyOf(item.id) }),
    async delete(id, expected) {
      const deleted = await write((sql) =>
        sql.run("DELETE FROM items WHERE id = $1 AND version = $2", [id, toNumber(expected)]),
      );
      if (deleted === 0 && (await this.get(id))) throw changedMeanwhile(id);
    },
    async *due(at) {
      yield* dueItems(await open(), at);
    },
    async *entries(filter = {}) {
      yield* allItems(await open(), filter);
    },
    async list(query) {
      return listItems(await open(), query);
    },
    async summary(at, among) {
      return summarizeItems(await open(), at, among);
    },
    earlierMembers: sqlEarlierMembers(open),
    close: opened.close,
  };
}

async function putItem(write: GatheredWrite, item: IngestItem, expected: ItemVersion | null): Promise<ItemVersion> {
  const version = expected === null ? firstVersion() : toNumber(expected);
  const statement = expected === null ? INSERT_ITEM : UPDATE_ITEM;
  const values = [item.id, version, ...columnsOf(item)];
  if ((await write((sql) => sql.run(statement, values))) === 0) throw changedMeanwhile(item.id);
  return String(expected === null ? version : version + 1);
}

/** The clock in microseconds: an item that was deleted and registered again never has a version that somebody remembers. */
function firstVersion(): number {
  return Math.floor((performance.timeOrigin + performance.now()) * 1000);
}

/** No version that was ever given is negative. */
function toNumber(version: ItemVersion): number {
  return /^\d{1,16}$/.test(version) ? Number(version) : -1;
}

function changedMeanwhile(id: ItemId): ConflictError {
  return new ConflictError(`'${id}' was changed by somebody else in the meantime. Read it again.`);
}

async function getItems(sql: Sql, ids: readonly ItemId[]): Promise<readonly (RegisteredItem | undefined)[]> {
  const found = new Map<ItemId, RegisteredItem>();
  const text = `SELECT ${ITEM_COLUMNS} FROM items WHERE ${isListed(sql, "id", "$1", "text")}`;
  for (let from = 0; from < ids.length; from += ROWS_AT_ONCE) {
    const rows = await sql.all<ItemRow>(text, [listOf(ids.slice(from, from + ROWS_AT_ONCE))]);
    for (const row of rows) found.set(row.id, toRegistered(row));
  }
  return ids.map((id) => found.get(id));
}

/** Goes on behind the last one it saw, so whatever is done with a page changes nothing about the next. */
async function* dueItems(sql: Sql, at: string): AsyncGenerator<readonly RegisteredItem[], void> {
  let [dueAt, id]: [string, string] = ["", ""];
  for (;;) {
    const rows = await sql.all<ItemRow & { due_at: string }>(
      `SELECT ${ITEM_COLUMNS}, due_at FROM items
       WHERE due_at IS NOT NULL AND due_at <= $1 AND locked_until <= $1 AND (due_at, id) > ($2, $3)
       ORDER BY due_at, id LIMIT ${ROWS_AT_ONCE}`,
      [at, dueAt, id],
    );
    if (rows.length > 0) yield rows.map(toRegistered);
    const last = rows.at(-1);
    if (!last || rows.length < ROWS_AT_ONCE) return;
    ({ due_at: dueAt, id } = last);
  }
}

async function* allItems(
  sql: Sql,
  { statuses, watched }: NonNullable<Parameters<Registry["entries"]>[0]>,
): AsyncGenerator<readonly RegisteredItem[], void> {
  const inStatus = statuses ? `AND ${isListed(sql, "status", "$2", "text")}` : "AND $2 = ''";
  const isWatched = watched === undefined ? "" : `AND watched = ${watched ? 1 : 0}`;
  const text = `SELECT ${ITEM_COLUMNS} FROM items WHERE id > $1 ${inStatus} ${isWatched} ORDER BY id LIMIT ${ROWS_AT_ONCE}`;
  for (let after = ""; ; ) {
    const rows = await sql.all<ItemRow>(text, [after, statuses ? listOf(statuses) : ""]);
    if (rows.length > 0) yield rows.map(toRegistered);
    const last = rows.at(-1);
    if (!last || rows.length < ROWS_AT_ONCE) return;
    after = last.id;
  }
}
