import type { Schema } from "../../lib/sql/sql.ts";
import {
  checksumColumn,
  crawlColumn,
  DIRECT_GENERATION,
  DIRECT_SOURCE,
  keptTable,
  newestAndShown,
} from "../shared-schema.ts";

/**
 * Full-text tables. `chunks_text` and `labels_text` hold the words of each row, made by analyze() and joined by blanks;
 * `…_postings` say how often a word occurs in each field of a row of so many words, all of it in the index, so that
 * ranking reads nothing else. `text_totals` has what the average length needs.
 */
const TEXT_TABLES = `
CREATE TABLE chunks_text (
  id bigint PRIMARY KEY,
  headings text COLLATE "C" NOT NULL,
  text text COLLATE "C" NOT NULL,
  length integer NOT NULL
);
CREATE TABLE chunks_postings (
  word text COLLATE "C" NOT NULL,
  id bigint NOT NULL,
  headings integer NOT NULL,
  text integer NOT NULL,
  length integer NOT NULL,
  PRIMARY KEY (word, id) INCLUDE (headings, text, length)
);
CREATE TABLE labels_text (
  id bigint PRIMARY KEY,
  name text COLLATE "C" NOT NULL,
  path text COLLATE "C" NOT NULL,
  title text COLLATE "C" NOT NULL,
  length integer NOT NULL
);
CREATE TABLE labels_postings (
  word text COLLATE "C" NOT NULL,
  id bigint NOT NULL,
  name integer NOT NULL,
  path integer NOT NULL,
  title integer NOT NULL,
  length integer NOT NULL,
  PRIMARY KEY (word, id) INCLUDE (name, path, title, length)
);
CREATE TABLE text_totals (kind text PRIMARY KEY, row_count bigint NOT NULL, word_count bigint NOT NULL);
INSERT INTO text_totals VALUES ('chunks', 0, 0), ('labels', 0, 0);

-- Every word that ever occurred, for typos and parts of compounds. Words are never taken out: they are few, and a search
-- asks whether one still occurs.
CREATE TABLE words (word text COLLATE "C" PRIMARY KEY);
CREATE TABLE words_triples (
  triple text COLLATE "C" NOT NULL,
  word text COLLATE "C" NOT NULL,
  PRIMARY KEY (triple, word)
);
`;

/**
 * Format 1 of one store, in a PostgreSQL schema of its own: the same tables and columns as in SQLite, described in
 * docs/formats/index-postgres.md. Text is compared byte by byte there, hence the collation.
 */
