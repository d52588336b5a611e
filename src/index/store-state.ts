import type { Sql, SqlDatabase } from "../lib/sql/sql.ts";

/** The one row of `state`, as far as callers need it. */
interface StateRow {
  /** The generation that was committed last; 0 before the first commit. Never goes down. */
  readonly newest: number;
  /** The generation that readers see: the newest, unless a rollback pins another. */
  readonly shown: number;
  readonly pinned: 0 | 1;
  /** The oldest generation that is whole. */
  readonly oldest: number;
  readonly visibleRevision: number;
  /** The revision of the analyzer whose words are in the text tables. */
  readonly analyzer: string;
}

export async function readState(sql: Sql): Promise<StateRow> {
  const row = await sql.get<StateRow>(
    `SELECT newest, shown, pinned, oldest, visible_revision AS "visibleRevision", analyzer FROM state WHERE id = 1`,
  );
  if (!row) throw new Error("read store: its state row is missing");
  return row;
}

type IdColumn = "next_generation" | "next_document" | "next_body" | "next_chunk" | "next_space";

/** Reserves `count` ids; returns the first. */
export async function takeIds(sql: Sql, column: IdColumn, count: number): Promise<number> {
  const row = await sql.get<{ next: number }>(
    `UPDATE state SET ${column} = ${column} + $1 WHERE id = 1 RETURNING ${column} AS next`,
    [count],
  );
  if (!row) throw new Error("take ids: the state row is missing");
  return row.next - count;
}

/** Invalidates the caches of all processes: what a search may find has changed. */
export async function bumpVisibleRevision(sql: Sql): Promise<void> {
  await sql.run("UPDATE state SET visible_revision = visible_revision + 1 WHERE id = 1");
}

/**
 * Locks the state row, which every writer does first. So writers run one after the other in any database: what one read stays
 * true until it ends, and rows become visible in the order of their ids. SQLite has one writer anyway.
 */
export async function lockState(sql: Sql): Promise<void> {
  if (sql.dialect === "postgres") await sql.get("SELECT id FROM state WHERE id = 1 FOR UPDATE");
}

/** Runs a write transaction that holds the lock of the store. It must await nothing but statements: other writers wait. */
export function writeLocked<T>(db: SqlDatabase, work: (sql: Sql) => Promise<T>): Promise<T> {
  return db.write(async (sql) => {
    await lockState(sql);
    return work(sql);
  });
}

/** Reads the first and the last row of the largest tables: truncated or overwritten files fail there, whatever their size. */
const ENDS = ["documents", "bodies", "chunks", "generations"].flatMap((table) =>
  ["ASC", "DESC"].map((order) => `SELECT * FROM ${table} ORDER BY id ${order} LIMIT 1`),
);

/** Throws if the store cannot be read. Reads a few rows only, so the cost does not depend on its size. */
export async function probeStore(sql: Sql): Promise<void> {
  await readState(sql);
  for (const text of ENDS) await sql.get(text);
  await sql.get("SELECT chunk_id FROM vectors ORDER BY chunk_id DESC LIMIT 1");
}
