import type { Near } from "../storage/store.ts";
import { createDotProducts, type DotProducts } from "./dot-products.ts";
import { packVector, scaleOf, stepsOf } from "./vector-codec.ts";

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
  nearest(query: Float32Array, limit: number, allowed?: Uint8Array): Near[] {
    const scale = this.#placeQuery(query);
    const best: Near[] = [];
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

/** Ids settle ties, so that the same question gets the same answer. */
export function bySimilarity(a: Near, b: Near): number {
  return b.similarity - a.similarity || a.chunkId - b.chunkId;
}

function grown(from: Float64Array<ArrayBuffer>, capacity: number): Float64Array<ArrayBuffer> {
  const into = new Float64Array(capacity);
  into.set(from);
  return into;
}
