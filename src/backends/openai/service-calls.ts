import { CancelledError } from "../../contracts/errors.ts";
import { type Clock, pause, throwIfCancelled } from "./clock.ts";
import { Refusal, toRefusal } from "./refusal.ts";

export interface ServiceCalls {
  /**
   * Runs one request, again while the refusal may pass. Ends with CancelledError on abort, with Refusal when the service
   * did not do its part, and with any other error (an unreadable file) as it is. `work` must be ready to run again:
   * a stream is reopened, not replayed, and a try without an answer may have been carried out. The signal it is given
   * also aborts when patience ends.
   */
  run<T>(
    what: string,
    work: (attempt: number, signal: AbortSignal | undefined) => Promise<T>,
    signal?: AbortSignal,
  ): Promise<T>;
}

export interface ServiceCallsOptions {
  readonly clock: Clock;
  readonly apiKey: string;
  /** A call that cannot be over by then ends with what the service said last; without it a call waits as it is told. */
  readonly patienceMs?: number;
}

const MAX_TRIES = 8;
const FIRST_BACKOFF_MS = 500;
const LONGEST_BACKOFF_MS = 30_000;
/** Longer than this is no pacing any more; a timer of more than 24 days would even fire at once. */
const LONGEST_WAIT_MS = 24 * 3600 * 1000;

export function createServiceCalls({ clock, apiKey, patienceMs }: ServiceCallsOptions): ServiceCalls {
  // A Retry-After is meant for all of a kind: what runs beside waits too instead of collecting refusals of its own.
  let nobodyBeforeMs = 0;
  let closedBy: Refusal | undefined;
  const longestWaitMs = Math.min(patienceMs ?? LONGEST_WAIT_MS, LONGEST_WAIT_MS);

  async function waitForTurn(what: string, giveUpAtMs: number, signal?: AbortSignal): Promise<void> {
    throwIfCancelled(what, signal);
    while (clock.now() < nobodyBeforeMs) {
      const waitMs = nobodyBeforeMs - clock.now();
      if (nobodyBeforeMs > giveUpAtMs && closedBy) throw tooLong(closedBy, waitMs, what);
      await pause(clock, waitMs, what, signal);
    }
  }

  function chooseWait(refusal: Refusal, attempt: number, giveUpAtMs: number): number {
    const waitMs = refusal.retryAfterMs ?? backoffMs(attempt);
    if (refusal.retryAfterMs !== undefined && waitMs <= LONGEST_WAIT_MS && clock.now() + waitMs > nobodyBeforeMs) {
      nobodyBeforeMs = clock.now() + waitMs;
      closedBy = refusal;
    }
    if (refusal.retryAfterMs !== undefined && waitMs > longestWaitMs) throw tooLong(refusal, waitMs);
    if (clock.now() + waitMs > giveUpAtMs) throw refusal;
    return waitMs;
  }

  async function run<T>(
    what: string,
    work: (attempt: number, signal: AbortSignal | undefined) => Promise<T>,
    signal?: AbortSignal,
  ): Promise<T> {
    const giveUpAtMs = clock.now() + (patienceMs ?? Number.POSITIVE_INFINITY);
    const late = patienceMs === undefined ? undefined : AbortSignal.timeout(patienceMs);
    const until = signal && late ? AbortSignal.any([signal, late]) : (signal ?? late);
    let last: Refusal | undefined;
    for (let attempt = 1; ; attempt++) {
      await waitForTurn(what, giveUpAtMs, signal);
      try {
        return await work(attempt, until);
      } catch (error) {
        if (signal?.aborted) throw new CancelledError(`${what}: cancelled`, { cause: error });
        if (late?.aborted) throw last ?? silence(what, patienceMs ?? 0, error);
        const refusal = toRefusal(error, { what, tries: attempt, nowMs: clock.now(), apiKey });
        if (!refusal) throw error;
        if (!refusal.retryable || attempt >= MAX_TRIES) throw refusal;
        last = refusal;
        await pause(clock, chooseWait(refusal, attempt, giveUpAtMs), what, signal);
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

/** `what`: of another call than the one that was refused. */
function tooLong(refusal: Refusal, waitMs: number, what?: string): Refusal {
  const { message, status, cause } = refusal;
  const said = what === undefined || message.startsWith(`${what}:`) ? message : `${what}: ${message}`;
  return new Refusal(`${said}; it asks to come back in ${inWords(waitMs)}`, { status, concernsAll: true, cause });
}

function inWords(ms: number): string {
  return ms < 2 * 3_600_000 ? `${Math.ceil(ms / 1000)} seconds` : `${Math.round(ms / 3_600_000)} hours`;
}

function silence(what: string, patienceMs: number, cause: unknown): Refusal {
  const message = `${what}: no answer from the service within ${Math.round(patienceMs / 1000)} seconds`;
  return new Refusal(message, { status: undefined, cause });
}
