import { setImmediate as nextRound } from "node:timers/promises";
import { createKeyedMutex } from "../../lib/concurrency.ts";
import { isListed, listOf, type Sql } from "../../lib/sql/sql.ts";
import type { ChunkVector, Selection, VectorIndex, VectorMatch } from "../store.ts";
import { createDotProducts, type DotProducts } from "./dot-products.ts";
import { checksumOf, packVector, scaleOf, stepsOf } from "./vectors.ts";

const PAGE = 20_000;
/** Deleted vectors that may stay in memory: they are found, but not visible. */
const MAX_DROPPED = 1000;
/** Added to the number of dropped chunks, it invalidates the caches of all processes. */
const INVALIDATE_CACHES = 1_000_000_000;

/**
 * Exact search: compares the query with every vector of the space, all of which are cached in memory. Every search first loads
 * vectors that were added since, by any process.
 */
export function createScanVectorIndex(createDots?: () => DotProducts): VectorIndex {
  const oneAtATime = createKeyedMutex();
  let cached: CachedTables | undefined;

  /** Calls `use` with the up-to-date tables, before another search can change them. */
  const withTable = <T>(sql: Sql, space: SpaceSize, use: (tables: VectorTables) => T): Promise<T> =>
    oneAtATime("", async () => {
      if (cached?.spaceId !== space.id) {
        cached = { spaceId: space.id, tables: new VectorTables(space.dimensions, createDots), droppedAtStart: 0 };
      }
      await loadNewRows(sql, cached);
      return use(cached.tables);
    });

  return {
    add: addVectors,
    async remove(sql, chunkIds) {
      if (chunkIds.length === 0) return;
      await sql.run(`DELETE FROM vectors WHERE ${isListed(sql, "chunk_id", "$1", "integer")}`, [listOf(chunkIds)]);
    },
    async drop(sql, spaceId) {
      await sql.run("DELETE FROM vectors WHERE space_id = $1", [spaceId]);
      if (cached?.spaceId === spaceId) cached = undefined;
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

interface CachedTables {
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
    "vectors (space_id, chunk_id, body_id, vector, checksum)",
    vectors.map(({ chunkId, bodyId, vector }) => {
      const packed = packVector(vector);
      return [spaceId, chunkId, bodyId, packed, checksumOf(spaceId, chunkId, packed)];
    }),
  );
  // New rows are loaded after the last cached chunk id, so rows with a lower id would be missed.
  if (last && first.chunkId < last.id) {
    await sql.run("UPDATE state SET dropped_chunks = dropped_chunks + $1 WHERE id = 1", [INVALIDATE_CACHES]);
  }
}

async function loadNewRows(sql: Sql, cached: CachedTables): Promise<void> {
  const { tables } = cached;
  const state = await sql.get<{ dropped: number }>("SELECT dropped_chunks AS dropped FROM state WHERE id = 1");
  const dropped = state?.dropped ?? 0;
  if (tables.count === 0 || dropped - cached.droppedAtStart > Math.max(MAX_DROPPED, tables.count / 4)) {
    tables.clear();
    cached.droppedAtStart = dropped;
  }
  for (;;) {
    const rows = await sql.all<VectorRow>(
      `SELECT chunk_id AS "chunkId", body_id AS "bodyId", vector FROM vectors
       WHERE space_id = $1 AND chunk_id > $2 ORDER BY chunk_id LIMIT ${PAGE}`,
      [cached.spaceId, tables.lastChunk],
    );
    tables.add(rows);
    if (rows.length < PAGE) return;
    // Loading a large store takes a second or two; other requests must be served meanwhile.
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

  nearest(query: Float32Array, limit: number, allowed?: Uint8Array): VectorMatch[] {
    const found = this.#tables.map((table) => table.nearest(query, limit, allowed));
    return found.flat().sort(bySimilarity).slice(0, limit);
  }

  /** 0 for a chunk that is not there, so all but one table of each say 0. */
  similarities(query: Float32Array, chunkIds: readonly number[]): number[] {
    const found = this.#tables.map((table) => table.similarities(query, chunkIds));
    return chunkIds.map((_, at) => found.reduce((sum, similarities) => sum + (similarities[at] ?? 0), 0));
  }
}

/** One call compares with so many vectors; their scores then fit into the processor's cache. */
const BLOCK = 4096;

export interface VectorRow {
  readonly chunkId: number;
  readonly bodyId: number;
  readonly vector: Uint8Array;
}

/**
 * Vectors of one length in memory, by rising chunk id, in blocks: first their scales, then their steps. In front of the
 * blocks are the query and the scores of the block just looked at.
 */
export class VectorTable {
  readonly #dimensions: number;
  readonly #stride: number;
  readonly #dots: DotProducts;
  #count = 0;
  #chunkIds = new Float64Array(0);
  #bodyIds = new Float64Array(0);

  constructor(dimensions: number, dots: DotProducts = createDotProducts()) {
    this.#dimensions = dimensions;
    this.#stride = Math.ceil(dimensions / 16) * 16;
    this.#dots = dots;
    dots.grow(this.#blockAt(0));
  }

  get count(): number {
    return this.#count;
  }

  get lastChunk(): number {
    return this.#count === 0 ? 0 : (this.#chunkIds[this.#count - 1] ?? 0);
  }

  clear(): void {
    this.#count = 0;
  }

  /** A row of another length gets its place, but is never close to anything. false: none was added, the memory is full. */
  add(rows: readonly VectorRow[]): boolean {
    if (!this.#makeRoom(this.#count + rows.length)) return false;
    const { buffer } = this.#dots;
    const scales = new Float32Array(buffer);
    const steps = new Int8Array(buffer);
    for (const { chunkId, bodyId, vector } of rows) {
      const slot = this.#count++;
      this.#chunkIds[slot] = chunkId;
      this.#bodyIds[slot] = bodyId;
      const fits = vector.byteLength === this.#dimensions + 4;
      scales[this.#scaleAt(slot) / 4] = fits ? scaleOf(vector) : 0;
      if (fits) steps.set(stepsOf(vector), this.#stepsAt(slot));
    }
    return true;
  }

  /** The closest first; those at right angles or beyond are left out. `allowed` is indexed by body id. */
  nearest(query: Float32Array, limit: number, allowed?: Uint8Array): VectorMatch[] {
    const scale = this.#placeQuery(query);
    const best: VectorMatch[] = [];
    if (scale === 0 || limit < 1) return best;
    let floor = 0;
    const scores = new Float32Array(this.#dots.buffer, this.#stride * 2, BLOCK);
    for (let first = 0; first < this.#count; first += BLOCK) {
      const count = Math.min(BLOCK, this.#count - first);
      const [scales, steps] = [this.#scaleAt(first), this.#stepsAt(first)];
      this.#dots.scan(steps, scales, 0, this.#stride, Math.ceil(count / 4) * 4, this.#stride * 2);
      for (let at = 0; at < count; at++) {
        const score = scores[at] as number;
        if (score <= floor) continue;
        const bodyId = this.#bodyIds[first + at] as number;
        if (allowed && !allowed[bodyId]) continue;
        best.push({ chunkId: this.#chunkIds[first + at] as number, bodyId, similarity: score * scale });
        if (best.length < limit * 2) continue;
        best.sort(bySimilarity).length = limit;
        floor = (best[limit - 1]?.similarity ?? 0) / scale;
      }
    }
    return best.sort(bySimilarity).slice(0, limit);
  }

  /** 0 for a chunk that is not there. */
  similarities(query: Float32Array, chunkIds: readonly number[]): number[] {
    const packed = packVector(query);
    const queried = stepsOf(packed);
    const scale = scaleOf(packed);
    const steps = new Int8Array(this.#dots.buffer);
    const scales = new Float32Array(this.#dots.buffer);
    return chunkIds.map((chunkId) => {
      const slot = this.#slotOf(chunkId);
      if (slot < 0) return 0;
      const from = this.#stepsAt(slot);
      let sum = 0;
      for (let at = 0; at < queried.length; at++) sum += (queried[at] as number) * (steps[from + at] as number);
      return sum * (scales[this.#scaleAt(slot) / 4] as number) * scale;
    });
  }

  /** Returns its scale. */
  #placeQuery(query: Float32Array): number {
    const packed = packVector(query);
    const placed = new Int16Array(this.#dots.buffer, 0, this.#stride);
    placed.fill(0);
    placed.set(stepsOf(packed).subarray(0, this.#dimensions));
    return scaleOf(packed);
  }

  #blockAt(block: number): number {
    return this.#stride * 2 + BLOCK * 4 + block * BLOCK * (4 + this.#stride);
  }

  #scaleAt(slot: number): number {
    return this.#blockAt(Math.floor(slot / BLOCK)) + (slot % BLOCK) * 4;
  }

  #stepsAt(slot: number): number {
    return this.#blockAt(Math.floor(slot / BLOCK)) + BLOCK * 4 + (slot % BLOCK) * this.#stride;
  }

  #slotOf(chunkId: number): number {
    let low = 0;
    let high = this.#count - 1;
    while (low <= high) {
      const middle = (low + high) >> 1;
      const id = this.#chunkIds[middle] as number;
      if (id === chunkId) return middle;
      if (id < chunkId) low = middle + 1;
      else high = middle - 1;
    }
    return -1;
  }

  #makeRoom(count: number): boolean {
    if (!this.#dots.grow(this.#blockAt(Math.ceil(count / BLOCK)))) return false;
    if (count <= this.#chunkIds.length) return true;
    const capacity = Math.max(1024, count, Math.ceil(this.#count * 1.5));
    this.#chunkIds = grown(this.#chunkIds, capacity);
    this.#bodyIds = grown(this.#bodyIds, capacity);
    return true;
  }
}

/** Ids break ties, so that the same query gets the same results. */
function bySimilarity(a: VectorMatch, b: VectorMatch): number {
  return b.similarity - a.similarity || a.chunkId - b.chunkId;
}

function grown(from: Float64Array<ArrayBuffer>, capacity: number): Float64Array<ArrayBuffer> {
  const into = new Float64Array(capacity);
  into.set(from);
  return into;
}
