import type { Database } from "../sqlite/open-database.ts";
import { packVector, scaleOf, stepsOf } from "./vector-codec.ts";

const PAGE = 20_000;

/**
 * All vectors of a store in one array, so that a search compares with each of them without touching the disk. Grows by the
 * chunks that came since the last look (ids only ever rise); starts anew when much of it was deleted.
 */
export class VectorCache {
  readonly #db: Database;
  readonly #embedding: string;
  readonly #dimensions: number;
  #count = 0;
  #lastChunk = 0;
  #droppedAtStart = 0;
  #chunkIds = new Float64Array(0);
  #bodyIds = new Float64Array(0);
  #scales = new Float32Array(0);
  #steps = new Int8Array(0);

  /** Vectors of any other model than `embedding` stay in the list, but are never close to anything. */
  constructor(db: Database, embedding: string, dimensions: number) {
    this.#db = db;
    this.#embedding = embedding;
    this.#dimensions = dimensions;
  }

  /** To be called inside the transaction that searches. */
  refresh(): void {
    const dropped = Number(this.#db.statement("SELECT dropped_chunks AS n FROM state").get()?.["n"]);
    if (this.#count === 0 || dropped - this.#droppedAtStart > Math.max(1000, this.#count / 4)) {
      this.#count = 0;
      this.#lastChunk = 0;
      this.#droppedAtStart = dropped;
    }
    const page = this.#db.statement(
      `SELECT v.chunk_id AS chunkId, v.body_id AS bodyId, v.vector, b.embedding
       FROM vectors v JOIN bodies b ON b.id = v.body_id WHERE v.chunk_id > ? ORDER BY v.chunk_id LIMIT ${PAGE}`,
    );
    for (;;) {
      const rows = page.all(this.#lastChunk) as unknown as VectorRow[];
      for (const row of rows) this.#add(row);
      if (rows.length < PAGE) return;
    }
  }

  /** undefined for a chunk that is not in the cache. */
  bodyOf(chunkId: number): number | undefined {
    const slot = this.#slotOf(chunkId);
    return slot < 0 ? undefined : this.#bodyIds[slot];
  }

  similarity(query: Float32Array, chunkId: number): number {
    const slot = this.#slotOf(chunkId);
    if (slot < 0) return 0;
    const packed = packVector(query);
    return this.#dot(stepsOf(packed), slot) * scaleOf(packed) * (this.#scales[slot] ?? 0);
  }

  /** The chunks of allowed bodies closest to the query, best first. `allowed` is indexed by body id. */
  nearest(query: Float32Array, allowed: Uint8Array, limit: number): { chunkId: number; similarity: number }[] {
    const packed = packVector(query);
    const steps = stepsOf(packed);
    const scale = scaleOf(packed);
    const best: { chunkId: number; similarity: number }[] = [];
    let floor = 0;
    if (scale === 0) return best;
    for (let slot = 0; slot < this.#count; slot++) {
      if (!allowed[this.#bodyIds[slot] ?? 0]) continue;
      const similarity = this.#dot(steps, slot) * scale * (this.#scales[slot] ?? 0);
      if (similarity <= floor) continue;
      best.push({ chunkId: this.#chunkIds[slot] ?? 0, similarity });
      if (best.length >= limit * 2) {
        best.sort((a, b) => b.similarity - a.similarity).length = limit;
        floor = best[limit - 1]?.similarity ?? 0;
      }
    }
    return best.sort((a, b) => b.similarity - a.similarity).slice(0, limit);
  }

  #dot(query: Int8Array, slot: number): number {
    const steps = this.#steps;
    const from = slot * this.#dimensions;
    let sum = 0;
    for (let i = 0; i < query.length; i++) sum += (query[i] as number) * (steps[from + i] as number);
    return sum;
  }

  #slotOf(chunkId: number): number {
    let low = 0;
    let high = this.#count - 1;
    while (low <= high) {
      const middle = (low + high) >> 1;
      const id = this.#chunkIds[middle] ?? 0;
      if (id === chunkId) return middle;
      if (id < chunkId) low = middle + 1;
      else high = middle - 1;
    }
    return -1;
  }

  #add(row: VectorRow): void {
    if (this.#count === this.#chunkIds.length) this.#grow();
    const slot = this.#count++;
    this.#lastChunk = row.chunkId;
    this.#chunkIds[slot] = row.chunkId;
    this.#bodyIds[slot] = row.bodyId;
    const ours = row.embedding === this.#embedding && row.vector.byteLength === this.#dimensions + 4;
    this.#scales[slot] = ours ? scaleOf(row.vector) : 0;
    if (ours) this.#steps.set(stepsOf(row.vector), slot * this.#dimensions);
  }

  #grow(): void {
    const capacity = Math.max(1024, Math.ceil(this.#count * 1.5));
    this.#chunkIds = grown(this.#chunkIds, new Float64Array(capacity));
    this.#bodyIds = grown(this.#bodyIds, new Float64Array(capacity));
    this.#scales = grown(this.#scales, new Float32Array(capacity));
    this.#steps = grown(this.#steps, new Int8Array(capacity * this.#dimensions));
  }
}

interface VectorRow {
  readonly chunkId: number;
  readonly bodyId: number;
  readonly vector: Uint8Array;
  readonly embedding: string;
}

function grown<T extends { set(from: T): void }>(from: T, into: T): T {
  into.set(from);
  return into;
}
