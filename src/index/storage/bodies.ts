import { isListed, listOf } from "../../lib/sql/is-listed.ts";
import type { Sql } from "../../lib/sql/sql.ts";
import { deleteChunksOfBodies, insertChunks, type NewChunk } from "./chunks.ts";
import { insertSections, type SectionRow } from "./sections.ts";
import { takeIds } from "./state.ts";
import type { Store } from "./store.ts";

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

export interface LooseBody {
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
