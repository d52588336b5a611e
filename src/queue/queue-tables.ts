import type { Schema, Sql } from "../lib/sql/sql.ts";

/** Tasks that had failed for good are claimed once more: that is when their jobs get an end. */
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
