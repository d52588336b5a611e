import { EMPTY_ITEM } from "../../contracts/empty-item.ts";
import { ConflictError, DamagedError } from "../../contracts/errors.ts";
import type { ItemId } from "../../contracts/ids.ts";
import {
  DAMAGED_RECORD,
  INGEST_STATUSES,
  type IngestItem,
  type IngestStatus,
  type ItemPage,
  type ItemQuery,
  type ItemSort,
  type ItemVersion,
  type RegisteredItem,
  type Registry,
  type RegistrySummary,
} from "../../contracts/registry.ts";
import { openOnce } from "../../lib/once.ts";
import { slicesOf } from "../../lib/slices-of.ts";
import { type GatheredWrite, gatherWrites } from "../../lib/sql/gathered-writes.ts";
import { type DatabasePlace, openDatabase } from "../../lib/sql/open-database.ts";
import {
  isListed,
  listOf,
  type Schema,
  type Sql,
  type SqlDatabase,
  type SqlValue,
  storableText,
} from "../../lib/sql/sql.ts";
import { findDamage } from "../../lib/sql/sqlite-database.ts";
import { toUtcMicros } from "../../lib/time.ts";
import { sqlEarlierMembers } from "./earlier-members.ts";
import { dayBefore, isScheduled, searchTextOf } from "./item-queries.ts";
import { type PartitionStrategy, partitionOf, rowKeyOf } from "./table-keys.ts";

/** A crawl fetches many pages at once, but each uses the registry only briefly. */
const CONNECTIONS = 4;

/** In a SQLite file of this folder for the processes of one machine, or in a PostgreSQL database for those of many. Opened by the first call. */
export function openSqlRegistry(where: DatabasePlace, partitions?: PartitionStrategy): Registry {
  return createSqlRegistry(
    () =>
      sayingDamage(
        openDatabase(where, {
          file: "registry.sqlite",
          schema: "lockstep_registry",
          tables: registryTables,
          connections: CONNECTIONS,
        }),
      ),
    partitions,
  );
}

/** The database, which says for people that its file is damaged. The cure is that of docs/formats/registry.md. */
async function sayingDamage(opening: Promise<SqlDatabase>): Promise<SqlDatabase> {
  const db = await opening.catch(throwDamage);
  return {
    dialect: db.dialect,
    all: (text, values) => db.all<never>(text, values).catch(throwDamage),
    rows: (text, values) => db.rows(text, values).catch(throwDamage),
    get: (text, values) => db.get<never>(text, values).catch(throwDamage),
    run: (text, values) => db.run(text, values).catch(throwDamage),
    insert: (into, rows, suffix) => db.insert(into, rows, suffix).catch(throwDamage),
    write: (work) => db.write(work).catch(throwDamage),
    read: (work) => db.read(work).catch(throwDamage),
    close: () => db.close(),
  };
}

function throwDamage(error: unknown): never {
  const reason = findDamage(error);
  if (reason === undefined) throw error;
  throw new DamagedError(
    `The registry of web addresses is damaged: ${reason}.`,
    "Stop lockstep, delete index/registry.sqlite with its -wal and -shm, and start it again. Crawls find the pages of web sites again. Addresses that were registered one by one have to be registered again, before the next crawl takes their documents out of the index.",
  );
}

const ROWS_AT_ONCE = 500;

