import type { Schema, Sql } from "../../lib/sql/sql.ts";

/** The format is described in docs/formats/registry.md. What is asked for or sorted by has a column; `item` has everything. */
export function registryTables(dialect: Sql["dialect"]): Schema {
  const [integer, text, strict] =
    dialect === "sqlite" ? ["INTEGER", "TEXT", "STRICT, WITHOUT ROWID"] : ["bigint", 'text COLLATE "C"', ""];
  // The rows of items are long: without a rowid, their tree would be a deep one.
  const strictRows = dialect === "sqlite" ? "STRICT" : "";
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
) ${strictRows};
CREATE INDEX items_due ON items (due_at, id) WHERE due_at IS NOT NULL;
CREATE INDEX items_summary ON items (status, id, watched, last_checked, last_changed, due_at, locked_until);
CREATE INDEX items_host ON items (host);

CREATE TABLE members (
  domain_id ${text} NOT NULL,
  source_id ${text} NOT NULL,
  item_id ${text} NOT NULL,
  last_indexed_doc_id ${text} NOT NULL,
  last_indexed ${text} NOT NULL,
  content_hash ${text} NOT NULL,
  indexed_generation ${integer} NOT NULL,
  unlinked_count ${integer} NOT NULL,
  PRIMARY KEY (domain_id, source_id, item_id)
) ${strict};
CREATE INDEX members_item ON members (item_id);
`,
  };
}
