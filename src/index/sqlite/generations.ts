import { ConflictError } from "../../contracts/errors.ts";
import type { Database } from "./open-database.ts";

/** Storage of generations: plain reads and writes, to be called inside a transaction of the caller. */

export function insertGeneration(db: Database, source: string, createdAt: number): number {
  const { lastInsertRowid } = db
    .statement("INSERT INTO generations (source_id, created_at) VALUES (?, ?)")
    .run(source, createdAt);
  return Number(lastInsertRowid);
}

/** The ids of all generations up to the active one, at one moment. */
export function visibleGenerations(db: Database): ReadonlySet<number> {
  const rows = db.statement("SELECT id FROM generations WHERE number <= (SELECT active FROM state)").all();
  return new Set(rows.map((row) => Number(row["id"])));
}

/** Tells caches of any process that what a search may see has changed. */
export function bumpVisibleRevision(db: Database): void {
  db.statement("UPDATE state SET visible_revision = visible_revision + 1").run();
}

/**
 * Numbers one row and moves one pointer, however large the store. What lies above the pointer after a rollback loses
 * its number first, so nothing abandoned comes back.
 */
export function activateGeneration(db: Database, generation: number, committedAt: number): void {
  db.statement("UPDATE generations SET number = NULL WHERE number > (SELECT active FROM state)").run();
  const { changes } = db
    .statement(
      `UPDATE generations SET number = (SELECT active FROM state) + 1, committed_at = ?
       WHERE id = ? AND number IS NULL`,
    )
    .run(committedAt, generation);
  if (Number(changes) !== 1) throw new ConflictError("commit draft: another run of this source has taken over");
  db.statement("UPDATE state SET active = active + 1, visible_revision = visible_revision + 1").run();
}

/** Drafts of the source that never got a number: whoever opened them is gone. */
export function uncommittedGenerations(db: Database, source: string): number[] {
  return db
    .statement("SELECT id FROM generations WHERE source_id = ? AND number IS NULL")
    .all(source)
    .map((row) => Number(row["id"]));
}

/** Undoes a draft: what it brought goes, what it would have ended lives on. */
export function deleteGeneration(db: Database, generation: number): void {
  db.statement("DELETE FROM documents WHERE born = ?").run(generation);
  db.statement("UPDATE documents SET died = NULL WHERE died = ?").run(generation);
  db.statement("DELETE FROM generations WHERE id = ?").run(generation);
}

/** Nothing that died at or below this number can be seen by a kept generation; 0 when everything is kept. */
export function cleanupHorizon(db: Database, keptCount: number, keptSince: number): number {
  const lastKept = db
    .statement(
      `SELECT number FROM generations WHERE number > 0 AND number <= (SELECT active FROM state)
       ORDER BY number DESC LIMIT 1 OFFSET ?`,
    )
    .get(keptCount - 1)?.["number"];
  if (lastKept === undefined) return 0;
  // From the top down, so that the cost is the number of young generations and not of all.
  const youngestOld = db
    .statement("SELECT number FROM generations WHERE number > 0 AND committed_at < ? ORDER BY number DESC LIMIT 1")
    .get(keptSince)?.["number"];
  return youngestOld === undefined ? 0 : Math.min(Number(lastKept), Number(youngestOld) + 1);
}

/** A committed generation that no document names any more says nothing. */
export function deleteGenerationIfEmpty(db: Database, generation: number, horizon: number): void {
  db.statement(
    `DELETE FROM generations WHERE id = ?1 AND number > 0 AND number < ?2
       AND NOT EXISTS (SELECT 1 FROM documents WHERE born = ?1)
       AND NOT EXISTS (SELECT 1 FROM documents WHERE died = ?1)`,
  ).run(generation, horizon);
}
