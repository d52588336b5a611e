import { CancelledError } from "../../contracts/errors.ts";
import { type Clock, pause, throwIfCancelled } from "./clock.ts";
import { Refusal, toRefusal } from "./refusal.ts";

export interface ServiceCalls {
  /**
   * Runs one request, again while the refusal may pass. Ends with CancelledError on abort, with Refusal when the service
   * did not do its part, and with any other error (an unreadable file) as it is. `work` must be ready to run again:
   * a stream is reopened, not replayed, and a try without an answer may have been carried out.
   */
  run<T>(what: string, work: (attempt: number) => Promise<T>, signal?: AbortSignal): Promise<T>;
}

const MAX_TRIES = 8;
const FIRST_BACKOFF_MS = 500;
const LONGEST_BACKOFF_MS = 30_000;
/** Longer than this is no pacing any more; a timer of more than 24 days would even fire at once. */
const LONGEST_WAIT_MS = 24 * 3600 * 1000;

export function createServiceCalls(options: { clock: Clock; apiKey: string }): ServiceCalls {
  const { clock, apiKey } = options;
  // A Retry-After is meant for all of us: what runs beside waits too instead of collecting refusals of its own.
  let nobodyBeforeMs = 0;

  async function waitForTurn(what: string, signal?: AbortSignal): Promise<void> {
    throwIfCancelled(what, signal);
    while (clock.now() < nobodyBeforeMs) await pause(clock, nobodyBeforeMs - clock.now(), what, signal);
  }

  function chooseWait(refusal: Refusal, attempt: number): number {
    if (refusal.retryAfterMs === undefined) return backoffMs(attempt);
    if (refusal.retryAfterMs > LONGEST_WAIT_MS) {
      const hours = Math.round(refusal.retryAfterMs / 3_600_000);
      throw new Refusal(`${refusal.message}; it asks to come back in ${hours} hours`, {
        status: refusal.status,
        concernsAll: true,
        cause: refusal.cause,
      });
    }
    nobodyBeforeMs = Math.max(nobodyBeforeMs, clock.now() + refusal.retryAfterMs);
    return refusal.retryAfterMs;
  }

  async function run<T>(what: string, work: (attempt: number) => Promise<T>, signal?: AbortSignal): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      await waitForTurn(what, signal);
      try {
        return await work(attempt);
      } catch (error) {
        if (signal?.aborted) throw new CancelledError(`${what}: cancelled`, { cause: error });
        const refusal = toRefusal(error, { what, tries: attempt, nowMs: clock.now(), apiKey });
        if (!refusal) throw error;
        if (!refusal.retryable || attempt >= MAX_TRIES) throw refusal;
        await pause(clock, chooseWait(refusal, attempt), what, signal);
      }
    }
  }

  return { run };
}

/** Doubles from try to try, less up to a quarter, so that those who failed together do not come back together. */
function backoffMs(attempt: number): number {
  const full = Math.min(FIRST_BACKOFF_MS * 2 ** (attempt - 1), LONGEST_BACKOFF_MS);
  return full * (1 - Math.random() / 4);
}
