import type { FileId, VectorStoreId } from "../../../contracts/ids.ts";
import { isListed, listOf } from "../../../lib/sql/is-listed.ts";
import type { Sql } from "../../../lib/sql/sql.ts";

/** A file that is to be made searchable in a store. There is one for every attached file that is `in_progress`. */
export interface AttachTask {
  readonly storeId: VectorStoreId;
  readonly fileId: FileId;
}

export interface WaitingTask extends AttachTask {
  /** "": handed back. */
  readonly owner: string;
  readonly interruptions: number;
}

/** Claimed from the start: until its file is in the store, nobody else may look at it. */
export async function insertTasks(
  sql: Sql,
  tasks: readonly AttachTask[],
  claim: { readonly owner: string; readonly until: number },
): Promise<void> {
  await sql.insert(
    "attach_tasks (store_id, file_id, owner, claimed_until, interruptions)",
    tasks.map(({ storeId, fileId }) => [storeId, fileId, claim.owner, claim.until, 0]),
    `ON CONFLICT (store_id, file_id) DO UPDATE SET owner = excluded.owner, claimed_until = excluded.claimed_until,
       interruptions = 0`,
  );
}

/** Of files of one store: those that have a task. */
export async function filesWithTask(sql: Sql, tasks: readonly AttachTask[]): Promise<ReadonlySet<FileId>> {
  const rows = await sql.all<{ fileId: FileId }>(
    `SELECT file_id AS "fileId" FROM attach_tasks WHERE store_id = $1 AND ${isListed(sql, "file_id", "$2", "text")}`,
    [tasks[0]?.storeId ?? "", listOf(tasks.map(({ fileId }) => fileId))],
  );
  return new Set(rows.map(({ fileId }) => fileId));
}

/** Owners of tasks, other than this one. */
export async function otherOwners(
  sql: Sql,
  owner: string,
): Promise<{ readonly owner: string; readonly claimedUntil: number }[]> {
  return sql.all(
    'SELECT owner, max(claimed_until) AS "claimedUntil" FROM attach_tasks WHERE owner <> $1 GROUP BY owner',
    [owner],
  );
}

/** Takes over all tasks of an owner. */
export async function claimTasksOf(
  sql: Sql,
  former: string,
  claim: { readonly owner: string; readonly until: number },
): Promise<WaitingTask[]> {
  return sql.all<WaitingTask>(
    `UPDATE attach_tasks SET owner = $1, claimed_until = $2,
       interruptions = interruptions + CASE WHEN owner = '' THEN 0 ELSE 1 END
     WHERE owner = $3
     RETURNING store_id AS "storeId", file_id AS "fileId", owner, interruptions`,
    [claim.owner, claim.until, former],
  );
}

export async function renewClaims(sql: Sql, owner: string, until: number): Promise<void> {
  await sql.run("UPDATE attach_tasks SET claimed_until = $1 WHERE owner = $2", [until, owner]);
}

export async function releaseClaims(sql: Sql, owner: string): Promise<void> {
  await sql.run("UPDATE attach_tasks SET owner = '', claimed_until = 0 WHERE owner = $1", [owner]);
}

export async function deleteTasks(sql: Sql, tasks: readonly AttachTask[]): Promise<void> {
  for (const { storeId, fileId } of tasks) {
    await sql.run("DELETE FROM attach_tasks WHERE store_id = $1 AND file_id = $2", [storeId, fileId]);
  }
}

/** Handed back after it went wrong half-way. */
export async function releaseInterrupted(sql: Sql, { storeId, fileId }: AttachTask): Promise<void> {
  await sql.run(
    `UPDATE attach_tasks SET owner = '', claimed_until = 0, interruptions = interruptions + 1
     WHERE store_id = $1 AND file_id = $2`,
    [storeId, fileId],
  );
}
