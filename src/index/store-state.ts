import { ConflictError } from "../contracts/errors.ts";
import type { Sql, SqlDatabase } from "../lib/sql/sql.ts";
import type { SourceKey } from "./documents.ts";

/** The one row about the whole store, as far as callers need it. */
interface StateRow {
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

type IdColumn = "next_generation" | "next_document" | "next_body" | "next_chunk" | "next_space";

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

/** The first and the last row of what takes most room: a file that was cut or overwritten shows there, whatever its size. */
const ENDS = ["documents", "bodies", "chunks", "generations"].flatMap((table) =>
  ["ASC", "DESC"].map((order) => `SELECT * FROM ${table} ORDER BY id ${order} LIMIT 1`),
);

/** Throws when the store cannot be read. Looks at a few rows, so it costs the same for a large one. */
export async function probeStore(sql: Sql): Promise<void> {
  await readState(sql);
  for (const text of ENDS) await sql.get(text);
  await sql.get("SELECT chunk_id FROM vectors ORDER BY chunk_id DESC LIMIT 1");
}

/** While a store is rolled back nothing is written to it, let alone committed or forgotten: somebody may yet go forward again. */
export async function refuseIfPinned(sql: Sql, verb: string, { domainId, sourceId }: SourceKey): Promise<void> {
  const { active, pinned } = await readState(sql);
  if (pinned === 0) return;
  throw new ConflictError(
    `${verb} ${domainId}/${sourceId}: the vector store is rolled back to generation ${active}; release it, and the next run brings it up to date`,
  );
}
