import type { Schema } from "./open-database.ts";

/** Files attached over the wire. Their one generation has number 0, so they are visible at once and in every generation. */
export const DIRECT_SOURCE = "_direct";
export const DIRECT_GENERATION = 1;

const TOKENIZE = "porter unicode61 remove_diacritics 2";

/**
 * Format 1 knew the source but not its domain. The marks on a document tell it; one that has lost them could never be
 * removed again, so it goes, and the next crawl puts it again. So do drafts: nobody can have one open during the upgrade.
 */
const UPGRADE_FROM_1 = `
DELETE FROM documents WHERE born IN (SELECT id FROM generations WHERE number IS NULL);
UPDATE documents SET died = NULL WHERE died IN (SELECT id FROM generations WHERE number IS NULL);
DELETE FROM generations WHERE number IS NULL;
DELETE FROM documents WHERE source_id <> '${DIRECT_SOURCE}' AND (attributes ->> 'domain_id') IS NULL;
UPDATE documents SET source_id = (attributes ->> 'domain_id') || '/' || source_id WHERE source_id <> '${DIRECT_SOURCE}';
UPDATE generations SET source_id = coalesce((SELECT source_id FROM documents WHERE born = generations.id), source_id);
UPDATE state SET visible_revision = visible_revision + 1;
CREATE INDEX documents_source ON documents (source_id);
`;

/** The format is described in docs/formats/index-sqlite.md. */
export const STORE_SCHEMA: Schema = {
  version: 2,
  upgrades: new Map([[1, UPGRADE_FROM_1]]),
  sql: `
CREATE TABLE state (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  active INTEGER NOT NULL,
  visible_revision INTEGER NOT NULL,
  dropped_chunks INTEGER NOT NULL
) STRICT;
INSERT INTO state VALUES (1, 0, 0, 0);

CREATE TABLE generations (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  source_id TEXT NOT NULL,
  number INTEGER,
  created_at INTEGER NOT NULL,
  committed_at INTEGER
) STRICT;
CREATE UNIQUE INDEX generations_number ON generations (number);
CREATE INDEX generations_drafts ON generations (source_id) WHERE number IS NULL;
INSERT INTO generations VALUES (${DIRECT_GENERATION}, '${DIRECT_SOURCE}', 0, unixepoch(), unixepoch());

CREATE TABLE bodies (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  sha256 TEXT NOT NULL,
  file_type TEXT NOT NULL,
  extractor TEXT NOT NULL,
  chunking TEXT NOT NULL,
  embedding TEXT NOT NULL,
  title TEXT NOT NULL,
  UNIQUE (sha256, file_type, extractor, chunking, embedding)
) STRICT;

CREATE TABLE sections (
  body_id INTEGER NOT NULL REFERENCES bodies (id) ON DELETE CASCADE,
  position INTEGER NOT NULL,
  parent INTEGER,
  heading TEXT NOT NULL,
  level INTEGER NOT NULL,
  content TEXT NOT NULL,
  PRIMARY KEY (body_id, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE chunks (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  body_id INTEGER NOT NULL REFERENCES bodies (id) ON DELETE CASCADE,
  position INTEGER NOT NULL,
  section_path TEXT NOT NULL,
  text TEXT NOT NULL
) STRICT;
CREATE INDEX chunks_body ON chunks (body_id, position);

CREATE TABLE vectors (
  chunk_id INTEGER PRIMARY KEY,
  body_id INTEGER NOT NULL,
  vector BLOB NOT NULL
) STRICT;

CREATE VIRTUAL TABLE chunks_text USING fts5 (
  headings, text, content='', contentless_delete=1, tokenize='${TOKENIZE}'
);
INSERT INTO chunks_text (chunks_text, rank) VALUES ('rank', 'bm25(2.0, 1.0)');

CREATE TABLE documents (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  source_id TEXT NOT NULL,
  item_id TEXT NOT NULL,
  file_id TEXT NOT NULL,
  name TEXT NOT NULL,
  path TEXT NOT NULL,
  url TEXT NOT NULL,
  file_type TEXT NOT NULL,
  attributes TEXT NOT NULL,
  file TEXT NOT NULL,
  sha256 TEXT NOT NULL,
  bytes INTEGER NOT NULL,
  chunking TEXT NOT NULL,
  body_id INTEGER REFERENCES bodies (id),
  status TEXT NOT NULL CHECK (status IN ('completed', 'failed')),
  error_code TEXT,
  error_message TEXT,
  uploaded_at INTEGER NOT NULL,
  embedded_at INTEGER NOT NULL,
  born INTEGER NOT NULL REFERENCES generations (id),
  died INTEGER REFERENCES generations (id)
) STRICT;
CREATE INDEX documents_item ON documents (source_id, item_id);
CREATE INDEX documents_source ON documents (source_id);
CREATE INDEX documents_file ON documents (file_id);
CREATE INDEX documents_body ON documents (body_id);
CREATE INDEX documents_born ON documents (born);
CREATE INDEX documents_died ON documents (died) WHERE died IS NOT NULL;
CREATE INDEX documents_uploaded ON documents (uploaded_at, id);

CREATE VIRTUAL TABLE labels_text USING fts5 (
  name, path, title, content='', contentless_delete=1, tokenize='${TOKENIZE}'
);
INSERT INTO labels_text (labels_text, rank) VALUES ('rank', 'bm25(2.0, 1.0, 2.0)');

CREATE TABLE loose_bodies (body_id INTEGER PRIMARY KEY) STRICT;

CREATE TRIGGER documents_deleted AFTER DELETE ON documents BEGIN
  DELETE FROM labels_text WHERE rowid = old.id;
  INSERT OR IGNORE INTO loose_bodies SELECT old.body_id WHERE old.body_id IS NOT NULL;
END;
CREATE TRIGGER chunks_deleted AFTER DELETE ON chunks BEGIN
  DELETE FROM chunks_text WHERE rowid = old.id;
  DELETE FROM vectors WHERE chunk_id = old.id;
  UPDATE state SET dropped_chunks = dropped_chunks + 1;
END;

CREATE VIEW documents_active AS
SELECT d.* FROM documents d
CROSS JOIN generations born ON born.id = d.born
LEFT JOIN generations died ON died.id = d.died
WHERE born.number <= (SELECT active FROM state)
  AND (d.died IS NULL OR died.number IS NULL OR died.number > (SELECT active FROM state))
`,
};
