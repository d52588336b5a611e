/**
 * The time one file may take. Extraction runs in this process for now: `check` ends long loops of ours and `race`
 * stops waiting for a library, but a library that loops without yielding cannot be interrupted. A worker
 * that can be killed is what would close that gap. Running out of time is no ExtractError: the machine may have been busy,
 * and what the index holds of an earlier version must not go for that.
 */
export interface Deadline {
  /** Throws when the time is up or the caller has aborted. Cheap enough for inner loops. */
  check(): void;
  /** Lets timers and aborts be noticed between two long synchronous steps, then checks. */
  breathe(): Promise<void>;
  /** Settles with the work, or rejects as soon as the time is up or the caller aborts. */
  race<T>(work: Promise<T>): Promise<T>;
}

export function createDeadline(timeoutMs: number, signal: AbortSignal): Deadline {
  const endsAt = performance.now() + timeoutMs;
  const check = (): void => {
    signal.throwIfAborted();
    if (performance.now() > endsAt) throw timeUp(timeoutMs);
  };
  return {
    check,
    async breathe() {
      await new Promise<void>((resolve) => setImmediate(resolve));
      check();
    },
    async race(work) {
      const { promise: late, reject } = Promise.withResolvers<never>();
      const timer = setTimeout(() => reject(timeUp(timeoutMs)), Math.max(0, endsAt - performance.now()));
      try {
        return await untilAborted(Promise.race([work, late]), signal);
      } finally {
        clearTimeout(timer);
      }
    },
  };
}

/** Settles with the work, or rejects as soon as the signal aborts; the work goes on, and nobody misses its outcome. */
export async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(signal.reason);
  if (signal.aborted) onAbort();
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([aborted, work]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

function timeUp(timeoutMs: number): Error {
  return new Error(`read text: it took longer than ${Math.round(timeoutMs / 1000)} s`);
}
