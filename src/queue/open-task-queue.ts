import { randomBytes } from "node:crypto";
import type { ClaimedTask, ListedTaskQueue, Task } from "../contracts/queue.ts";
import { openOnce } from "../lib/once.ts";
import { isProcessGone, type ProcessIdentity, thisProcess } from "../lib/process-identity.ts";
import { type DatabasePlace, openDatabase } from "../lib/sql/open-database.ts";
import type { Schema, Sql, SqlDatabase, SqlValue } from "../lib/sql/sql.ts";

/** The queue is used seldom, and its statements are fast. */
const CONNECTIONS = 2;

/** Uses a SQLite file in this folder for the processes of one machine, or a PostgreSQL database for several machines. */
export function openTaskQueue(where: DatabasePlace): ListedTaskQueue {
  return createTaskQueue(() =>
    openDatabase(where, {
      file: "queue.sqlite",
      schema: "lockstep_queue",
      tables: queueTables,
      connections: CONNECTIONS,
    }),
  );
}

/** The first call opens the database: most commands never use the queue. */
function createTaskQueue(openDatabase: () => Promise<SqlDatabase>): ListedTaskQueue {
  const { open, close } = openOnce(openDatabase);
  /** Changes the task if the lease is still the current one. */
  const change = async (task: ClaimedTask, set: (now: string) => string, values: SqlValue[] = []): Promise<boolean> => {
    const db = await open();
    const text = `UPDATE tasks SET ${set(nowOf(db))} WHERE id = $1 AND lease = $2 AND state = 'running'`;
    return (await db.run(text, [task.id, task.lease, ...values])) > 0;
  };
  return {
    async enqueue({ kind, payload }) {
      const db = await open();
      await db.run(
        `INSERT INTO tasks (kind, payload, state, attempts, created_at, due_at, lease, lease_ends_at, worker, process, error)
         VALUES ($1, $2, 'waiting', 0, ${nowOf(db)}, ${nowOf(db)}, '', 0, '', '', '')`,
        [kind, JSON.stringify(payload)],
      );
    },
    async claim(kinds, worker, leaseMs) {
      const db = await open();
      await endLeasesOfTheDead(db);
      return claimNext(db, kinds, worker, leaseMs);
    },
    renew: (task, leaseMs) => change(task, (now) => `lease_ends_at = ${now} + $3`, [leaseMs]),
    async complete({ id, lease }) {
      const db = await open();
      return (await db.run("DELETE FROM tasks WHERE id = $1 AND lease = $2 AND state = 'running'", [id, lease])) > 0;
    },
    fail: (task, { error, delayMs }) =>
      change(task, (now) => `state = 'waiting', error = $3, due_at = ${now} + $4`, [error, delayMs]),
    handBack: (task, delayMs = 0) =>
      change(task, (now) => `state = 'waiting', attempts = attempts - 1, due_at = ${now} + $3`, [delayMs]),
    async waitingSince(kind) {
      const text = "SELECT min(created_at) AS since FROM tasks WHERE kind = $1 AND state = 'waiting'";
      const { since } = (await (await open()).get<{ since: number | null }>(text, [kind])) ?? { since: null };
      return since === null ? undefined : new Date(Number(since));
    },
    async list() {
      return (await (await open()).all<TaskRow>("SELECT * FROM tasks ORDER BY id")).map(toTask);
    },
    close,
  };
}

interface TaskRow {
  readonly id: number;
  readonly kind: string;
  readonly payload: string;
  readonly attempts: number;
  readonly lease: string;
  readonly error: string;
}

function toTask({ id, kind, payload, attempts, error }: TaskRow): Task {
  return { id, kind, payload: JSON.parse(payload), attempts, error };
}

/** Clocks of machines differ; the database has one. */
function nowOf({ dialect }: Pick<Sql, "dialect">): string {
  return dialect === "sqlite"
    ? "CAST(unixepoch('subsec') * 1000 AS INTEGER)"
    : "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS bigint)";
}

