import type { Schema } from "../../lib/sql/sql.ts";
import { DIRECT_GENERATION, DIRECT_SOURCE } from "../storage/direct-source.ts";
import { CRAWLS, KEPT, storeUpgrades } from "./store-upgrades.ts";
import { TEXT_TABLES } from "./text-tables.ts";

/** Format 3. The formats are described in docs/formats/index-sqlite.md; PostgreSQL has the same tables and columns. */
const TABLES = `
CREATE TABLE state (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  active INTEGER NOT NULL,
  pinned INTEGER NOT NULL,
  -- The oldest generation that is whole: cleanup may have taken away what only earlier ones show.
  oldest INTEGER NOT NULL,
  -- Rises with everything that changes what a search may find.
  visible_revision INTEGER NOT NULL,
  -- How many chunks were ever deleted: tells caches when to start anew.
  dropped_chunks INTEGER NOT NULL,
  -- The revision of the analyzer whose words are in the text tables.
  analyzer TEXT NOT NULL,
  -- The next free ids. Taken inside the transaction that uses them, so rows become visible in the order of their ids.
  next_generation INTEGER NOT NULL,
  next_document INTEGER NOT NULL,
  next_body INTEGER NOT NULL,
  next_chunk INTEGER NOT NULL,
  next_space INTEGER NOT NULL
) STRICT;
INSERT INTO state VALUES (1, 0, 0, 1, 0, 0, '', 2, 1, 1, 1, 1);

CREATE TABLE generations (
  id INTEGER PRIMARY KEY,
  domain_id TEXT NOT NULL,
  source_id TEXT NOT NULL,
  number INTEGER,
  created_at INTEGER NOT NULL,
  committed_at INTEGER,
  added INTEGER NOT NULL,
  removed INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX generations_number ON generations (number);
CREATE INDEX generations_drafts ON generations (domain_id, source_id) WHERE number IS NULL;
INSERT INTO generations VALUES (${DIRECT_GENERATION}, '', '${DIRECT_SOURCE}', 0, unixepoch(), unixepoch(), 0, 0);

CREATE TABLE bodies (
  id INTEGER PRIMARY KEY,
  sha256 TEXT NOT NULL,
  file_type TEXT NOT NULL,
  extractor TEXT NOT NULL,
  chunking TEXT NOT NULL,
  title TEXT NOT NULL,
  language TEXT NOT NULL,
  UNIQUE (sha256, file_type, extractor, chunking)
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
  id INTEGER PRIMARY KEY,
  body_id INTEGER NOT NULL REFERENCES bodies (id),
  position INTEGER NOT NULL,
  section_path TEXT NOT NULL,
  page INTEGER NOT NULL,
  text TEXT NOT NULL
) STRICT;
CREATE INDEX chunks_body ON chunks (body_id, position);

CREATE TABLE spaces (
  id INTEGER PRIMARY KEY,
  model TEXT NOT NULL,
  revision TEXT NOT NULL,
  dimensions INTEGER NOT NULL,
  -- How many chunks the store had when it was made.
  chunks INTEGER NOT NULL,
  active INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  -- What a model learnt from this store's own text; NULL for one that is the same everywhere. Last, because SQLite reads
  -- through megabytes of it to get at any column behind it.
  learnt BLOB
) STRICT;

CREATE TABLE vectors (
  space_id INTEGER NOT NULL,
  chunk_id INTEGER NOT NULL,
  body_id INTEGER NOT NULL,
  vector BLOB NOT NULL,
  PRIMARY KEY (space_id, chunk_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX vectors_chunk ON vectors (chunk_id);

CREATE TABLE documents (
  id INTEGER PRIMARY KEY,
  domain_id TEXT NOT NULL,
  source_id TEXT NOT NULL,
  item_id TEXT NOT NULL,
  file_id TEXT NOT NULL,
  name TEXT NOT NULL,
  path TEXT NOT NULL,
  url TEXT NOT NULL,
  file_type TEXT NOT NULL,
  modified_at TEXT NOT NULL,
  attributes TEXT NOT NULL,
  file TEXT NOT NULL,
  sha256 TEXT NOT NULL,
  bytes INTEGER NOT NULL,
  chunking TEXT NOT NULL,
  body_id INTEGER REFERENCES bodies (id),
  status TEXT NOT NULL CHECK (status IN ('in_progress', 'completed', 'failed', 'cancelled')),
  error_code TEXT,
  error_message TEXT,
  uploaded_at INTEGER NOT NULL,
  embedded_at INTEGER NOT NULL,
  born INTEGER NOT NULL REFERENCES generations (id),
  died INTEGER REFERENCES generations (id)
) STRICT;
CREATE INDEX documents_source ON documents (domain_id, source_id, id);
CREATE INDEX documents_item ON documents (domain_id, source_id, item_id);
CREATE INDEX documents_path ON documents (domain_id, source_id, path);
CREATE INDEX documents_file ON documents (file_id);
CREATE INDEX documents_body ON documents (body_id);
CREATE INDEX documents_born ON documents (born, id);
CREATE INDEX documents_died ON documents (died, id) WHERE died IS NOT NULL;
CREATE INDEX documents_uploaded ON documents (uploaded_at, id);

-- Bodies that lost a document; another may still name them.
CREATE TABLE loose_bodies (body_id INTEGER PRIMARY KEY) STRICT;

CREATE VIEW documents_active AS
SELECT d.* FROM documents d
CROSS JOIN generations born ON born.id = d.born
LEFT JOIN generations died ON died.id = d.died
WHERE born.number <= (SELECT active FROM state)
  AND (d.died IS NULL OR died.number IS NULL OR died.number > (SELECT active FROM state));

${TEXT_TABLES}
`;

export const STORE_TABLES: Schema = { version: 5, sql: TABLES + CRAWLS + KEPT, upgrades: storeUpgrades(TABLES) };
