import type { Sql } from "../../lib/sql/sql.ts";
import { takeIds } from "../store-state.ts";

/** A stored space, without its learnt model, which may be megabytes. */
export interface SpaceRow {
  readonly id: number;
  readonly model: string;
  readonly revision: string;
  readonly dimensions: number;
  /** How many chunks the store had when the space was made. */
  readonly chunks: number;
  /** 1: used for searches. */
  readonly active: number;
}

/** The active one first, then the newest. */
export async function listSpaces(sql: Sql): Promise<SpaceRow[]> {
  return sql.all<SpaceRow>(
    "SELECT id, model, revision, dimensions, chunks, active FROM spaces ORDER BY active DESC, id DESC",
  );
}

export async function activeSpace(sql: Sql): Promise<SpaceRow | undefined> {
  return sql.get<SpaceRow>("SELECT id, model, revision, dimensions, chunks, active FROM spaces WHERE active = 1");
}

export async function learntOf(sql: Sql, spaceId: number): Promise<Uint8Array | null> {
  const row = await sql.get<{ learnt: Uint8Array | null }>("SELECT learnt FROM spaces WHERE id = $1", [spaceId]);
  return row?.learnt ?? null;
}

/** The first bytes of it, without reading the rest. */
export async function learntHeadOf(sql: Sql, spaceId: number, bytes: number): Promise<Uint8Array | null> {
  const row = await sql.get<{ head: Uint8Array | null }>(
    `SELECT substr(learnt, 1, ${Number(bytes)}) AS head FROM spaces WHERE id = $1`,
    [spaceId],
  );
  return row?.head ?? null;
}

export interface NewSpace {
  readonly model: string;
  readonly revision: string;
  readonly dimensions: number;
  readonly learnt: Uint8Array | null;
  readonly active: 0 | 1;
}

/** Call it inside a transaction that holds the state row; see lockState. */
export async function insertSpace(sql: Sql, space: NewSpace): Promise<SpaceRow> {
  const id = await takeIds(sql, "next_space", 1);
  const counted = await sql.get<{ n: number }>("SELECT COUNT(*) AS n FROM chunks");
  const chunks = Number(counted?.n ?? 0);
  const { model, revision, dimensions, learnt, active } = space;
  const createdAt = Math.floor(Date.now() / 1000);
  await sql.insert("spaces (id, model, revision, dimensions, learnt, chunks, active, created_at)", [
    [id, model, revision, dimensions, learnt, chunks, active, createdAt],
  ]);
  return { id, model, revision, dimensions, chunks, active };
}

export async function activateSpace(sql: Sql, spaceId: number): Promise<void> {
  await sql.run("UPDATE spaces SET active = CASE WHEN id = $1 THEN 1 ELSE 0 END", [spaceId]);
  await sql.run("UPDATE state SET visible_revision = visible_revision + 1");
}

export async function deleteSpace(sql: Sql, spaceId: number): Promise<void> {
  await sql.run("DELETE FROM spaces WHERE id = $1 AND active = 0", [spaceId]);
}
