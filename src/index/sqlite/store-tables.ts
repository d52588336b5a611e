import type { Schema } from "../../lib/sql/sql.ts";
import {
  checksumColumn,
  crawlColumn,
  DIRECT_GENERATION,
  DIRECT_SOURCE,
  keptTable,
  newestAndShown,
} from "../shared-schema.ts";

/** The words by their trigrams. */
export const WORDS_TRIPLES =
  "CREATE VIRTUAL TABLE words_triples USING fts5 (word, content='', tokenize='trigram', detail=none)";

/**
 * Full-text tables. Their texts are words made by analyze(), joined by blanks. The tokenizer `ascii` takes everything
 * beyond ASCII as part of a word, so with the underscore it cuts at blanks and nowhere else.
 */
const TEXT_TABLES = `
CREATE VIRTUAL TABLE chunks_text USING fts5 (
  headings, text, content='', contentless_delete=1, tokenize="ascii tokenchars '_'"
);
CREATE VIRTUAL TABLE labels_text USING fts5 (
  name, path, title, content='', contentless_delete=1, tokenize="ascii tokenchars '_'"
);
-- No tables of their own: they show in how many chunks, and labels, a word occurs.
CREATE VIRTUAL TABLE chunks_words USING fts5vocab (chunks_text, row);
CREATE VIRTUAL TABLE labels_words USING fts5vocab (labels_text, row);
-- Every word that ever occurred, for typos and parts of compounds. Words are taken out only when a document is erased: they are
-- few, and a search asks whether one still occurs.
CREATE TABLE words (id INTEGER PRIMARY KEY, word TEXT NOT NULL UNIQUE) STRICT;
${WORDS_TRIPLES};
`;

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

/**
 * Format 1 knew the source but not its domain. The attributes of a document say it; a document without them could never be removed again,
 * so it is deleted, and the next crawl adds it again. Drafts are deleted, too: none can be open during the upgrade.
 */
const FROM_1 = `
DELETE FROM documents WHERE born IN (SELECT id FROM generations WHERE number IS NULL);
UPDATE documents SET died = NULL WHERE died IN (SELECT id FROM generations WHERE number IS NULL);
DELETE FROM generations WHERE number IS NULL;
DELETE FROM documents WHERE source_id <> '_direct' AND (attributes ->> 'domain_id') IS NULL;
UPDATE documents SET source_id = (attributes ->> 'domain_id') || '/' || source_id WHERE source_id <> '_direct';
UPDATE generations SET source_id = coalesce((SELECT source_id FROM documents WHERE born = generations.id), source_id);
UPDATE state SET visible_revision = visible_revision + 1;
CREATE INDEX documents_source ON documents (source_id);
`;

const OLD_TABLES = ["documents", "sections", "chunks", "vectors", "loose_bodies", "bodies", "generations", "state"];
const OLD_INDEXES = [
  "generations_number",
  "generations_drafts",
  "chunks_body",
  "documents_item",
  "documents_source",
  "documents_file",
  "documents_body",
  "documents_born",
  "documents_died",
  "documents_uploaded",
];

/** Splits `DEMO/library`; files attached over the wire have no domain. */
const DOMAIN = "substr(source_id, 1, max(0, instr(source_id, '/') - 1))";
const SOURCE = "substr(source_id, instr(source_id, '/') + 1)";

/** Format 2 had the embedder in the key of a body: where only that differs, the newest body replaces the others. */
const KEPT_BODIES = `
CREATE TABLE kept_bodies (old_id INTEGER PRIMARY KEY, id INTEGER NOT NULL) STRICT;
INSERT INTO kept_bodies
SELECT id, max(id) OVER (PARTITION BY sha256, file_type, extractor, chunking) FROM old_bodies;
INSERT INTO bodies
SELECT id, sha256, file_type, extractor, chunking, title, '' FROM old_bodies WHERE id IN (SELECT id FROM kept_bodies);
`;

/** The vectors of each embedder become a space; the one used last becomes active. */
const SPACES = `
INSERT INTO spaces (id, model, revision, dimensions, learnt, chunks, active, created_at)
SELECT row_number() OVER (ORDER BY max(b.id) DESC), substr(b.embedding, 1, instr(b.embedding, '@') - 1),
  substr(b.embedding, instr(b.embedding, '@') + 1), max(length(v.vector)) - 4, NULL, count(*),
  CASE WHEN row_number() OVER (ORDER BY max(b.id) DESC) = 1 THEN 1 ELSE 0 END, unixepoch()
FROM old_bodies b JOIN old_vectors v ON v.body_id = b.id
WHERE b.id IN (SELECT id FROM kept_bodies) GROUP BY b.embedding;
INSERT INTO vectors
SELECT s.id, v.chunk_id, v.body_id, v.vector FROM old_vectors v
JOIN old_bodies b ON b.id = v.body_id
JOIN spaces s ON s.model || '@' || s.revision = b.embedding
WHERE b.id IN (SELECT id FROM kept_bodies);
`;

