import { ConflictError } from "../contracts/errors.ts";
import { isListed, listOf } from "../lib/sql/is-listed.ts";
import type { Sql, SqlDatabase } from "../lib/sql/sql.ts";
import { nowSeconds } from "../lib/time.ts";
import type { Store, Words } from "./store.ts";
import { takeIds, writeInTurn } from "./store-state.ts";

/** Everything that decides what text comes out of some bytes. Two documents with equal keys share one body. */
export interface BodyKey {
  readonly sha256: string;
  readonly fileType: string;
  readonly extractor: string;
  /** With the chunker's revision. */
  readonly chunking: string;
}

/** What the bytes became: everything a body consists of. */
export interface NewBody {
  readonly key: BodyKey;
  readonly title: string;
  readonly language: string;
  readonly sections: readonly SectionRow[];
  readonly chunks: readonly NewChunk[];
}

/** A body that is in the store. */
export interface StoredBody {
  readonly id: number;
  readonly title: string;
}

/** One text per key, equal for equal keys. */
export function nameOfKey({ sha256, fileType, extractor, chunking }: BodyKey): string {
  return `${sha256} ${fileType} ${extractor} ${chunking}`;
}

export async function findBody(sql: Sql, key: BodyKey): Promise<StoredBody | undefined> {
  return sql.get<StoredBody>(
    "SELECT id, title FROM bodies WHERE sha256 = $1 AND file_type = $2 AND extractor = $3 AND chunking = $4",
    [key.sha256, key.fileType, key.extractor, key.chunking],
  );
}

/** Those that are there, by nameOfKey. */
export async function findBodies(sql: Sql, keys: readonly BodyKey[]): Promise<Map<string, StoredBody>> {
  const found = new Map<string, StoredBody>();
  if (keys.length === 0) return found;
  const rows = await sql.all<StoredBody & BodyKey>(
    `SELECT id, title, sha256, file_type AS "fileType", extractor, chunking FROM bodies
     WHERE ${isListed(sql, "sha256", "$1", "text")}`,
    [listOf([...new Set(keys.map(({ sha256 }) => sha256))])],
  );
  for (const row of rows) found.set(nameOfKey(row), { id: row.id, title: row.title });
  return found;
}

/** With all their parts, their vectors in the given space. In the order given. */
export async function insertBodies(
  sql: Sql,
  store: Pick<Store, "texts" | "vectors">,
  bodies: readonly NewBody[],
  spaceId: number,
): Promise<StoredBody[]> {
  if (bodies.length === 0) return [];
  const first = await takeIds(sql, "next_body", bodies.length);
  await sql.insert(
    "bodies (id, sha256, file_type, extractor, chunking, title, language)",
    bodies.map(({ key, title, language }, at) => [
      first + at,
      key.sha256,
      key.fileType,
      key.extractor,
      key.chunking,
      title,
      language,
    ]),
  );
  await insertSections(
    sql,
    bodies.flatMap(({ sections }, at) => sections.map((section) => ({ ...section, bodyId: first + at }))),
  );
  const chunks = bodies.flatMap(({ chunks }, at) => chunks.map((chunk) => ({ ...chunk, bodyId: first + at })));
  await insertChunks(sql, store, chunks, spaceId);
  return bodies.map(({ title }, at) => ({ id: first + at, title }));
}

/** Notes that the bodies lost a document; another may still name them. */
export async function noteLooseBodies(sql: Sql, bodyIds: readonly number[]): Promise<void> {
  await sql.insert(
    "loose_bodies (body_id)",
    [...new Set(bodyIds)].map((id) => [id]),
    "ON CONFLICT DO NOTHING",
  );
}

/** Bodies that lost a document, oldest first, each with how many chunks it has and whether a document names it, or one that may return. */
export async function looseBodies(sql: Sql, limit: number): Promise<LooseBody[]> {
  return sql.all<LooseBody>(
    `SELECT l.body_id AS id, (SELECT count(*) FROM chunks c WHERE c.body_id = l.body_id) AS chunks,
       CASE WHEN EXISTS (SELECT 1 FROM documents d WHERE d.body_id = l.body_id)
         OR EXISTS (SELECT 1 FROM kept_documents k WHERE k.body_id = l.body_id) THEN 1 ELSE 0 END AS used
     FROM loose_bodies l ORDER BY l.body_id LIMIT $1`,
    [limit],
  );
}

interface LooseBody {
  readonly id: number;
  readonly chunks: number;
  readonly used: 0 | 1;
}

