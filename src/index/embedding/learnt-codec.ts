import { packVector, scaleOf, stepsOf } from "./vectors.ts";

/** A learnt vocabulary with a vector per word, as floats. */
export interface LearntVectors {
  readonly words: readonly string[];
  /** Inverse document frequency of each word. */
  readonly idf: Float32Array;
  readonly dimensions: number;
  /** For each word a row of `dimensions` numbers. */
  readonly directions: Float32Array;
}

/** Raise whenever existing bytes would be read differently. */
const FORMAT = 1;
export const HEADER_BYTES = 20;

/**
 * Format, dimensions, number of words, bytes of words, and the last chunk that was there (little-endian uint32 each); the
 * words in UTF-8, one per line; their idf as float32; their directions with a float32 scale and a signed byte per dimension.
 */
export function packLearnt(learnt: LearntVectors, lastChunkId: number): Uint8Array {
  const words = new TextEncoder().encode(learnt.words.join("\n"));
  const count = learnt.words.length;
  const rowBytes = 4 + learnt.dimensions;
  const packed = new Uint8Array(HEADER_BYTES + words.length + count * (4 + rowBytes));
  const view = new DataView(packed.buffer);
  for (const [at, value] of [FORMAT, learnt.dimensions, count, words.length, lastChunkId].entries()) {
    view.setUint32(at * 4, value, true);
  }
  packed.set(words, HEADER_BYTES);
  const idfAt = HEADER_BYTES + words.length;
  const rowsAt = idfAt + count * 4;
  for (let word = 0; word < count; word++) {
    view.setFloat32(idfAt + word * 4, learnt.idf[word] as number, true);
    const row = learnt.directions.subarray(word * learnt.dimensions, (word + 1) * learnt.dimensions);
    packed.set(packVector(row), rowsAt + word * rowBytes);
  }
  return packed;
}

/** The same in quantised form, a quarter of the size: a server may have the models of many stores in memory. */
export interface LearntModel {
  readonly words: readonly string[];
  readonly idf: Float32Array;
  readonly dimensions: number;
  /** For each word the value of one step. */
  readonly scales: Float32Array;
  /** For each word a row of `dimensions` steps. */
  readonly steps: Int8Array;
}

/** Returns undefined for another format. */
export function unpackLearnt(packed: Uint8Array): LearntModel | undefined {
  const view = new DataView(packed.buffer, packed.byteOffset, packed.byteLength);
  if (packed.byteLength < HEADER_BYTES || view.getUint32(0, true) !== FORMAT) return undefined;
  const dimensions = view.getUint32(4, true);
  const count = view.getUint32(8, true);
  const idfAt = HEADER_BYTES + view.getUint32(12, true);
  const rowsAt = idfAt + count * 4;
  const text = new TextDecoder().decode(packed.subarray(HEADER_BYTES, idfAt));
  const idf = new Float32Array(count);
  const scales = new Float32Array(count);
  const steps = new Int8Array(count * dimensions);
  for (let word = 0; word < count; word++) {
    const start = rowsAt + word * (4 + dimensions);
    const row = packed.subarray(start, start + 4 + dimensions);
    idf[word] = view.getFloat32(idfAt + word * 4, true);
    scales[word] = scaleOf(row);
    steps.set(stepsOf(row), word * dimensions);
  }
  return { words: count === 0 ? [] : text.split("\n"), idf, dimensions, scales, steps };
}

/** Reads `lastChunkId` from the header; 0 for another format. */
export function lastChunkOf(packed: Uint8Array): number {
  const view = new DataView(packed.buffer, packed.byteOffset, packed.byteLength);
  return packed.byteLength >= HEADER_BYTES && view.getUint32(0, true) === FORMAT ? view.getUint32(16, true) : 0;
}
