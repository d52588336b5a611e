import { setImmediate as nextRound } from "node:timers/promises";
import { createOneAtATime } from "../../lib/one-at-a-time.ts";
import { isListed, listOf } from "../../lib/sql/is-listed.ts";
import type { Sql } from "../../lib/sql/sql.ts";
import type { ChunkVector, Near, Selection, VectorIndex } from "../storage/store.ts";
import { createDotProducts, type DotProducts } from "./dot-products.ts";
import { packVector } from "./vector-codec.ts";
import { bySimilarity, type VectorRow, VectorTable } from "./vector-table.ts";

const PAGE = 20_000;
/** So many deleted ones may stay in memory: they are found and then not visible. */
const MAX_DROPPED = 1000;
/** Added to the number of dropped chunks, it makes everybody's memory start anew. */
const START_ANEW = 1_000_000_000;

/**
 * Exact search: a question is compared with every vector of the space that is searched, all of which are kept in memory.
 * Every search first takes in what was added since the last one, by whichever process.
 */
export function createScanVectorIndex(createDots?: () => DotProducts): VectorIndex {
  const inTurn = createOneAtATime();
  let held: Held | undefined;

  /** Nobody else's search may change the table before `look` has seen it. */
  const withTable = <T>(sql: Sql, space: SpaceSize, look: (tables: VectorTables) => T): Promise<T> =>
    inTurn("", async () => {
      if (held?.spaceId !== space.id) {
        held = { spaceId: space.id, tables: new VectorTables(space.dimensions, createDots), droppedAtStart: 0 };
      }
      await takeInNews(sql, held);
      return look(held.tables);
    });

  return {
    add: addVectors,
    async remove(sql, chunkIds) {
      if (chunkIds.length === 0) return;
      await sql.run(`DELETE FROM vectors WHERE ${isListed(sql, "chunk_id", "$1", "integer")}`, [listOf(chunkIds)]);
    },
    async drop(sql, spaceId) {
      await sql.run("DELETE FROM vectors WHERE space_id = $1", [spaceId]);
      if (held?.spaceId === spaceId) held = undefined;
    },
    async nearest(sql, space, query, limit, among) {
      const allowed = among && (await bitmapOf(sql, among));
      return withTable(sql, space, (tables) => tables.nearest(query, limit, allowed));
    },
    similarities: (sql, space, query, chunkIds) =>
      withTable(sql, space, (tables) => tables.similarities(query, chunkIds)),
  };
}

type SpaceSize = Parameters<VectorIndex["nearest"]>[1];

interface Held {
  readonly spaceId: number;
  readonly tables: VectorTables;
  droppedAtStart: number;
}

async function addVectors(sql: Sql, spaceId: number, vectors: readonly ChunkVector[]): Promise<void> {
  const [first] = vectors;
  if (!first) return;
  const last = await sql.get<{ id: number }>(
    "SELECT chunk_id AS id FROM vectors WHERE space_id = $1 ORDER BY chunk_id DESC LIMIT 1",
    [spaceId],
  );
  await sql.insert(
    "vectors (space_id, chunk_id, body_id, vector)",
    vectors.map(({ chunkId, bodyId, vector }) => [spaceId, chunkId, bodyId, packVector(vector)]),
  );
  // Memory grows by what lies behind the last chunk, so what comes before it would be missed.
  if (last && first.chunkId < last.id) {
    await sql.run("UPDATE state SET dropped_chunks = dropped_chunks + $1 WHERE id = 1", [START_ANEW]);
  }
}

async function takeInNews(sql: Sql, held: Held): Promise<void> {
  const { tables } = held;
  const state = await sql.get<{ dropped: number }>("SELECT dropped_chunks AS dropped FROM state WHERE id = 1");
  const dropped = state?.dropped ?? 0;
  if (tables.count === 0 || dropped - held.droppedAtStart > Math.max(MAX_DROPPED, tables.count / 4)) {
    tables.clear();
    held.droppedAtStart = dropped;
  }
  for (;;) {
    const rows = await sql.all<VectorRow>(
      `SELECT chunk_id AS "chunkId", body_id AS "bodyId", vector FROM vectors
       WHERE space_id = $1 AND chunk_id > $2 ORDER BY chunk_id LIMIT ${PAGE}`,
      [held.spaceId, tables.lastChunk],
    );
    tables.add(rows);
    if (rows.length < PAGE) return;
    // Taking in a large store takes a second or two, in which others want to be served.
    await nextRound();
  }
}

/** Indexed by body id. */
async function bitmapOf(sql: Sql, { sql: text, values }: Selection): Promise<Uint8Array> {
  const rows = await sql.all<Record<string, number>>(text, values);
  const ids = rows.map((row) => Object.values(row)[0] ?? 0);
  let largest = 0;
  for (const id of ids) if (id > largest) largest = id;
  const allowed = new Uint8Array(largest + 1);
  for (const id of ids) allowed[id] = 1;
  return allowed;
}

/** As many tables as it takes: the memory of one ends at 4 GiB, which is some sixteen million of the built-in vectors. */
class VectorTables {
  readonly #open: () => VectorTable;
  readonly #tables: VectorTable[] = [];

  constructor(dimensions: number, createDots: () => DotProducts = createDotProducts) {
    this.#open = () => new VectorTable(dimensions, createDots());
  }

  get count(): number {
    return this.#tables.reduce((sum, table) => sum + table.count, 0);
  }

  get lastChunk(): number {
    return this.#tables.at(-1)?.lastChunk ?? 0;
  }

  /** The memory of the first is used again. */
  clear(): void {
    this.#tables.splice(1);
    this.#tables[0]?.clear();
  }

  /** By rising chunk id, behind those that are there. */
  add(rows: readonly VectorRow[]): void {
    if (rows.length === 0 || this.#tables.at(-1)?.add(rows)) return;
    const next = this.#open();
    if (!next.add(rows)) throw new Error("keep vectors in memory: this machine has no more of it");
    this.#tables.push(next);
  }

  nearest(query: Float32Array, limit: number, allowed?: Uint8Array): Near[] {
    const found = this.#tables.map((table) => table.nearest(query, limit, allowed));
    return found.flat().sort(bySimilarity).slice(0, limit);
  }

  /** 0 for a chunk that is not there, so all but one table of each say 0. */
  similarities(query: Float32Array, chunkIds: readonly number[]): number[] {
    const found = this.#tables.map((table) => table.similarities(query, chunkIds));
    return chunkIds.map((_, at) => found.reduce((sum, similarities) => sum + (similarities[at] ?? 0), 0));
  }
}