/** SQLite needs a transaction to change rows; a PostgreSQL statement is one. */
function atOnce<T>(db: SqlDatabase, work: (sql: Sql) => Promise<T>): Promise<T> {
  return db.dialect === "sqlite" ? db.write(work) : work(db);
}

/** Where to look for a task, each with its own index. Tasks whose lease ended were queued before those that wait now. */
const CLAIMABLE: readonly ((now: string) => string)[] = [
  (now) => `state = 'running' AND lease_ends_at <= ${now} ORDER BY lease_ends_at, id`,
  (now) => `state = 'waiting' AND due_at <= ${now} ORDER BY due_at, id`,
];

async function claimNext(
  db: SqlDatabase,
  kinds: readonly string[],
  worker: string,
  leaseMs: number,
): Promise<ClaimedTask | undefined> {
  const now = nowOf(db);
  const wanted = kinds.map((_, at) => `$${at + 5}`).join(", ");
  // Concurrent workers take different tasks instead of waiting for each other.
  const lock = db.dialect === "postgres" ? "FOR UPDATE SKIP LOCKED" : "";
  const values = [randomBytes(12).toString("hex"), leaseMs, worker, JSON.stringify(thisProcess()), ...kinds];
  const row = await atOnce(db, async (sql) => {
    for (const which of CLAIMABLE) {
      const taken = await sql.get<TaskRow>(
        `UPDATE tasks SET state = 'running', attempts = attempts + 1, lease = $1, lease_ends_at = ${now} + $2, worker = $3, process = $4
         WHERE id = (SELECT id FROM tasks WHERE kind IN (${wanted}) AND ${which(now)} LIMIT 1 ${lock})
         RETURNING *`,
        values,
      );
      if (taken) return taken;
    }
    return undefined;
  });
  return row && { ...toTask(row), lease: row.lease };
}

/** Ends leases of processes of this machine that are gone: there is no need to wait for them. */
async function endLeasesOfTheDead(db: SqlDatabase): Promise<void> {
  const rows = await db.all<{ id: number; lease: string; process: string }>(
    "SELECT id, lease, process FROM tasks WHERE state = 'running'",
  );
  for (const { id, lease, process } of rows) {
    if (!isProcessGone(JSON.parse(process) as ProcessIdentity)) continue;
    await db.run("UPDATE tasks SET lease_ends_at = 0 WHERE id = $1 AND lease = $2", [id, lease]);
  }
}

/** Tasks that had failed for good are claimed once more, so that their jobs get an end. */
const WITHOUT_KEYS = `
DROP INDEX tasks_key;
ALTER TABLE tasks DROP COLUMN key;
UPDATE tasks SET state = 'waiting' WHERE state = 'failed';
`;

/** The format is described in docs/formats/queue.md. Times are milliseconds of the database's own clock. */
export function queueTables(dialect: Sql["dialect"]): Schema {
  const [id, integer, text, strict] =
    dialect === "sqlite"
      ? ["INTEGER PRIMARY KEY AUTOINCREMENT", "INTEGER", "TEXT", "STRICT"]
      : ["bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY", "bigint", 'text COLLATE "C"', ""];
  return {
    version: 2,
    upgrades: new Map([[1, WITHOUT_KEYS]]),
    sql: `
CREATE TABLE tasks (
  id ${id},
  kind ${text} NOT NULL,
  payload ${text} NOT NULL,
  state ${text} NOT NULL CHECK (state IN ('waiting', 'running')),
  attempts ${integer} NOT NULL,
  created_at ${integer} NOT NULL,
  due_at ${integer} NOT NULL,
  -- Made anew by every claim: whoever has the last one has the task.
  lease ${text} NOT NULL,
  lease_ends_at ${integer} NOT NULL,
  worker ${text} NOT NULL,
  -- The process that claimed it, as JSON, for those that can tell whether it ended.
  process ${text} NOT NULL,
  error ${text} NOT NULL
) ${strict};
CREATE INDEX tasks_due ON tasks (kind, due_at, id) WHERE state = 'waiting';
CREATE INDEX tasks_leased ON tasks (lease_ends_at) WHERE state = 'running';
`,
  };
}
