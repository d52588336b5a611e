export interface Backoff {
  readonly firstMs: number;
  readonly longestMs: number;
}

export interface RetryLimits extends Backoff {
  /** Tries in all. */
  readonly attempts: number;
}

/** How a storage service is asked again that does not say when: by our own requests and by the clients of Azure. */
export const STORAGE_RETRIES: RetryLimits = { attempts: 4, firstMs: 500, longestMs: 8000 };

/** Doubles with each failure in a row, of which there is at least one, up to the longest. */
export function backoffMs(failures: number, { firstMs, longestMs }: Backoff): number {
  return Math.min(firstMs * 2 ** (failures - 1), longestMs);
}

/** Anywhere between half of it and all of it, so that those who failed together do not return together. */
export function jitter(ms: number): number {
  return ms * (0.5 + Math.random() / 2);
}
