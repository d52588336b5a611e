import { CancelledError } from "../../contracts/errors.ts";
import type { Sql } from "../../lib/sql/sql.ts";
import { activateSpace, deleteSpace } from "../storage/spaces.ts";
import { writeInTurn } from "../storage/state.ts";
import type { Space, Store } from "../storage/store.ts";
import { passageText } from "./passage-text.ts";
import type { Report } from "./vector-model.ts";

/** One page is read, embedded and written; a kill loses at most this much work. */
const PAGE = 500;
/** One look passes over so many ids: a store of a million passages must not be searched for gaps in one go. */
const STRIDE = 20_000;
/** Deleting a million rows at once would keep every writer waiting. */
const DROP_SLICE = 5000;

/**
 * Embeds every chunk behind `checked` that has no vector in the space. Goes on where a killed one was, since what is
 * written is written. Returns the last chunk of which it knows, undefined when its model cannot be had, or when somebody
 * else dropped the space meanwhile.
 */
export async function fillSpace(
  store: Store,
  space: Space,
  checked: number,
  report: Report,
  signal: AbortSignal,
): Promise<number | undefined> {
  const total = await countChunks(store.db);
  let done = 0;
  for (let after = checked; ; ) {
    if (signal.aborted) throw new CancelledError("embed passages: cancelled");
    const last = await lastChunk(store.db);
    if (after >= last) return after;
    const upTo = Math.min(after + STRIDE, last);
    const page = await lacking(store.db, space.id, after, upTo);
    if (page.length > 0) {
      const vectors = await space.embedder.embed(page.map(passageText), signal);
      if (vectors.length === 0) return undefined;
      if (!(await writeInTurn(store.db, (sql) => addVectors(store, sql, space, page, vectors)))) return undefined;
      done += page.length;
      if (total > PAGE)
        report(`[ ${Math.min(done, total)} / ${total} ] Embedding passages with ${space.embedder.model}`);
    }
    after = page.length < PAGE ? upTo : (page.at(-1)?.chunkId ?? upTo);
  }
}

/** The moment of the switch: nobody can add a chunk between the last look and the flip. `checked`: as fillSpace returned it. */
export async function activateWhenComplete(
  store: Store,
  space: Space,
  checked: number,
  report: Report,
  signal: AbortSignal,
): Promise<void> {
  for (let after: number | undefined = checked; after !== undefined; ) {
    const from: number = after;
    const done = await writeInTurn(store.db, async (sql) => {
      if (!(await isThere(sql, space.id))) return true;
      if ((await lacking(sql, space.id, from, Number.MAX_SAFE_INTEGER)).length > 0) return false;
      await activateSpace(sql, space.id);
      return true;
    });
    if (done) return;
    after = await fillSpace(store, space, from, report, signal);
  }
}

export async function dropSpace(store: Store, spaceId: number, signal: AbortSignal): Promise<void> {
  for (let dropped = DROP_SLICE; dropped >= DROP_SLICE; ) {
    if (signal.aborted) throw new CancelledError("drop old vectors: cancelled");
    dropped = await writeInTurn(store.db, (sql) =>
      sql.run(
        `DELETE FROM vectors WHERE space_id = $1 AND chunk_id IN
           (SELECT chunk_id FROM vectors WHERE space_id = $1 ORDER BY chunk_id LIMIT ${DROP_SLICE})`,
        [spaceId],
      ),
    );
  }
  await writeInTurn(store.db, async (sql) => {
    await store.vectors.drop(sql, spaceId);
    await deleteSpace(sql, spaceId);
  });
}

interface ChunkToEmbed {
  readonly chunkId: number;
  readonly bodyId: number;
  readonly sectionPath: string;
  readonly text: string;
}

const LACKING = `FROM chunks c LEFT JOIN vectors v ON v.space_id = $1 AND v.chunk_id = c.id
  WHERE c.id > $2 AND c.id <= $3 AND v.chunk_id IS NULL`;

async function lacking(sql: Sql, spaceId: number, after: number, upTo: number): Promise<ChunkToEmbed[]> {
  return sql.all<ChunkToEmbed>(
    `SELECT c.id AS "chunkId", c.body_id AS "bodyId", c.section_path AS "sectionPath", c.text
     ${LACKING} ORDER BY c.id LIMIT ${PAGE}`,
    [spaceId, after, upTo],
  );
}

async function lastChunk(sql: Sql): Promise<number> {
  return Number((await sql.get<{ id: number | null }>("SELECT MAX(id) AS id FROM chunks"))?.id ?? 0);
}

async function countChunks(sql: Sql): Promise<number> {
  return Number((await sql.get<{ n: number }>("SELECT COUNT(*) AS n FROM chunks"))?.n ?? 0);
}

/** Chunks may have been deleted, embedded by another process, or the space dropped, while these were being embedded. */
async function addVectors(
  store: Store,
  sql: Sql,
  space: Space,
  page: readonly ChunkToEmbed[],
  vectors: readonly Float32Array[],
): Promise<boolean> {
  if (!(await isThere(sql, space.id))) return false;
  const rows = await sql.all<{ id: number }>(`SELECT c.id ${LACKING}`, [
    space.id,
    (page[0]?.chunkId ?? 1) - 1,
    page.at(-1)?.chunkId ?? 0,
  ]);
  const open = new Set(rows.map(({ id }) => Number(id)));
  const wanted = page.flatMap(({ chunkId, bodyId }, at) => {
    const vector = vectors[at];
    return vector && open.has(chunkId) ? [{ chunkId, bodyId, vector }] : [];
  });
  await store.vectors.add(sql, space.id, wanted);
  return true;
}

async function isThere(sql: Sql, spaceId: number): Promise<boolean> {
  return (await sql.get("SELECT id FROM spaces WHERE id = $1", [spaceId])) !== undefined;
}
