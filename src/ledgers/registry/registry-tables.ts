import type { Schema, Sql } from "../../lib/sql/sql.ts";

/** The format is described in docs/formats/registry.md. What is asked for or sorted by has a column; `item` has everything. */
export function registryTables(dialect: Sql["dialect"]): Schema {
  // Not WITHOUT ROWID: the rows are long, and their tree would be a deep one.
  const [integer, text, strict] =
    dialect === "sqlite" ? ["INTEGER", "TEXT", "STRICT"] : ["bigint", 'text COLLATE "C"', ""];
  return {
    version: 1,
    sql: `
CREATE TABLE items (
  id ${text} NOT NULL PRIMARY KEY,
  version ${integer} NOT NULL,
  status ${text} NOT NULL,
  watched ${integer} NOT NULL,
  host ${text} NOT NULL,
  -- When the timer is to look at it; NULL: it leaves it alone.
  due_at ${text},
  locked_until ${text} NOT NULL,
  next_crawl_at ${text} NOT NULL,
  last_checked ${text} NOT NULL,
  last_changed ${text} NOT NULL,
  first_seen ${text} NOT NULL,
  display_source ${text} NOT NULL,
  -- Addresses and titles in lower case.
  search_text ${text} NOT NULL,
  item ${text} NOT NULL
) ${strict};
CREATE INDEX items_due ON items (due_at, id) WHERE due_at IS NOT NULL;
CREATE INDEX items_summary ON items (status, id, watched, last_checked, last_changed, due_at, locked_until);
CREATE INDEX items_host ON items (host);
`,
  };
}
