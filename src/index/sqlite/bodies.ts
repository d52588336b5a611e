import { cutCjk } from "../search/cut-cjk.ts";
import type { Database } from "./open-database.ts";

/** Everything that decides what is embedded. Two documents with equal keys share one body. */
export interface BodyKey {
  readonly sha256: string;
  readonly fileType: string;
  readonly extractor: string;
  readonly chunking: string;
  readonly embedding: string;
}

/** A section of the flattened tree; `parent` is the position of the one above it. */
export interface SectionRow {
  readonly position: number;
  readonly parent: number | null;
  readonly heading: string;
  readonly level: number;
  readonly content: string;
}

export interface ChunkRow {
  readonly position: number;
  readonly sectionPath: string;
  readonly text: string;
  /** As packVector writes it. */
  readonly vector: Uint8Array;
}

/** What the bytes became: everything a body consists of. */
export interface PreparedBody {
  readonly title: string;
  readonly sections: readonly SectionRow[];
  readonly chunks: readonly ChunkRow[];
}

/** A body that is in the store. */
export interface StoredBody {
  readonly id: number;
  readonly title: string;
}

export function findBody(db: Database, key: BodyKey): StoredBody | undefined {
  return db
    .statement(
      `SELECT id, title FROM bodies
       WHERE sha256 = ? AND file_type = ? AND extractor = ? AND chunking = ? AND embedding = ?`,
    )
    .get(key.sha256, key.fileType, key.extractor, key.chunking, key.embedding) as StoredBody | undefined;
}

/** To be called inside a transaction of the caller: a body is there with all its parts or not at all. */
export function insertBody(db: Database, key: BodyKey, { title, sections, chunks }: PreparedBody): StoredBody {
  const { lastInsertRowid } = db
    .statement(
      "INSERT INTO bodies (sha256, file_type, extractor, chunking, embedding, title) VALUES (?, ?, ?, ?, ?, ?)",
    )
    .run(key.sha256, key.fileType, key.extractor, key.chunking, key.embedding, title);
  const id = Number(lastInsertRowid);
  insertSections(db, id, sections);
  insertChunks(db, id, chunks);
  return { id, title };
}

function insertSections(db: Database, bodyId: number, sections: readonly SectionRow[]): void {
  const insert = db.statement(
    "INSERT INTO sections (body_id, position, parent, heading, level, content) VALUES (?, ?, ?, ?, ?, ?)",
  );
  for (const section of sections) {
    insert.run(bodyId, section.position, section.parent, section.heading, section.level, section.content);
  }
}

function insertChunks(db: Database, bodyId: number, chunks: readonly ChunkRow[]): void {
  const insert = db.statement("INSERT INTO chunks (body_id, position, section_path, text) VALUES (?, ?, ?, ?)");
  const insertText = db.statement("INSERT INTO chunks_text (rowid, headings, text) VALUES (?, ?, ?)");
  const insertVector = db.statement("INSERT INTO vectors (chunk_id, body_id, vector) VALUES (?, ?, ?)");
  for (const chunk of chunks) {
    const { lastInsertRowid } = insert.run(bodyId, chunk.position, chunk.sectionPath, chunk.text);
    insertText.run(lastInsertRowid, cutCjk(chunk.sectionPath), cutCjk(chunk.text));
    insertVector.run(lastInsertRowid, bodyId, chunk.vector);
  }
}

export function sectionsOfBody(db: Database, bodyId: number): SectionRow[] {
  return db
    .statement("SELECT position, parent, heading, level, content FROM sections WHERE body_id = ? ORDER BY position")
    .all(bodyId) as unknown as SectionRow[];
}

/** Bodies that lost a document, oldest first; another document may still name them. */
export function looseBodies(db: Database, limit: number): number[] {
  return db
    .statement("SELECT body_id AS id FROM loose_bodies ORDER BY body_id LIMIT ?")
    .all(limit)
    .map((row) => Number(row["id"]));
}

/** Deletes the body unless a document still names it, and returns the number of chunks that went with it. */
export function deleteBodyIfUnused(db: Database, bodyId: number): number {
  db.statement("DELETE FROM loose_bodies WHERE body_id = ?").run(bodyId);
  if (db.statement("SELECT 1 FROM documents WHERE body_id = ? LIMIT 1").get(bodyId)) return 0;
  const { changes } = db.statement("DELETE FROM chunks WHERE body_id = ?").run(bodyId);
  db.statement("DELETE FROM bodies WHERE id = ?").run(bodyId);
  return Number(changes);
}
