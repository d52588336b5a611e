import { ConflictError } from "../../contracts/errors.ts";
import { isListed, listOf } from "../../lib/sql/is-listed.ts";
import type { Sql, SqlDatabase } from "../../lib/sql/sql.ts";
import { nowSeconds } from "../../lib/time.ts";
import { type BodyKey, noteLooseBodies, type StoredBody } from "./bodies.ts";
import { takeIds, writeInTurn } from "./state.ts";

/**
 * A large body is written in several transactions, so that nobody waits for all of it. Until it is whole its row has a key
 * under which nobody looks for bodies, and says when it last grew, so that what a killed process left can be told.
 */
export const UNFINISHED = "unfinished";
/** On its way out, a slice at a time: nobody may find it any more. */
const WITHDRAWN = "withdrawn";
/** Embedding what comes next may have to wait for a service; whoever stands still for longer is dead. */
const STALE_SECONDS = 3600;

/** A body of which every part is in the store, and which is to be finished in the transaction that needs it. */
export interface UnfinishedBody extends StoredBody {
  readonly key: BodyKey;
}

export async function beginBody(
  sql: Sql,
  { title, language }: { readonly title: string; readonly language: string },
): Promise<number> {
  const id = await takeIds(sql, "next_body", 1);
  await sql.insert("bodies (id, sha256, file_type, extractor, chunking, title, language)", [
    [id, UNFINISHED, "", String(nowSeconds()), String(id), title, language],
  ]);
  return id;
}

/** To be called in every transaction that adds to it. Throws ConflictError when it was taken for a dead process's. */
export async function growBody(sql: Sql, id: number): Promise<void> {
  const there = await sql.run(`UPDATE bodies SET extractor = $2 WHERE id = $1 AND sha256 = '${UNFINISHED}'`, [
    id,
    String(nowSeconds()),
  ]);
  if (there === 0) throw swept();
}

/** From here on it is found by its key. Throws ConflictError when it was taken for a dead process's. */
export async function finishBody(sql: Sql, { id, key }: UnfinishedBody): Promise<void> {
  const there = await sql.run(
    `UPDATE bodies SET sha256 = $2, file_type = $3, extractor = $4, chunking = $5
     WHERE id = $1 AND sha256 = '${UNFINISHED}'`,
    [id, key.sha256, key.fileType, key.extractor, key.chunking],
  );
  if (there === 0) throw swept();
}

function swept(): ConflictError {
  return new ConflictError("write document: its writing stood still for so long that its parts were cleaned up");
}

/** Those of them that nobody finished go with the next cleanup. */
export async function abandonBodies(sql: Sql, ids: readonly number[]): Promise<void> {
  if (ids.length === 0) return;
  const rows = await sql.all<{ id: number }>(
    `SELECT id FROM bodies WHERE sha256 = '${UNFINISHED}' AND ${isListed(sql, "id", "$1", "integer")}`,
    [listOf(ids)],
  );
  for (const { id } of rows) await withdrawBody(sql, id);
  await noteLooseBodies(
    sql,
    rows.map(({ id }) => id),
  );
}

/** Nobody finds it any more. No document may name it. */
export async function withdrawBody(sql: Sql, id: number): Promise<void> {
  await sql.run(
    `UPDATE bodies SET sha256 = '${WITHDRAWN}', file_type = '', extractor = '', chunking = $2 WHERE id = $1`,
    [id, String(id)],
  );
}

/** What killed processes began and never finished. Looks before it locks: mostly there is nothing. */
export async function abandonStaleBodies(db: SqlDatabase): Promise<void> {
  if ((await staleBodies(db)).length === 0) return;
  await writeInTurn(db, async (sql) => abandonBodies(sql, await staleBodies(sql)));
}

async function staleBodies(sql: Sql): Promise<number[]> {
  const rows = await sql.all<{ id: number; grownAt: string }>(
    `SELECT id, extractor AS "grownAt" FROM bodies WHERE sha256 = '${UNFINISHED}'`,
  );
  const before = nowSeconds() - STALE_SECONDS;
  return rows.filter(({ grownAt }) => Number(grownAt) < before).map(({ id }) => id);
}

/** By the wall clock, whatever time a draft is made at: it tells whether a process is alive. */
