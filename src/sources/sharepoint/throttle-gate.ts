import { sleep } from "../../lib/time.ts";
import { throwIfCancelled } from "./cancelled.ts";
import { intervalMsFor, type RequestBudget } from "./request-budget.ts";
import { createTurnstile } from "./turnstile.ts";

/** Told before every wait a person might wonder about. */
export type OnWait = (reason: string, ms: number) => void;

/** The right to have one request under way. Releasing twice is harmless. */
export interface Slot {
  release(): void;
}

/** What politeness has cost so far. */
export interface Waited {
  readonly ms: number;
  readonly pauses: number;
}

/**
 * All requests of one tenant pass here: so many at a time, none before the server is ready to answer again, and no
 * faster than what is left of the budget allows. After a pause it opens slowly, one request and then one more for each
 * that came back, because whatever was too much before would be too much again.
 */
export interface ThrottleGate {
  /** Throws CancelledError when the signal aborts first. */
  enter(signal: AbortSignal, onWait: OnWait): Promise<Slot>;
  /** Nobody enters for that long; a pause that is already longer stays. */
  pause(ms: number, reason: string): void;
  /** What the server said is left: from now on requests are spread over the time until it is filled up again. */
  spread(budget: RequestBudget): void;
  /** How long nobody will enter; 0 when it is open. */
  closedForMs(): number;
  waited(): Waited;
}

export function createThrottleGate(concurrency: number): ThrottleGate {
  const turnstile = createTurnstile(concurrency);
  const pace = createPace();
  let notBefore = 0;
  let reason = "";
  let waitedMs = 0;
  let pauses = 0;

  function pause(ms: number, why: string): void {
    const now = performance.now();
    const until = now + ms;
    turnstile.narrow();
    if (until <= notBefore) return;
    waitedMs += until - Math.max(now, notBefore);
    if (now >= notBefore) pauses += 1;
    notBefore = until;
    reason = why;
  }

  return {
    async enter(signal, onWait) {
      for (;;) {
        if (signal.aborted) {
          turnstile.passOn();
          throwIfCancelled(signal);
        }
        const pausedMs = notBefore - performance.now();
        const pacedMs = pace.waitMs();
        if (pausedMs > 0) {
          onWait(reason, Math.ceil(pausedMs));
          await sleep(pausedMs, signal);
        } else if (!turnstile.isFree()) {
          await turnstile.turn(signal);
        } else if (pacedMs > 0) {
          pace.tell(onWait, pacedMs);
          await sleep(pacedMs, signal);
        } else {
          waitedMs += pace.start();
          return turnstile.take();
        }
      }
    },
    pause,
    spread(budget) {
      if (intervalMsFor(budget) === Number.POSITIVE_INFINITY)
        pause(budget.resetMs, "SharePoint's request budget is used up");
      else pace.set(budget);
    },
    closedForMs: () => Math.max(0, notBefore - performance.now()),
    waited: () => ({ ms: Math.round(waitedMs), pauses }),
  };
}

interface Pace {
  set(budget: RequestBudget): void;
  waitMs(): number;
  /** Once for each budget period: who sees every single wait sees nothing. */
  tell(onWait: OnWait, ms: number): void;
  /** A request starts now; how long it was kept back. */
  start(): number;
}

/** Requests at even distances, until the budget is filled up again. */
function createPace(): Pace {
  let intervalMs = 0;
  let endsAt = 0;
  let nextAt = 0;
  let left = "";
  let told = false;

  return {
    set(budget) {
      const now = performance.now();
      if (now >= endsAt) {
        nextAt = now;
        told = false;
      }
      intervalMs = intervalMsFor(budget);
      endsAt = now + budget.resetMs;
      left = budget.limit > 0 ? `${budget.remaining} of ${budget.limit}` : `${budget.remaining}`;
    },
    waitMs: () => Math.min(nextAt, endsAt) - performance.now(),
    tell(onWait, ms) {
      if (told || ms < WORTH_TELLING_MS) return;
      told = true;
      onWait(`SharePoint's request budget runs low (${left} left), so requests are spread out`, Math.ceil(ms));
    },
    start() {
      const now = performance.now();
      if (now >= endsAt) return 0;
      const keptBackMs = now - nextAt < LATE_MS ? intervalMs : 0;
      nextAt = now + intervalMs;
      return keptBackMs;
    },
  };
}

const WORTH_TELLING_MS = 1000;
/** Timers wake a little late; a request that starts later than that did not wait for its turn. */
const LATE_MS = 20;
