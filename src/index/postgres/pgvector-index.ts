import { isListed, listOf, type Sql, type SqlDatabase } from "../../lib/sql/sql.ts";
import { listSpaces } from "../embedding/spaces.ts";
import { checksumOf, packVector, stepsOf } from "../embedding/vectors.ts";
import type { ChunkVector, Selection, VectorIndex } from "../store.ts";

/** Below this, comparing every vector is as fast, exact, and needs no index. */
const INDEX_FROM = 10_000;
/** The limit of an HNSW index for half-precision vectors. Longer ones are compared one by one. */
const MAX_DIMENSIONS = 4000;
const FILL_AT_ONCE = 1000;
/** The index that finds rows to fill without reading the table; empty if there are none. */
const EMPTY = "vectors_near_empty";

/**
 * Settings for every connection. A search with a filter continues until it has enough results: otherwise it would read a fixed number of
 * neighbours and then drop the filtered ones.
 */
export const PGVECTOR_SESSION = "SET hnsw.iterative_scan = 'relaxed_order'; SET hnsw.ef_search = 100";

export interface PgvectorOptions {
  /** The number of vectors from which a space gets an HNSW index. */
  readonly indexFrom?: number;
}

/**
 * Stores vectors in the column `near` beside the portable one, and finds them through an HNSW index per space. A space has vectors of one
 * length, which an index must know: hence an index over an expression, for the rows of one space.
 */
export function createPgvectorIndex({ indexFrom = INDEX_FROM }: PgvectorOptions = {}): VectorIndex {
  return {
    async add(sql, spaceId, vectors) {
      const [first] = vectors;
      if (!first) return;
      await sql.insert("vectors (space_id, chunk_id, body_id, vector, checksum, near)", toRows(spaceId, vectors));
      // A process that was started before the server had pgvector goes on writing without it.
      await fillSome(sql);
      await makeIndex(sql, spaceId, first.vector.length, indexFrom);
    },
    async remove(sql, chunkIds) {
      if (chunkIds.length === 0) return;
      await sql.run(`DELETE FROM vectors WHERE ${isListed(sql, "chunk_id", "$1", "integer")}`, [listOf(chunkIds)]);
    },
    async drop(sql, spaceId) {
      await sql.run(`DROP INDEX IF EXISTS ${indexName(spaceId)}`);
      await sql.run("DELETE FROM vectors WHERE space_id = $1", [spaceId]);
    },
    async nearest(sql, { id, dimensions }, query, limit, among) {
      const within = withinBodies(among);
      const [vector, count] = [`$${within.values.length + 1}`, `$${within.values.length + 2}`];
      const distance = `near::halfvec(${dimensions}) <=> ${vector}::halfvec(${dimensions})`;
      // The index returns them nearly in order; the final sort is done here.
      return sql.all(
        `SELECT "chunkId", "bodyId", 1 - distance AS similarity FROM
           (SELECT chunk_id AS "chunkId", body_id AS "bodyId", ${distance} AS distance FROM vectors
            WHERE space_id = ${Number(id)} ${within.sql} ORDER BY ${distance} LIMIT ${count}) found
         WHERE distance < 1 ORDER BY distance, "chunkId"`,
        [...within.values, toText(query), limit],
      );
    },
    async similarities(sql, { id, dimensions }, query, chunkIds) {
      const rows = await sql.all<{ id: number; similarity: number }>(
        `SELECT chunk_id AS id, 1 - (near::halfvec(${dimensions}) <=> $3::halfvec(${dimensions})) AS similarity FROM vectors
         WHERE space_id = $1 AND ${isListed(sql, "chunk_id", "$2", "integer")}`,
        [id, listOf(chunkIds), toText(query)],
      );
      const found = new Map(rows.map((row) => [row.id, row.similarity]));
      return chunkIds.map((chunkId) => found.get(chunkId) || 0);
    },
  };
}

/**
 * Adds the column, and fills it where it is empty: for vectors written while the server had no pgvector, or by a process that does not know
 * of it yet, and for what a killed process left unfilled.
 */
