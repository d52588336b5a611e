import { ExtractError } from "../contracts/document.ts";

/**
 * The time one file may take. Extraction runs in this process for now: `check` ends long loops of ours and `race`
 * stops waiting for a library, but a library that loops without yielding cannot be interrupted. A worker
 * that can be killed is what would close that gap.
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
      check();
      const { promise, reject } = Promise.withResolvers<never>();
      const timer = setTimeout(() => reject(timeUp(timeoutMs)), Math.max(0, endsAt - performance.now()));
      const onAbort = (): void => reject(signal.reason);
      signal.addEventListener("abort", onAbort, { once: true });
      try {
        return await Promise.race([work, promise]);
      } finally {
        clearTimeout(timer);
        signal.removeEventListener("abort", onAbort);
      }
    },
  };
}

function timeUp(timeoutMs: number): ExtractError {
  return new ExtractError("invalid_file", `Reading the file took longer than ${Math.round(timeoutMs / 1000)} s.`);
}
