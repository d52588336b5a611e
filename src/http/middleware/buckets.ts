/** Beyond this the least recently used key is dropped, and starts anew. */
const MAX_KEYS = 10_000;

/** A token bucket for each key: full at first, emptied by taking, filled again at a steady rate. */
export interface Buckets {
  /** Takes a token. Returns 0, or the milliseconds until there is one. */
  take(key: string): number;
  /** Returns a token that was not needed after all. */
  giveBack(key: string): void;
}

export interface BucketRate {
  readonly perSecond: number;
  readonly burst: number;
}

export function createBuckets({ perSecond, burst }: BucketRate, now: () => number = () => performance.now()): Buckets {
  const buckets = new Map<string, { tokens: number; atMs: number }>();

  function fill(key: string): { tokens: number; atMs: number } {
    const atMs = now();
    const known = buckets.get(key);
    const tokens = known ? Math.min(burst, known.tokens + ((atMs - known.atMs) / 1000) * perSecond) : burst;
    return { tokens, atMs };
  }

  const missing = (tokens: number): number => (tokens >= 1 ? 0 : Math.ceil(((1 - tokens) / perSecond) * 1000));

  return {
    giveBack(key) {
      const { tokens, atMs } = fill(key);
      if (buckets.has(key)) buckets.set(key, { tokens: Math.min(burst, tokens + 1), atMs });
    },
    take(key) {
      const bucket = fill(key);
      const waitMs = missing(bucket.tokens);
      if (waitMs === 0) bucket.tokens -= 1;
      buckets.delete(key);
      buckets.set(key, bucket);
      const oldest = buckets.size > MAX_KEYS ? buckets.keys().next() : undefined;
      if (oldest && !oldest.done) buckets.delete(oldest.value);
      return waitMs;
    },
  };
}
