import type { Schema, Sql } from "../../../lib/sql/sql.ts";

/** Rows of earlier formats have no owner. */
const OWNERS = `
ALTER TABLE responses ADD COLUMN owner TEXT;
ALTER TABLE responses ADD COLUMN bytes BIGINT NOT NULL DEFAULT 0;
CREATE INDEX responses_owner ON responses (owner, seq, bytes);
ALTER TABLE conversations ADD COLUMN owner TEXT;
ALTER TABLE conversations ADD COLUMN bytes BIGINT NOT NULL DEFAULT 0;
CREATE INDEX conversations_owner ON conversations (owner, bytes)
`;

/**
 * Responses, conversations and assistants, as the wire protocol spells them: the JSON columns hold what is sent.
 * `seq` is the order in which rows came. The format is described in docs/formats/answers.md.
 */
export function answersTables(dialect: Sql["dialect"]): Schema {
  const seq =
    dialect === "sqlite"
      ? "seq INTEGER PRIMARY KEY AUTOINCREMENT"
      : "seq BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY";
  return {
    version: 2,
    upgrades: new Map([[1, OWNERS]]),
    sql: `
CREATE TABLE responses (
  ${seq},
  id TEXT NOT NULL UNIQUE,
  created_at BIGINT NOT NULL,
  previous_id TEXT,
  response TEXT NOT NULL,
  input TEXT NOT NULL,
  owner TEXT,
  bytes BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX responses_created ON responses (created_at, seq);
CREATE INDEX responses_owner ON responses (owner, seq, bytes);

CREATE TABLE conversations (
  ${seq},
  id TEXT NOT NULL UNIQUE,
  created_at BIGINT NOT NULL,
  metadata TEXT NOT NULL,
  owner TEXT,
  bytes BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX conversations_owner ON conversations (owner, bytes);

CREATE TABLE conversation_items (
  ${seq},
  id TEXT NOT NULL UNIQUE,
  conversation_id TEXT NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
  item TEXT NOT NULL
);
CREATE INDEX conversation_items_order ON conversation_items (conversation_id, seq);

CREATE TABLE assistants (
  ${seq},
  id TEXT NOT NULL UNIQUE,
  created_at BIGINT NOT NULL,
  assistant TEXT NOT NULL
);
CREATE INDEX assistants_created ON assistants (created_at, seq)
`,
  };
}
