import { createHash } from "node:crypto";
import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";

/** The tables of a store as format 2 had them. */
const TABLES = `
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
INSERT INTO generations VALUES (1, '_direct', 0, unixepoch(), unixepoch());

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
  headings, text, content='', contentless_delete=1, tokenize='porter unicode61 remove_diacritics 2'
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
  name, path, title, content='', contentless_delete=1, tokenize='porter unicode61 remove_diacritics 2'
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
`;

export interface OldDocument {
  readonly id: number;
  readonly source: string;
  readonly item: string;
  readonly text: string;
  readonly embedding: string;
  readonly vector: Uint8Array;
  readonly born: number;
  readonly died: number | null;
  readonly attributes: Readonly<Record<string, string>>;
}

export interface OldStore {
  /** Of the bodies, as bodies have it. */
  readonly revisions: { readonly extractor: string; readonly chunking: string };
  readonly active: number;
  /** Beside the one of wire files, which has id 1. */
  readonly generations: readonly {
    readonly id: number;
    readonly source: string;
    readonly number: number | null;
    readonly committedAt: number | null;
  }[];
  readonly documents: readonly OldDocument[];
}

/** Writes a store as an earlier release left it. Documents with equal text and embedding share their body. */
export function writeOldStore(path: string, { revisions, active, generations, documents }: OldStore): void {
  mkdirSync(dirname(path), { recursive: true });
  const db = new DatabaseSync(path, { enableForeignKeyConstraints: true });
  db.exec(`PRAGMA journal_mode = WAL; ${TABLES}; PRAGMA user_version = 2`);
  db.prepare("UPDATE state SET active = ?, visible_revision = 7").run(active);
  for (const { id, source, number, committedAt } of generations) {
    db.prepare("INSERT INTO generations VALUES (?, ?, ?, 1, ?)").run(id, source, number, committedAt);
  }
  for (const document of documents) insertDocument(db, document, insertBody(db, document, revisions));
  db.close();
}

/** What the release before that had: source ids without their domain, and no index on them. */
export function makeFormat1(path: string): void {
  const db = new DatabaseSync(path);
  for (const table of ["documents", "generations"]) {
    db.exec(`UPDATE ${table} SET source_id = substr(source_id, instr(source_id, '/') + 1)`);
  }
  db.exec("DROP INDEX documents_source; PRAGMA user_version = 1");
  db.close();
}

function insertBody(
  db: DatabaseSync,
  { text, embedding, vector }: OldDocument,
  revisions: OldStore["revisions"],
): number {
  const sha256 = sha256Of(text);
  const known = db.prepare("SELECT id FROM bodies WHERE sha256 = ? AND embedding = ?").get(sha256, embedding);
  if (known) return Number(known["id"]);
  const { lastInsertRowid: body } = db
    .prepare(
      `INSERT INTO bodies (sha256, file_type, extractor, chunking, embedding, title)
       VALUES (?, 'md', ?, ?, ?, 'Title')`,
    )
    .run(sha256, revisions.extractor, revisions.chunking, embedding);
  db.prepare("INSERT INTO sections VALUES (?, 0, NULL, '', 0, ?)").run(body, text);
  const { lastInsertRowid: chunk } = db
    .prepare("INSERT INTO chunks (body_id, position, section_path, text) VALUES (?, 0, 'Head', ?)")
    .run(body, text);
  db.prepare("INSERT INTO chunks_text (rowid, headings, text) VALUES (?, 'Head', ?)").run(chunk, text);
  db.prepare("INSERT INTO vectors VALUES (?, ?, ?)").run(chunk, body, vector);
  return Number(body);
}

function insertDocument(db: DatabaseSync, document: OldDocument, body: number): void {
  const { id, source, item, text, born, died, attributes } = document;
  const values = [id, source, item, `file-${id}`, `${item}.md`, `${item}.md`, JSON.stringify(attributes)];
  db.prepare(
    `INSERT INTO documents VALUES
       (?, ?, ?, ?, ?, ?, '', 'md', ?, 'x.md', ?, 1, '800/400', ?, 'completed', NULL, NULL, 5, 6, ?, ?)`,
  ).run(...values, sha256Of(text), body, born, died);
  db.prepare("INSERT INTO labels_text (rowid, name, path, title) VALUES (?, ?, ?, 'Title')").run(id, item, item);
}

function sha256Of(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** Takes from the tables of a store, in either database, what the last format brought: the newest and the shown generation, and ids. */
export const WITHOUT_NEWEST_AND_SHOWN = `
DROP VIEW documents_active;
ALTER TABLE state RENAME COLUMN shown TO active;
ALTER TABLE state DROP COLUMN newest;
ALTER TABLE generations DROP COLUMN generation_id;
ALTER TABLE generations DROP COLUMN erased;
CREATE VIEW documents_active AS
SELECT d.* FROM documents d
CROSS JOIN generations born
LEFT JOIN generations died ON died.id = d.died
WHERE born.id = d.born AND born.number <= (SELECT active FROM state)
  AND (d.died IS NULL OR died.number IS NULL OR died.number > (SELECT active FROM state));
`;
