import type { Sql, SqlValue, Values } from "../../lib/sql/sql.ts";

/** Sort key of a row: its second, then its sequence number. */
export interface ListKey {
  readonly createdAt: number;
  readonly seq: number;
}

export interface PageRequest {
  readonly limit: number;
  readonly order: "asc" | "desc";
  readonly after?: ListKey | undefined;
  readonly before?: ListKey | undefined;
}

export interface Page<T> {
  readonly rows: readonly T[];
  readonly hasMore: boolean;
}

/** A list in SQL: what to select, which columns are its key, and which rows belong to it. */
export interface ListQuery {
  readonly columns: string;
  readonly from: string;
  readonly createdAt: string;
  readonly seq: string;
  /** Its placeholders begin at $1. */
  readonly where?: string;
  readonly values?: Values;
}

/** Returns the page after `after`, or the one that ends before `before`, in the requested order. */
export async function readPage<T>(sql: Sql, query: ListQuery, request: PageRequest): Promise<Page<T>> {
  const backwards = request.before !== undefined && request.after === undefined;
  const ascending = (request.order === "asc") !== backwards;
  const conditions = [query.where ?? "1 = 1"];
  const values: SqlValue[] = [...(query.values ?? [])];
  const bind = (value: number): string => `$${values.push(value)}`;
  const bound = (key: ListKey, operator: ">" | "<"): void => {
    conditions.push(`(${query.createdAt}, ${query.seq}) ${operator} (${bind(key.createdAt)}, ${bind(key.seq)})`);
  };
  if (request.after) bound(request.after, request.order === "asc" ? ">" : "<");
  if (request.before) bound(request.before, request.order === "asc" ? "<" : ">");
  const direction = ascending ? "ASC" : "DESC";
  const rows = await sql.all<T>(
    `SELECT ${query.columns} FROM ${query.from} WHERE ${conditions.join(" AND ")}
     ORDER BY ${query.createdAt} ${direction}, ${query.seq} ${direction} LIMIT ${bind(request.limit + 1)}`,
    values,
  );
  const hasMore = rows.length > request.limit;
  const page = rows.slice(0, request.limit);
  return { rows: backwards ? page.reverse() : page, hasMore };
}
