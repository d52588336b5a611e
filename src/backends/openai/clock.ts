import { CancelledError } from "../../contracts/errors.ts";
import { sleep } from "../../lib/time.ts";

/** Time as retries and polling see it, so that a test can let an hour of Retry-After pass at once. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Resolves early when the signal aborts; never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export const systemClock: Clock = { now: Date.now, sleep };

/** Like sleep, but an abort ends it with CancelledError. */
export async function pause(clock: Clock, ms: number, what: string, signal?: AbortSignal): Promise<void> {
  throwIfCancelled(what, signal);
  await clock.sleep(ms, signal);
  throwIfCancelled(what, signal);
}

export function throwIfCancelled(what: string, signal?: AbortSignal): void {
  if (signal?.aborted) throw new CancelledError(`${what}: cancelled`, { cause: signal.reason });
}
