import { type Clock, pause } from "./clock.ts";

export interface RateGate {
  /** Waits until `weight` more fit into the last minute; CancelledError when the signal aborts. */
  pass(weight: number, what: string, signal?: AbortSignal): Promise<void>;
}

const WINDOW_MS = 60_000;

/**
 * Lets at most `limit` through in any minute. Services count in minutes of their own, which begin when they like, so the
 * window slides instead of starting afresh.
 */
export function createRateGate(clock: Clock, limit: number): RateGate {
  const passed: { readonly atMs: number; readonly weight: number }[] = [];
  let used = 0;

  function forget(): void {
    for (let oldest = passed[0]; oldest && oldest.atMs + WINDOW_MS <= clock.now(); oldest = passed[0]) {
      used -= oldest.weight;
      passed.shift();
    }
  }

  return {
    async pass(weight, what, signal) {
      for (forget(); used + weight > limit; forget()) {
        const oldest = passed[0];
        // More than fits into an empty window is let through alone: to refuse it for ever would help nobody.
        if (!oldest) break;
        await pause(clock, oldest.atMs + WINDOW_MS - clock.now(), what, signal);
      }
      passed.push({ atMs: clock.now(), weight });
      used += weight;
    },
  };
}
