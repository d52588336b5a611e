import type { Sql, SqlDatabase } from "../../lib/sql/sql.ts";

/** The one row about the whole store, as far as callers need it. */
export interface StateRow {
  /** The number readers see; 0 before the first commit. */
  readonly active: number;
  readonly pinned: 0 | 1;
  /** The oldest generation that is whole. */
  readonly oldest: number;
  readonly visibleRevision: number;
  /** The revision of the analyzer whose words are in the text tables. */
  readonly analyzer: string;
}

export async function readState(sql: Sql): Promise<StateRow> {
  const row = await sql.get<StateRow>(
    `SELECT active, pinned, oldest, visible_revision AS "visibleRevision", analyzer FROM state WHERE id = 1`,
  );
  if (!row) throw new Error("read store: its state row is missing");
  return row;
}

export type IdColumn = "next_generation" | "next_document" | "next_body" | "next_chunk" | "next_space";

/** The first of `count` ids nobody else gets. */
export async function takeIds(sql: Sql, column: IdColumn, count: number): Promise<number> {
  const row = await sql.get<{ next: number }>(
    `UPDATE state SET ${column} = ${column} + $1 WHERE id = 1 RETURNING ${column} AS next`,
    [count],
  );
  if (!row) throw new Error("take ids: the state row is missing");
  return row.next - count;
}

/** Tells caches of any process that what a search may see has changed. */
export async function bumpVisibleRevision(sql: Sql): Promise<void> {
  await sql.run("UPDATE state SET visible_revision = visible_revision + 1 WHERE id = 1");
}

/**
 * Whoever changes a store locks its state row first, so writers take turns whatever the database: what one of them read
 * stays true until it ends, and rows become visible in the order of their ids. In SQLite there is one writer anyway.
 */
export async function lockState(sql: Sql): Promise<void> {
  if (sql.dialect === "postgres") await sql.get("SELECT id FROM state WHERE id = 1 FOR UPDATE");
}

/** A transaction on a store, in turn. Let it await nothing but statements: everybody else is waiting. */
export function writeInTurn<T>(db: SqlDatabase, work: (sql: Sql) => Promise<T>): Promise<T> {
  return db.write(async (sql) => {
    await lockState(sql);
    return work(sql);
  });
}
