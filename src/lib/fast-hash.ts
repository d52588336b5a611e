const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

export interface HashRange {
  readonly from?: number;
  readonly to?: number;
  /** The hash of what precedes it: the result is that of both together. Another number gives another hash. */
  readonly start?: number;
}

/**
 * 32 bits of a text, or of a part of it: FNV-1a over its UTF-16 units. Fast, and the same on every machine and in every release: vectors are made
 * with it. For tables and samples only: it is easy to find two texts with the same hash.
 */
export function fastHash(text: string, { from = 0, to = text.length, start = FNV_OFFSET }: HashRange = {}): number {
  let hash = start;
  for (let at = from; at < to; at++) hash = Math.imul(hash ^ text.charCodeAt(at), FNV_PRIME);
  return hash >>> 0;
}

/** Spreads what differs anywhere over all 32 bits, so that some of them are a fair sample (the last step of MurmurHash3). */
export function mixBits(hash: number): number {
  let mixed = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}