export async function preparePgvector(
  db: SqlDatabase,
  { indexFrom = INDEX_FROM }: PgvectorOptions = {},
): Promise<void> {
  const prepared = await db.get<{ yes: number }>(`SELECT to_regclass('${EMPTY}') IS NOT NULL AS yes`);
  if (prepared?.yes !== 1) await db.write((sql) => addColumn(sql, indexFrom));
  // Reads before it writes: a process that only searches need not wait for a writer.
  let filled = 0;
  while (await db.get("SELECT 1 AS yes FROM vectors WHERE near IS NULL LIMIT 1")) filled += await db.write(fillSome);
  // The planner uses an index once it knows the number of rows.
  if (filled > 0) await db.run("ANALYZE vectors");
}

/** Large spaces get their index while the column is empty: it then grows as rows are filled, and no writer waits for a complete build. */
async function addColumn(sql: Sql, indexFrom: number): Promise<void> {
  await sql.run("ALTER TABLE vectors ADD COLUMN IF NOT EXISTS near halfvec");
  await sql.run(`CREATE INDEX IF NOT EXISTS ${EMPTY} ON vectors (space_id, chunk_id) WHERE near IS NULL`);
  for (const { id, dimensions } of await listSpaces(sql)) await makeIndex(sql, id, dimensions, indexFrom);
}

/** Returns how many rows it filled. */
async function fillSome(sql: Sql): Promise<number> {
  const rows = await sql.all<{ space_id: number; chunk_id: number; vector: Uint8Array }>(
    `SELECT space_id, chunk_id, vector FROM vectors WHERE near IS NULL LIMIT ${FILL_AT_ONCE}`,
  );
  if (rows.length === 0) return 0;
  // The scale does not matter for cosine similarity.
  const texts = rows.map((row) => `[${stepsOf(row.vector).join(",")}]`);
  await sql.run(
    `UPDATE vectors v SET near = f.near::halfvec FROM
       (SELECT (row ->> 0)::bigint AS space_id, (row ->> 1)::bigint AS chunk_id, row ->> 2 AS near
        FROM jsonb_array_elements($1::jsonb) AS row) f
     WHERE v.space_id = f.space_id AND v.chunk_id = f.chunk_id`,
    [JSON.stringify(rows.map((row, at) => [row.space_id, row.chunk_id, texts[at]]))],
  );
  return rows.length;
}

/** Creates the index once the space is large enough. Later rows are added to it as they come. */
async function makeIndex(sql: Sql, spaceId: number, dimensions: number, from: number): Promise<void> {
  if (dimensions > MAX_DIMENSIONS) return;
  const name = indexName(spaceId);
  const there = await sql.get<{ yes: number }>("SELECT to_regclass($1) IS NOT NULL AS yes", [name]);
  if (there?.yes === 1) return;
  const enough = await sql.get("SELECT 1 AS yes FROM vectors WHERE space_id = $1 OFFSET $2 LIMIT 1", [
    spaceId,
    from - 1,
  ]);
  if (!enough) return;
  await sql.run(
    `CREATE INDEX IF NOT EXISTS ${name} ON vectors USING hnsw ((near::halfvec(${dimensions})) halfvec_cosine_ops)
     WHERE space_id = ${Number(spaceId)}`,
  );
  // The planner uses the index once it knows the number of rows.
  await sql.run("ANALYZE vectors");
}

function indexName(spaceId: number): string {
  return `vectors_near_${Number(spaceId)}`;
}

function toRows(spaceId: number, vectors: readonly ChunkVector[]): (string | number | Uint8Array)[][] {
  return vectors.map(({ chunkId, bodyId, vector }) => {
    const packed = packVector(vector);
    return [spaceId, chunkId, bodyId, packed, checksumOf(spaceId, chunkId, packed), toText(vector)];
  });
}

function toText(vector: Float32Array): string {
  return `[${vector.join(",")}]`;
}

function withinBodies(among: Selection | undefined): Selection {
  return { sql: among ? `AND body_id IN (${among.sql})` : "", values: among?.values ?? [] };
}
