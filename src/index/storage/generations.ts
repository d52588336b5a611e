import type { Sql } from "../../lib/sql/sql.ts";
import type { SourceKey } from "./documents.ts";
import { takeIds } from "./state.ts";

/**
 * Storage of generations: plain reads and writes, to be called inside a transaction of the caller (see writeInTurn).
 *
 * A row without a number and without `committed_at` is an open draft. One that has `committed_at` but no number is
 * abandoned: its draft was taken over, or it was rolled back for good. Nobody sees it, and sweeping removes it.
 *
 * The storage functions of the generation-based crawl, and where they are here:
 *
 * | specification | here |
 * | --- | --- |
 * | insert_document | insertDocuments (documents.ts) |
 * | insert_sections | insertSections (sections.ts) |
 * | activate_generation | activateGeneration |
 * | cleanup_old_generations | cleanupOldGenerations (cleanup.ts) |
 * | get_sections_by_document | sectionsOfDocument (sections.ts) |
 * | search_sections_fts | searchStore (../search), through TextIndex.matchChunks (store.ts) and visibleAt |
 * | documents_active | the view of that name |
 * | generation_active | visibleAt: born by then, and not dead by then |
 */
export interface GenerationRow {
  readonly id: number;
  readonly number: number;
  readonly domainId: string;
  readonly sourceId: string;
  /** The same for all that one crawl committed; "" for a commit that stands for itself. */
  readonly crawl: string;
  readonly committedAt: number;
  readonly added: number;
  readonly removed: number;
}

/**
 * A condition that holds for rows `d` of `documents` that generation number `at` shows. `+` keeps SQLite from looking rows
 * up by their generation: a first crawl has all its documents in one.
 */
export function visibleAt(at: string, d = "d"): string {
  const byThen = `SELECT id FROM generations WHERE number <= ${at}`;
  return `+${d}.born IN (${byThen}) AND (${d}.died IS NULL OR +${d}.died NOT IN (${byThen}))`;
}

/** The ids of all generations up to the active one, at one moment. */
export async function visibleGenerations(sql: Sql): Promise<number[]> {
  const rows = await sql.all<{ id: number }>(
    "SELECT id FROM generations WHERE number <= (SELECT active FROM state WHERE id = 1)",
  );
  return rows.map(({ id }) => id);
}

/** An open draft. */
export async function insertGeneration(
  sql: Sql,
  { domainId, sourceId }: SourceKey,
  { crawl, createdAt }: { readonly crawl: string; readonly createdAt: number },
): Promise<number> {
  const id = await takeIds(sql, "next_generation", 1);
  await sql.insert("generations (id, domain_id, source_id, crawl, created_at, added, removed)", [
    [id, domainId, sourceId, crawl, createdAt, 0, 0],
  ]);
  return id;
}

const OPEN = "number IS NULL AND committed_at IS NULL";

/** false: it is no open draft any more. */
export async function countChanges(sql: Sql, id: number, added: number, removed: number): Promise<boolean> {
  const changed = await sql.run(
    `UPDATE generations SET added = added + $2, removed = removed + $3 WHERE id = $1 AND ${OPEN}`,
    [id, added, removed],
  );
  return changed === 1;
}

/**
 * Numbers one row and moves one pointer, however large the store. false: the draft is not open any more, and nothing was
 * changed.
 */
export async function activateGeneration(sql: Sql, id: number, committedAt: number): Promise<boolean> {
  const open = await sql.get(`SELECT id FROM generations WHERE id = $1 AND ${OPEN}`, [id]);
  if (!open) return false;
  await sql.run(
    "UPDATE generations SET number = (SELECT active FROM state WHERE id = 1) + 1, committed_at = $2 WHERE id = $1",
    [id, committedAt],
  );
  await sql.run("UPDATE state SET active = active + 1, visible_revision = visible_revision + 1 WHERE id = 1");
  return true;
}

