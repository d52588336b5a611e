import type { ItemId } from "../../contracts/ids.ts";
import {
  INGEST_STATUSES,
  type IngestStatus,
  type ItemPage,
  type ItemQuery,
  type ItemSort,
  type RegistrySummary,
} from "../../contracts/registry.ts";
import { isListed, listOf } from "../../lib/sql/is-listed.ts";
import type { Sql, SqlDatabase, SqlValue } from "../../lib/sql/sql.ts";
import { storableText } from "../../lib/sql/storable-text.ts";
import { hostKey, ITEM_COLUMNS, type ItemRow, toItem } from "./item-rows.ts";
import { dayBefore } from "./item-wishes.ts";

const SORT_COLUMNS: Readonly<Record<ItemSort, string>> = {
  displaySource: "display_source",
  status: "status",
  nextCrawlAt: "next_crawl_at",
  lastChecked: "last_checked",
  lastChanged: "last_changed",
  firstSeen: "first_seen",
};

export function listItems(db: SqlDatabase, query: ItemQuery): Promise<ItemPage> {
  const { where, values } = conditionsOf(db, query);
  const order = `${SORT_COLUMNS[query.sort ?? "displaySource"]} ${query.descending ? "DESC" : "ASC"}, id`;
  const [limit, offset] = [`$${values.length + 1}`, `$${values.length + 2}`];
  return db.read(async (sql) => {
    const counted = await sql.get<{ total: number }>(`SELECT count(*) AS total FROM items ${where}`, values);
    // The rows are long: only those that are shown are taken along.
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
export async function summarizeItems(
  sql: Sql,
  at: string,
  among: ReadonlySet<ItemId> | undefined,
): Promise<RegistrySummary> {
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