/** The database is opened by the first call. Tables: registry-tables.ts. */
function createSqlRegistry(openDatabase: () => Promise<SqlDatabase>, partitions: PartitionStrategy = "host"): Registry {
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

/** The clock in microseconds: an item that is deleted and registered again never gets a version that a caller may still hold. */
function firstVersion(): number {
  return Math.floor((performance.timeOrigin + performance.now()) * 1000);
}

/** -1, which matches no item, for anything that is no version. */
function toNumber(version: ItemVersion): number {
  return /^\d{1,16}$/.test(version) ? Number(version) : -1;
}

function changedMeanwhile(id: ItemId): ConflictError {
  return new ConflictError(`'${id}' was changed by somebody else in the meantime. Read it again.`);
}

async function getItems(sql: Sql, ids: readonly ItemId[]): Promise<readonly (RegisteredItem | undefined)[]> {
  const found = new Map<ItemId, RegisteredItem>();
  const text = `SELECT ${ITEM_COLUMNS} FROM items WHERE ${isListed(sql, "id", "$1", "text")}`;
  for (const slice of slicesOf(ids, ROWS_AT_ONCE)) {
    const rows = await sql.all<ItemRow>(text, [listOf(slice)]);
    for (const row of rows) found.set(row.id, toRegistered(row));
  }
  return ids.map((id) => found.get(id));
}

/** Continues after the last row it read, so changes to the items of a page do not affect the next one. */
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

const SORT_COLUMNS: Readonly<Record<ItemSort, string>> = {
  displaySource: "display_source",
  status: "status",
  nextCrawlAt: "next_crawl_at",
  lastChecked: "last_checked",
  lastChanged: "last_changed",
  firstSeen: "first_seen",
};

function listItems(db: SqlDatabase, query: ItemQuery): Promise<ItemPage> {
  const { where, values } = conditionsOf(db, query);
  const order = `${SORT_COLUMNS[query.sort ?? "displaySource"]} ${query.descending ? "DESC" : "ASC"}, id`;
  const [limit, offset] = [`$${values.length + 1}`, `$${values.length + 2}`];
  return db.read(async (sql) => {
    const counted = await sql.get<{ total: number }>(`SELECT count(*) AS total FROM items ${where}`, values);
    // The rows are long: only those of the page are read as a whole.
    const rows = await sql.all<ItemRow>(
      `SELECT ${ITEM_COLUMNS} FROM items WHERE id IN (SELECT id FROM items ${where} ORDER BY ${order} LIMIT ${limit} OFFSET ${offset}) ORDER BY ${order}`,
      [...values, query.limit ?? Number.MAX_SAFE_INTEGER, query.offset],
    );
    return { items: rows.map(toItem), total: counted?.total ?? 0 };
  });
}

function conditionsOf(
  sql: Sql,
  { statuses, host, among, text }: ItemQuery,
): { readonly where: string; readonly values: readonly SqlValue[] } {
  const parts: string[] = [];
  const values: SqlValue[] = [];
  const add = (value: SqlValue, condition: (place: string) => string): void => {
    values.push(value);
    parts.push(condition(`$${values.length}`));
  };
  if (among) add(listOf([...among]), (place) => isListed(sql, "id", place, "text"));
  if (statuses) add(listOf(statuses), (place) => isListed(sql, "status", place, "text"));
  if (host !== undefined) add(hostKey(host), (place) => `host = ${place}`);
  if (text) {
    const position = sql.dialect === "sqlite" ? "instr" : "strpos";
    add(storableText(text.toLowerCase()), (place) => `${position}(search_text, ${place}) > 0`);
  }
  return { where: parts.length > 0 ? `WHERE ${parts.join(" AND ")}` : "", values };
}

interface SummaryRow {
  readonly status: IngestStatus;
  readonly total: number;
  readonly due: number;
  readonly oldestDue: string | null;
  readonly oldestChecked: string | null;
  readonly checked: number;
  readonly changed: number;
}

/** One statement, over an index that has all it needs. */
async function summarizeItems(sql: Sql, at: string, among: ReadonlySet<ItemId> | undefined): Promise<RegistrySummary> {
  const due = "due_at <= $2 AND locked_until <= $2";
  const rows = await sql.all<SummaryRow>(
    `SELECT status, count(*) AS total,
       count(CASE WHEN ${due} THEN 1 END) AS due,
       min(CASE WHEN ${due} THEN due_at END) AS "oldestDue",
       min(CASE WHEN last_checked <> '' THEN last_checked END) AS "oldestChecked",
       count(CASE WHEN last_checked >= $3 THEN 1 END) AS checked,
       count(CASE WHEN last_checked >= $3 AND last_changed >= $3 THEN 1 END) AS changed
     FROM items WHERE ${among ? isListed(sql, "id", "$1", "text") : "$1 = ''"} GROUP BY status`,
    [among ? listOf([...among]) : "", at, dayBefore(at)],
  );
  const sum = (of: (row: SummaryRow) => number): number => rows.reduce((total, row) => total + of(row), 0);
  const oldest = (of: (row: SummaryRow) => string | null): string => rows.map(of).filter(Boolean).sort()[0] ?? "";
  const totals = Object.fromEntries(rows.map(({ status, total }) => [status, total]));
  return {
    total: sum(({ total }) => total),
    byStatus: Object.fromEntries(INGEST_STATUSES.map((status) => [status, totals[status] ?? 0])) as Record<
      IngestStatus,
      number
    >,
    due: sum(({ due: n }) => n),
    oldestDue: oldest((row) => row.oldestDue),
    oldestChecked: oldest((row) => row.oldestChecked),
    checkedLastDay: sum(({ checked }) => checked),
    changedLastDay: sum(({ changed }) => changed),
    failedLastDay: sum(({ status, checked }) => (status === "Error" ? checked : 0)),
  };
}

/** The format is described in docs/formats/registry.md. What is asked for or sorted by has a column; `item` has everything. */
export function registryTables(dialect: Sql["dialect"]): Schema {
  // Not WITHOUT ROWID: the rows are long, and their tree would be a deep one.
  const [integer, text, strict] =
    dialect === "sqlite" ? ["INTEGER", "TEXT", "STRICT"] : ["bigint", 'text COLLATE "C"', ""];
  return {
    version: 1,
    sql: `
CREATE TABLE items (
  id ${text} NOT NULL PRIMARY KEY,
  version ${integer} NOT NULL,
  status ${text} NOT NULL,
  watched ${integer} NOT NULL,
  host ${text} NOT NULL,
  -- When the timer is to look at it; NULL: it leaves it alone.
  due_at ${text},
  locked_until ${text} NOT NULL,
  next_crawl_at ${text} NOT NULL,
  last_checked ${text} NOT NULL,
  last_changed ${text} NOT NULL,
  first_seen ${text} NOT NULL,
  display_source ${text} NOT NULL,
  -- Addresses and titles in lower case.
  search_text ${text} NOT NULL,
  item ${text} NOT NULL
) ${strict};
CREATE INDEX items_due ON items (due_at, id) WHERE due_at IS NOT NULL;
CREATE INDEX items_summary ON items (status, id, watched, last_checked, last_changed, due_at, locked_until);
CREATE INDEX items_host ON items (host);
`,
  };
}

export interface ItemRow {
  readonly id: ItemId;
  readonly version: number;
  readonly watched: number;
  readonly host: string;
  readonly first_seen: string;
  readonly display_source: string;
  readonly item: string;
}

const ITEM_COLUMNS = "id, version, watched, host, first_seen, display_source, item";

/** The columns beside `id` and `version`. JSON keeps what text columns cannot, so `item` is given back as it was. */
const COLUMNS: Readonly<Record<string, (item: IngestItem) => SqlValue>> = {
  status: ({ status }) => status,
  watched: ({ watched }) => (watched ? 1 : 0),
  host: ({ sourceHost }) => hostKey(sourceHost),
  due_at: dueAt,
  locked_until: ({ lock }) => lock.lockedUntil,
  next_crawl_at: ({ scheduling }) => scheduling.nextCrawlAt,
  last_checked: ({ scheduling }) => scheduling.lastChecked,
  last_changed: ({ scheduling }) => scheduling.lastChanged,
  first_seen: ({ scheduling }) => scheduling.firstSeen,
  display_source: ({ displaySource }) => storableText(displaySource),
  search_text: (item) => storableText(searchTextOf(item)),
  item: (item) => JSON.stringify(item),
};

const NAMES = Object.keys(COLUMNS);
const READERS = Object.values(COLUMNS);

const INSERT_ITEM = `INSERT INTO items (id, version, ${NAMES.join(", ")})
  VALUES ($1, $2, ${NAMES.map((_, at) => `$${at + 3}`).join(", ")}) ON CONFLICT (id) DO NOTHING`;
const UPDATE_ITEM = `UPDATE items SET version = version + 1, ${NAMES.map((name, at) => `${name} = $${at + 3}`).join(", ")}
  WHERE id = $1 AND version = $2`;

function columnsOf(item: IngestItem): readonly SqlValue[] {
  return READERS.map((read) => read(item));
}

function toRegistered(row: ItemRow): RegisteredItem {
  return { item: toItem(row), version: String(row.version) };
}

/** A damaged record does not fail the query: it is restored from its columns as far as they go. */
export function toItem(row: ItemRow): IngestItem {
  return parseItem(row) ?? salvageItem(row);
}

function parseItem({ id, item }: ItemRow): IngestItem | undefined {
  try {
    const read = JSON.parse(item) as IngestItem | null;
    return read?.id === id && GROUPS.every((name) => typeof read[name] === "object") ? read : undefined;
  } catch {
    return undefined;
  }
}

const GROUPS = ["http", "file", "content", "linkage", "scheduling", "lock", "history"] as const;

/** Due at once, without validators: the next fetch writes the record again. */
function salvageItem({ id, watched, host, first_seen: firstSeen, display_source: address }: ItemRow): IngestItem {
  const detail = "What was known of it was lost: its record was damaged.";
  return {
    ...EMPTY_ITEM,
    id,
    normalizedSource: address,
    displaySource: address,
    foundSource: address,
    sourceHost: host,
    status: "Error",
    watched: watched === 1,
    scheduling: { ...EMPTY_ITEM.scheduling, firstSeen, errorMessage: DAMAGED_RECORD },
    history: [{ at: toUtcMicros(new Date()), event: "damaged", detail }],
  };
}

/** No host that answers has a longer name, and PostgreSQL refuses to index texts of any length. */
function hostKey(host: string): string {
  return storableText(host).slice(0, 255);
}

function dueAt(item: IngestItem): string | null {
  return isScheduled(item) && item.scheduling.nextCrawlAt !== "" ? item.scheduling.nextCrawlAt : null;
}
