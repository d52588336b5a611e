import { isListed, listOf } from "../../lib/sql/is-listed.ts";
import type { Sql } from "../../lib/sql/sql.ts";
import { takeIds } from "./state.ts";
import type { Store, Words } from "./store.ts";

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
export interface ChunkRow {
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