const TABLES = `
CREATE TABLE state (
  id bigint PRIMARY KEY CHECK (id = 1),
  active bigint NOT NULL,
  pinned bigint NOT NULL,
  oldest bigint NOT NULL,
  visible_revision bigint NOT NULL,
  dropped_chunks bigint NOT NULL,
  analyzer text NOT NULL,
  next_generation bigint NOT NULL,
  next_document bigint NOT NULL,
  next_body bigint NOT NULL,
  next_chunk bigint NOT NULL,
  next_space bigint NOT NULL
);
INSERT INTO state VALUES (1, 0, 0, 1, 0, 0, '', 2, 1, 1, 1, 1);

CREATE TABLE generations (
  id bigint PRIMARY KEY,
  domain_id text COLLATE "C" NOT NULL,
  source_id text COLLATE "C" NOT NULL,
  number bigint,
  created_at bigint NOT NULL,
  committed_at bigint,
  added bigint NOT NULL,
  removed bigint NOT NULL
);
CREATE UNIQUE INDEX generations_number ON generations (number);
CREATE INDEX generations_drafts ON generations (domain_id, source_id) WHERE number IS NULL;
INSERT INTO generations
SELECT ${DIRECT_GENERATION}, '', '${DIRECT_SOURCE}', 0, now.s, now.s, 0, 0 FROM (SELECT extract(epoch FROM now())::bigint AS s) now;

CREATE TABLE bodies (
  id bigint PRIMARY KEY,
  sha256 text COLLATE "C" NOT NULL,
  file_type text COLLATE "C" NOT NULL,
  extractor text COLLATE "C" NOT NULL,
  chunking text COLLATE "C" NOT NULL,
  title text COLLATE "C" NOT NULL,
  language text COLLATE "C" NOT NULL,
  UNIQUE (sha256, file_type, extractor, chunking)
);

CREATE TABLE sections (
  body_id bigint NOT NULL REFERENCES bodies (id) ON DELETE CASCADE,
  position bigint NOT NULL,
  parent bigint,
  heading text COLLATE "C" NOT NULL,
  level bigint NOT NULL,
  content text COLLATE "C" NOT NULL,
  PRIMARY KEY (body_id, position)
);

CREATE TABLE chunks (
  id bigint NOT NULL,
  body_id bigint NOT NULL REFERENCES bodies (id),
  position bigint NOT NULL,
  section_path text COLLATE "C" NOT NULL,
  page bigint NOT NULL,
  text text COLLATE "C" NOT NULL,
  -- A search asks for the bodies of many chunks; the rows themselves are wide.
  PRIMARY KEY (id) INCLUDE (body_id)
);
CREATE INDEX chunks_body ON chunks (body_id, position);

CREATE TABLE spaces (
  id bigint PRIMARY KEY,
  model text COLLATE "C" NOT NULL,
  revision text COLLATE "C" NOT NULL,
  dimensions bigint NOT NULL,
  learnt bytea,
  chunks bigint NOT NULL,
  active bigint NOT NULL,
  created_at bigint NOT NULL
);

CREATE TABLE vectors (
  space_id bigint NOT NULL,
  chunk_id bigint NOT NULL,
  body_id bigint NOT NULL,
  vector bytea NOT NULL,
  PRIMARY KEY (space_id, chunk_id)
);
CREATE INDEX vectors_chunk ON vectors (chunk_id);

CREATE TABLE documents (
  id bigint PRIMARY KEY,
  domain_id text COLLATE "C" NOT NULL,
  source_id text COLLATE "C" NOT NULL,
  item_id text COLLATE "C" NOT NULL,
  file_id text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  path text COLLATE "C" NOT NULL,
  url text COLLATE "C" NOT NULL,
  file_type text COLLATE "C" NOT NULL,
  modified_at text COLLATE "C" NOT NULL,
  attributes text COLLATE "C" NOT NULL,
  file text COLLATE "C" NOT NULL,
  sha256 text COLLATE "C" NOT NULL,
  bytes bigint NOT NULL,
  chunking text COLLATE "C" NOT NULL,
  body_id bigint REFERENCES bodies (id),
  status text COLLATE "C" NOT NULL CHECK (status IN ('in_progress', 'completed', 'failed', 'cancelled')),
  error_code text COLLATE "C",
  error_message text COLLATE "C",
  uploaded_at bigint NOT NULL,
  embedded_at bigint NOT NULL,
  born bigint NOT NULL REFERENCES generations (id),
  died bigint REFERENCES generations (id)
);
CREATE INDEX documents_source ON documents (domain_id, source_id, id);
CREATE INDEX documents_item ON documents (domain_id, source_id, item_id);
CREATE INDEX documents_path ON documents (domain_id, source_id, path);
CREATE INDEX documents_file ON documents (file_id);
CREATE INDEX documents_body ON documents (body_id);
CREATE INDEX documents_born ON documents (born, id);
CREATE INDEX documents_died ON documents (died, id) WHERE died IS NOT NULL;
CREATE INDEX documents_uploaded ON documents (uploaded_at, id);

CREATE TABLE loose_bodies (body_id bigint PRIMARY KEY);

CREATE VIEW documents_active AS
SELECT d.* FROM documents d
JOIN generations born ON born.id = d.born
LEFT JOIN generations died ON died.id = d.died
WHERE born.number <= (SELECT active FROM state)
  AND (d.died IS NULL OR died.number IS NULL OR died.number > (SELECT active FROM state));

${TEXT_TABLES}
`;

const CRAWLS = crawlColumn('text COLLATE "C"');
const KEPT = keptTable({ text: 'text COLLATE "C"', integer: "bigint" });

const CHECKSUMS = checksumColumn("bigint");
const SHOWN = newestAndShown({
  text: 'text COLLATE "C"',
  integer: "bigint",
  uuid: "gen_random_uuid()::text",
  join: "",
});

export const STORE_TABLES: Schema = {
  version: 5,
  sql: TABLES + CRAWLS + KEPT + CHECKSUMS + SHOWN,
  upgrades: new Map([
    [1, CRAWLS],
    [2, KEPT],
    [3, CHECKSUMS],
    [4, SHOWN],
  ]),
};