/** Readers see `number` from now on, and the store is pinned to it. false: it is not kept. */
export async function rollbackTo(sql: Sql, number: number): Promise<boolean> {
  if (!(await isKept(sql, number))) return false;
  await sql.run("UPDATE state SET active = $1, pinned = 1, visible_revision = visible_revision + 1 WHERE id = 1", [
    number,
  ]);
  return true;
}

/**
 * What lies above the active generation loses its number, so nothing abandoned comes back. Before any draft is written: a
 * row has one end, and a draft that ends what a rollback brought back to life takes the end it had above.
 */
export async function releasePin(sql: Sql): Promise<void> {
  await sql.run("UPDATE generations SET number = NULL WHERE number > (SELECT active FROM state WHERE id = 1)");
  await sql.run("UPDATE state SET pinned = 0 WHERE id = 1");
}

const KEPT = "number >= 1 AND number >= (SELECT oldest FROM state WHERE id = 1)";

/** Newest first. */
export async function keptGenerations(sql: Sql): Promise<GenerationRow[]> {
  return sql.all<GenerationRow>(
    `SELECT id, number, domain_id AS "domainId", source_id AS "sourceId", crawl, committed_at AS "committedAt", added, removed
     FROM generations WHERE ${KEPT} ORDER BY number DESC`,
  );
}

export async function isKept(sql: Sql, number: number): Promise<boolean> {
  const row = await sql.get(`SELECT id FROM generations WHERE number = $1 AND ${KEPT}`, [number]);
  return row !== undefined;
}

/** Whoever has these drafts open can neither write to them nor commit them any more. */
export async function abandonDrafts(sql: Sql, nowSeconds: number, source?: SourceKey): Promise<number> {
  if (!source) return sql.run(`UPDATE generations SET committed_at = $1 WHERE ${OPEN}`, [nowSeconds]);
  return sql.run(`UPDATE generations SET committed_at = $1 WHERE domain_id = $2 AND source_id = $3 AND ${OPEN}`, [
    nowSeconds,
    source.domainId,
    source.sourceId,
  ]);
}

export async function openDrafts(sql: Sql, source: SourceKey): Promise<number[]> {
  const rows = await sql.all<{ id: number }>(
    `SELECT id FROM generations WHERE domain_id = $1 AND source_id = $2 AND ${OPEN}`,
    [source.domainId, source.sourceId],
  );
  return rows.map(({ id }) => id);
}

export async function abandonGeneration(sql: Sql, id: number, nowSeconds: number): Promise<void> {
  await sql.run(`UPDATE generations SET committed_at = $2 WHERE id = $1 AND ${OPEN}`, [id, nowSeconds]);
}

export async function abandonedGenerations(sql: Sql): Promise<number[]> {
  const rows = await sql.all<{ id: number }>(
    "SELECT id FROM generations WHERE number IS NULL AND committed_at IS NOT NULL ORDER BY id",
  );
  return rows.map(({ id }) => id);
}

/** No document may name it. */
export async function deleteGeneration(sql: Sql, id: number): Promise<void> {
  await sql.run("DELETE FROM generations WHERE id = $1", [id]);
}

/** From here on earlier generations can neither be searched nor gone back to. */
export async function raiseOldest(sql: Sql, oldest: number): Promise<void> {
  await sql.run("UPDATE state SET oldest = $1 WHERE id = 1 AND oldest < $1", [oldest]);
}

/** A committed generation that is not kept and that no document names says nothing. */
export async function deleteGenerationIfEmpty(sql: Sql, id: number): Promise<void> {
  await sql.run(
    `DELETE FROM generations WHERE id = $1 AND number > 0 AND number < (SELECT oldest FROM state WHERE id = 1)
       AND NOT EXISTS (SELECT 1 FROM documents WHERE born = $1)
       AND NOT EXISTS (SELECT 1 FROM documents WHERE died = $1)`,
    [id],
  );
}
