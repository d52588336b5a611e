import { sleep } from "../../lib/time.ts";
import { throwIfCancelled } from "./cancelled.ts";

/** Told before every wait a person might wonder about. */
export type OnWait = (reason: string, ms: number) => void;

/** The right to have one request under way. Releasing twice is harmless. */
export interface Slot {
  release(): void;
}

/** All requests of one tenant pass here: so many at a time, and none before the server is ready to answer again. */
export interface ThrottleGate {
  /** Throws CancelledError when the signal aborts first. */
  enter(signal: AbortSignal, onWait: OnWait): Promise<Slot>;
  /** Nobody enters for that long; a pause that is already longer stays. */
  pause(ms: number, reason: string): void;
}

export function createThrottleGate(concurrency: number): ThrottleGate {
  let active = 0;
  let notBefore = 0;
  let pauseReason = "";
  const queue: (() => void)[] = [];

  function takeSlot(): Slot {
    active += 1;
    let held = true;
    return {
      release: () => {
        if (!held) return;
        held = false;
        active -= 1;
        queue.shift()?.();
      },
    };
  }

  return {
    async enter(signal, onWait) {
      for (;;) {
        if (signal.aborted) {
          // We may have been woken for a free slot: whoever leaves without it passes the turn on.
          queue.shift()?.();
          throwIfCancelled(signal);
        }
        const waitMs = notBefore - performance.now();
        if (waitMs > 0) {
          onWait(pauseReason, Math.ceil(waitMs));
          await sleep(waitMs, signal);
        } else if (active < concurrency) {
          return takeSlot();
        } else {
          await turnIn(queue, signal);
        }
      }
    },
    pause(ms, reason) {
      const until = performance.now() + ms;
      if (until <= notBefore) return;
      notBefore = until;
      pauseReason = reason;
    },
  };
}

/** Resolves when woken by whoever leaves, or when the signal aborts. */
function turnIn(queue: (() => void)[], signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const wake = (): void => {
      signal.removeEventListener("abort", leave);
      resolve();
    };
    const leave = (): void => {
      queue.splice(queue.indexOf(wake), 1);
      wake();
    };
    queue.push(wake);
    signal.addEventListener("abort", leave, { once: true });
  });
}
