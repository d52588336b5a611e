import { crc32 } from "node:zlib";

/** A vector as 4 bytes of scale (float32, little-endian) and one signed byte per dimension: a quarter of the size, and no visible loss. */
export function packVector(vector: Float32Array): Uint8Array {
  let largest = 0;
  // By index, here and below: an iterator makes an object of every number.
  for (let i = 0; i < vector.length; i++) largest = Math.max(largest, Math.abs(vector[i] as number));
  const packed = new Uint8Array(4 + vector.length);
  const scale = largest / 127;
  new DataView(packed.buffer).setFloat32(0, scale, true);
  if (scale === 0) return packed;
  const steps = new Int8Array(packed.buffer, 4);
  for (let i = 0; i < vector.length; i++) steps[i] = Math.round((vector[i] ?? 0) / scale);
  return packed;
}

export function scaleOf(packed: Uint8Array): number {
  return new DataView(packed.buffer, packed.byteOffset).getFloat32(0, true);
}

export function stepsOf(packed: Uint8Array): Int8Array {
  return new Int8Array(packed.buffer, packed.byteOffset + 4, packed.byteLength - 4);
}

/** Scales it to length 1, in place. A zero vector stays as it is. */
export function normalise(vector: Float32Array): Float32Array {
  let squares = 0;
  for (let i = 0; i < vector.length; i++) squares += (vector[i] as number) ** 2;
  if (squares > 0) {
    const factor = 1 / Math.sqrt(squares);
    for (let i = 0; i < vector.length; i++) vector[i] = (vector[i] as number) * factor;
  }
  return vector;
}

/** Stored beside a packed vector. Detects a damaged one, and one that belongs to another passage or space. */
export function checksumOf(spaceId: number, chunkId: number, packed: Uint8Array): number {
  return crc32(packed, crc32(`${spaceId}/${chunkId}`));
}
