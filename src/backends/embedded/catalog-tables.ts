import type { Schema, Sql } from "../../lib/sql/sql.ts";

/** The format is described in docs/formats/backend-sqlite.md; PostgreSQL has the same tables from their second format on. */
export function catalogTables(dialect: Sql["dialect"]): Schema {
  const sqlite = dialect === "sqlite";
  const dialectWords = {
    seq: sqlite ? "INTEGER PRIMARY KEY AUTOINCREMENT" : "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
    integer: sqlite ? "INTEGER" : "BIGINT",
    end: sqlite ? " STRICT" : "",
  };
  const since2 = `${uploadTables(dialectWords)}${attachTables(dialectWords)}`;
  const since3 = holdingTables(dialectWords);
  return {
    version: 3,
    sql: `${basicTables(dialectWords)}${since2}${since3}`,
    upgrades: new Map([
      [1, `${FROM_1}${since2}`],
      [2, since3],
    ]),
  };
}

interface DialectWords {
  readonly seq: string;
  readonly integer: string;
  readonly end: string;
}

function basicTables({ seq, integer, end }: DialectWords): string {
  return `
CREATE TABLE files (
  seq ${seq},
  id TEXT NOT NULL UNIQUE,
  filename TEXT NOT NULL,
  purpose TEXT NOT NULL,
  bytes ${integer} NOT NULL,
  sha256 TEXT NOT NULL,
  created_at ${integer} NOT NULL,
  expires_at ${integer}
)${end};
CREATE INDEX files_created ON files (created_at, seq);

CREATE TABLE vector_stores (
  seq ${seq},
  id TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  metadata TEXT NOT NULL,
  created_at ${integer} NOT NULL,
  last_active_at ${integer} NOT NULL,
  description TEXT NOT NULL DEFAULT '',
  expires_after_days ${integer}
)${end};
CREATE INDEX vector_stores_created ON vector_stores (created_at, seq);

CREATE TABLE deleted_stores (id TEXT PRIMARY KEY)${end};
`;
}

const FROM_1 = `
ALTER TABLE files ADD COLUMN expires_at INTEGER;
ALTER TABLE vector_stores ADD COLUMN description TEXT NOT NULL DEFAULT '';
ALTER TABLE vector_stores ADD COLUMN expires_after_days INTEGER;
`;

function uploadTables({ integer, end }: DialectWords): string {
  return `
CREATE INDEX files_expiring ON files (expires_at) WHERE expires_at IS NOT NULL;

-- Files that were deleted a while ago at most: whoever is just attaching one must find out.
CREATE TABLE deleted_files (
  id TEXT PRIMARY KEY,
  deleted_at ${integer} NOT NULL,
  -- 1: it is out of every store, and its bytes are gone.
  done ${integer} NOT NULL
)${end};

CREATE TABLE uploads (
  id TEXT PRIMARY KEY,
  filename TEXT NOT NULL,
  purpose TEXT NOT NULL,
  mime_type TEXT NOT NULL,
  bytes ${integer} NOT NULL,
  created_at ${integer} NOT NULL,
  expires_at ${integer} NOT NULL,
  -- Of the file that it becomes.
  file_expires_seconds ${integer},
  status TEXT NOT NULL CHECK (status IN ('pending', 'completed', 'cancelled')),
  file_id TEXT
)${end};

CREATE TABLE upload_parts (
  id TEXT PRIMARY KEY,
  upload_id TEXT NOT NULL REFERENCES uploads (id) ON DELETE CASCADE,
  bytes ${integer} NOT NULL,
  created_at ${integer} NOT NULL
)${end};
CREATE INDEX upload_parts_upload ON upload_parts (upload_id);
`;
}

function attachTables({ seq, integer, end }: DialectWords): string {
  return `
CREATE TABLE batches (
  seq ${seq},
  id TEXT NOT NULL UNIQUE,
  store_id TEXT NOT NULL,
  created_at ${integer} NOT NULL,
  cancelled ${integer} NOT NULL
)${end};
CREATE INDEX batches_store ON batches (store_id);

CREATE TABLE batch_files (
  batch_id TEXT NOT NULL REFERENCES batches (id) ON DELETE CASCADE,
  position ${integer} NOT NULL,
  file_id TEXT NOT NULL,
  PRIMARY KEY (batch_id, position)
)${end};

CREATE TABLE attach_tasks (
  store_id TEXT NOT NULL,
  file_id TEXT NOT NULL,
  -- Who works on it, as JSON; '' when nobody does.
  owner TEXT NOT NULL,
  claimed_until ${integer} NOT NULL,
  -- How often somebody began and was gone before the end.
  interruptions ${integer} NOT NULL,
  PRIMARY KEY (store_id, file_id)
)${end};
CREATE INDEX attach_tasks_owner ON attach_tasks (owner);
`;
}

/** Tells which stores may hold a file, so that not all of them are opened to find it. */
function holdingTables({ integer, end }: DialectWords): string {
  return `
-- 0: attached_files names every file that is in the store. Of what earlier releases made that is not known.
ALTER TABLE vector_stores ADD COLUMN crawled ${integer} NOT NULL DEFAULT 1;

-- A file that was attached to a store, and may have left it since.
CREATE TABLE attached_files (
  file_id TEXT NOT NULL,
  store_id TEXT NOT NULL,
  PRIMARY KEY (file_id, store_id)
)${end};
CREATE INDEX attached_files_store ON attached_files (store_id);
`;
}