export async function forgetLooseBodies(sql: Sql, bodyIds: readonly number[]): Promise<void> {
  await sql.run(`DELETE FROM loose_bodies WHERE ${isListed(sql, "body_id", "$1", "integer")}`, [listOf(bodyIds)]);
}

/** With all their parts. No document may name them. */
export async function deleteBodies(
  sql: Sql,
  store: Pick<Store, "texts" | "vectors">,
  bodyIds: readonly number[],
): Promise<void> {
  if (bodyIds.length === 0) return;
  await deleteChunksOfBodies(sql, store, bodyIds);
  await sql.run(`DELETE FROM bodies WHERE ${isListed(sql, "id", "$1", "integer")}`, [listOf(bodyIds)]);
}

/** A section of the flattened tree; `parent` is the position of the one above it. */
export interface SectionRow {
  readonly position: number;
  readonly parent: number | null;
  readonly heading: string;
  readonly level: number;
  readonly content: string;
}

const COLUMNS = "s.position, s.parent, s.heading, s.level, s.content";

export async function insertSections(
  sql: Sql,
  sections: readonly (SectionRow & { readonly bodyId: number })[],
): Promise<void> {
  await sql.insert(
    "sections (body_id, position, parent, heading, level, content)",
    sections.map(({ bodyId, position, parent, heading, level, content }) => [
      bodyId,
      position,
      parent,
      heading,
      level,
      content,
    ]),
  );
}

export async function sectionsOfBody(sql: Sql, bodyId: number): Promise<SectionRow[]> {
  return sql.all<SectionRow>(`SELECT ${COLUMNS} FROM sections s WHERE s.body_id = $1 ORDER BY s.position`, [bodyId]);
}

/** In reading order, of what readers see now; [] when no document is at this path. */
export async function sectionsOfDocument(
  sql: Sql,
  document: { readonly domainId: string; readonly sourceId: string; readonly path: string },
): Promise<SectionRow[]> {
  return sql.all<SectionRow>(
    `SELECT ${COLUMNS} FROM documents_active d JOIN sections s ON s.body_id = d.body_id
     WHERE d.domain_id = $1 AND d.source_id = $2 AND d.path = $3 ORDER BY d.id, s.position`,
    [document.domainId, document.sourceId, document.path],
  );
}

/** A text index looks at every word of what it gets before anything else has its turn. */
const TEXTS_AT_ONCE = 100;

/** A passage with everything it is found by. */
export interface NewChunk {
  readonly position: number;
  readonly sectionPath: string;
  readonly page: number;
  readonly text: string;
  readonly words: { readonly headings: Words; readonly text: Words };
  /** In the space they are inserted with; null: a refresh of the space makes it. */
  readonly vector: Float32Array | null;
}

/** A passage as it is stored. */
interface ChunkRow {
  readonly id: number;
  readonly bodyId: number;
  readonly position: number;
  readonly sectionPath: string;
  readonly page: number;
  readonly text: string;
}

export async function insertChunks(
  sql: Sql,
  { texts, vectors }: Pick<Store, "texts" | "vectors">,
  chunks: readonly (NewChunk & { readonly bodyId: number })[],
  spaceId: number,
): Promise<void> {
  if (chunks.length === 0) return;
  const first = await takeIds(sql, "next_chunk", chunks.length);
  await sql.insert(
    "chunks (id, body_id, position, section_path, page, text)",
    chunks.map((chunk, at) => [first + at, chunk.bodyId, chunk.position, chunk.sectionPath, chunk.page, chunk.text]),
  );
  for (let from = 0; from < chunks.length; from += TEXTS_AT_ONCE) {
    const some = chunks.slice(from, from + TEXTS_AT_ONCE);
    await texts.addChunks(
      sql,
      some.map(({ words }, at) => ({ chunkId: first + from + at, ...words })),
    );
  }
  await vectors.add(
    sql,
    spaceId,
    chunks.flatMap(({ bodyId, vector }, at) => (vector ? [{ chunkId: first + at, bodyId, vector }] : [])),
  );
}

/** How many there were, at most `limit`. Their words and vectors go with them. */
export async function deleteChunksOfBodies(
  sql: Sql,
  { texts, vectors }: Pick<Store, "texts" | "vectors">,
  bodyIds: readonly number[],
  limit = Number.MAX_SAFE_INTEGER,
): Promise<number> {
  const rows = await sql.all<{ id: number }>(
    `SELECT id FROM chunks WHERE ${isListed(sql, "body_id", "$1", "integer")} LIMIT $2`,
    [listOf(bodyIds), limit],
  );
  const ids = rows.map(({ id }) => id);
  if (ids.length === 0) return 0;
  await texts.removeChunks(sql, ids);
  await vectors.remove(sql, ids);
  await sql.run(`DELETE FROM chunks WHERE ${isListed(sql, "id", "$1", "integer")}`, [listOf(ids)]);
  await sql.run("UPDATE state SET dropped_chunks = dropped_chunks + $1 WHERE id = 1", [ids.length]);
  return ids.length;
}

