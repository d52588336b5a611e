import { crawlColumn } from "../storage/crawl-column.ts";
import { keptTable } from "../storage/kept-table.ts";

/**
 * Format 1 knew the source but not its domain. The marks on a document tell it; one that has lost them could never be
 * removed again, so it goes, and the next crawl puts it again. So do drafts: nobody can have one open during the upgrade.
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

/** `DEMO/library` in two; files attached over the wire have no domain. */
const DOMAIN = "substr(source_id, 1, max(0, instr(source_id, '/') - 1))";
const SOURCE = "substr(source_id, instr(source_id, '/') + 1)";

/** Format 2 had the embedder in the key of a body: where only that differs, the newest body stands for all of them. */
const KEPT_BODIES = `
CREATE TABLE kept_bodies (old_id INTEGER PRIMARY KEY, id INTEGER NOT NULL) STRICT;
INSERT INTO kept_bodies
SELECT id, max(id) OVER (PARTITION BY sha256, file_type, extractor, chunking) FROM old_bodies;
INSERT INTO bodies
SELECT id, sha256, file_type, extractor, chunking, title, '' FROM old_bodies WHERE id IN (SELECT id FROM kept_bodies);
`;

/** What each embedder made becomes a space; the one that was used last answers. */
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

/** Which generations are whole was not written down, but follows from what the last cleanup kept: 3, and those of a day. */
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

/** The text tables stay empty; their words are made anew when the store is opened. */
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

/** What format 4 adds. */
export const CRAWLS = crawlColumn("TEXT");

/** What format 5 adds. */
export const KEPT = keptTable({ text: "TEXT", integer: "INTEGER" });

/** By the format they start from; `tables` is the schema of format 3. */
export function storeUpgrades(tables: string): ReadonlyMap<number, string> {
  return new Map([
    [1, FROM_1],
    [2, from2(tables)],
    [3, CRAWLS],
    [4, KEPT],
  ]);
}