const GENERATIONS = `
DELETE FROM generations;
INSERT INTO generations
SELECT id, ${DOMAIN}, ${SOURCE}, number, created_at, committed_at,
  (SELECT count(*) FROM old_documents d WHERE d.born = g.id), (SELECT count(*) FROM old_documents d WHERE d.died = g.id)
FROM old_generations g;
`;

const DOCUMENTS = `
INSERT INTO documents
SELECT d.id, ${DOMAIN}, ${SOURCE}, item_id, file_id, name, path, url, file_type,
  coalesce(CAST(attributes ->> 'last_modified' AS TEXT), ''), attributes, file, sha256, bytes, chunking, k.id, status,
  error_code, error_message, uploaded_at, embedded_at, born, died
FROM old_documents d LEFT JOIN kept_bodies k ON k.old_id = d.body_id;
INSERT OR IGNORE INTO loose_bodies SELECT k.id FROM old_loose_bodies l JOIN kept_bodies k ON k.old_id = l.body_id;
`;

/** Which generations are complete was not stored, but follows from what the last cleanup kept: 3, and those of a day. */
const STATE = `
UPDATE state SET
  active = o.active, visible_revision = o.visible_revision + 1, dropped_chunks = o.dropped_chunks,
  oldest = coalesce(max(1, min(
    (SELECT number FROM generations WHERE number > 0 AND number <= o.active ORDER BY number DESC LIMIT 1 OFFSET 2),
    (SELECT max(number) + 1 FROM generations WHERE number > 0
       AND committed_at < (SELECT max(committed_at) FROM generations) - 86400))), 1),
  next_generation = (SELECT max(id) + 1 FROM generations),
  next_document = (SELECT coalesce(max(id), 0) + 1 FROM documents),
  next_body = (SELECT coalesce(max(id), 0) + 1 FROM bodies),
  next_chunk = (SELECT coalesce(max(id), 0) + 1 FROM chunks),
  next_space = (SELECT coalesce(max(id), 0) + 1 FROM spaces)
FROM old_state o;
`;

/** The text tables stay empty; their words are added when the store is opened. */
function from2(tables: string): string {
  return `
DROP VIEW documents_active;
DROP TRIGGER documents_deleted;
DROP TRIGGER chunks_deleted;
DROP TABLE chunks_text;
DROP TABLE labels_text;
${OLD_INDEXES.map((name) => `DROP INDEX ${name};`).join("\n")}
${OLD_TABLES.map((name) => `ALTER TABLE ${name} RENAME TO old_${name};`).join("\n")}
${tables}
${GENERATIONS}
${KEPT_BODIES}
INSERT INTO sections SELECT * FROM old_sections WHERE body_id IN (SELECT id FROM kept_bodies);
INSERT INTO chunks SELECT id, body_id, position, section_path, 0, text FROM old_chunks
WHERE body_id IN (SELECT id FROM kept_bodies);
${SPACES}
${DOCUMENTS}
${STATE}
${OLD_TABLES.map((name) => `DROP TABLE old_${name};`).join("\n")}
DROP TABLE kept_bodies;
`;
}

/** Added by format 4. */
const CRAWLS = crawlColumn("TEXT");

/** Added by format 5. */
const KEPT = keptTable({ text: "TEXT", integer: "INTEGER" });

/** Added by format 6. */
const CHECKSUMS = checksumColumn("INTEGER");

/** SQLite has no function for it. Version 4, variant 8. */
const UUID = `lower(hex(randomblob(4)) || '-' || hex(randomblob(2)) || '-4' || substr(hex(randomblob(2)), 2) || '-8' ||
  substr(hex(randomblob(2)), 2) || '-' || hex(randomblob(6)))`;

/** Added by format 7. */
const SHOWN = newestAndShown({ text: "TEXT", integer: "INTEGER", uuid: UUID, join: "CROSS" });

/** Keyed by the format they start from; `tables` is the schema of format 3. */
function storeUpgrades(tables: string): ReadonlyMap<number, string> {
  return new Map([
    [1, FROM_1],
    [2, from2(tables)],
    [3, CRAWLS],
    [4, KEPT],
    [5, CHECKSUMS],
    [6, SHOWN],
  ]);
}

export const STORE_TABLES: Schema = {
  version: 7,
  sql: TABLES + CRAWLS + KEPT + CHECKSUMS + SHOWN,
  upgrades: storeUpgrades(TABLES),
};