/** One page of all chunks, in the order they came. */
export async function chunksAfter(sql: Sql, afterId: number, limit: number): Promise<ChunkRow[]> {
  return sql.all<ChunkRow>(
    `SELECT id, body_id AS "bodyId", position, section_path AS "sectionPath", page, text FROM chunks
     WHERE id > $1 ORDER BY id LIMIT $2`,
    [afterId, limit],
  );
}

/**
 * A large body is written in several transactions, so that nobody waits for all of it. Until it is whole its row has a key
 * under which nobody looks for bodies, and says when it last grew, so that what a killed process left can be told.
 */
export const UNFINISHED = "unfinished";
/** On its way out, a slice at a time: nobody may find it any more. */
const WITHDRAWN = "withdrawn";
/** Embedding what comes next may have to wait for a service; whoever stands still for longer is dead. */
const STALE_SECONDS = 3600;

/** A body of which every part is in the store, and which is to be finished in the transaction that needs it. */
export interface UnfinishedBody extends StoredBody {
  readonly key: BodyKey;
}

export async function beginBody(
  sql: Sql,
  { title, language }: { readonly title: string; readonly language: string },
): Promise<number> {
  const id = await takeIds(sql, "next_body", 1);
  await sql.insert("bodies (id, sha256, file_type, extractor, chunking, title, language)", [
    [id, UNFINISHED, "", String(nowSeconds()), String(id), title, language],
  ]);
  return id;
}

/** To be called in every transaction that adds to it. Throws ConflictError when it was taken for a dead process's. */
export async function growBody(sql: Sql, id: number): Promise<void> {
  const there = await sql.run(`UPDATE bodies SET extractor = $2 WHERE id = $1 AND sha256 = '${UNFINISHED}'`, [
    id,
    String(nowSeconds()),
  ]);
  if (there === 0) throw swept();
}

/** From here on it is found by its key. Throws ConflictError when it was taken for a dead process's. */
export async function finishBody(sql: Sql, { id, key }: UnfinishedBody): Promise<void> {
  const there = await sql.run(
    `UPDATE bodies SET sha256 = $2, file_type = $3, extractor = $4, chunking = $5
     WHERE id = $1 AND sha256 = '${UNFINISHED}'`,
    [id, key.sha256, key.fileType, key.extractor, key.chunking],
  );
  if (there === 0) throw swept();
}

function swept(): ConflictError {
  return new ConflictError("write document: its writing stood still for so long that its parts were cleaned up");
}

/** Those of them that nobody finished go with the next cleanup. */
export async function abandonBodies(sql: Sql, ids: readonly number[]): Promise<void> {
  if (ids.length === 0) return;
  const rows = await sql.all<{ id: number }>(
    `SELECT id FROM bodies WHERE sha256 = '${UNFINISHED}' AND ${isListed(sql, "id", "$1", "integer")}`,
    [listOf(ids)],
  );
  for (const { id } of rows) await withdrawBody(sql, id);
  await noteLooseBodies(
    sql,
    rows.map(({ id }) => id),
  );
}

/** Nobody finds it any more. No document may name it. */
export async function withdrawBody(sql: Sql, id: number): Promise<void> {
  await sql.run(
    `UPDATE bodies SET sha256 = '${WITHDRAWN}', file_type = '', extractor = '', chunking = $2 WHERE id = $1`,
    [id, String(id)],
  );
}

/** What killed processes began and never finished. Looks before it locks: mostly there is nothing. */
export async function abandonStaleBodies(db: SqlDatabase): Promise<void> {
  if ((await staleBodies(db)).length === 0) return;
  await writeInTurn(db, async (sql) => abandonBodies(sql, await staleBodies(sql)));
}

async function staleBodies(sql: Sql): Promise<number[]> {
  const rows = await sql.all<{ id: number; grownAt: string }>(
    `SELECT id, extractor AS "grownAt" FROM bodies WHERE sha256 = '${UNFINISHED}'`,
  );
  const before = nowSeconds() - STALE_SECONDS;
  return rows.filter(({ grownAt }) => Number(grownAt) < before).map(({ id }) => id);
}

/** By the wall clock, whatever time a draft is made at: it tells whether a process is alive. */
