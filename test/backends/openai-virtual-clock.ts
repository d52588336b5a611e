import { setImmediate } from "node:timers/promises";
import type { Clock } from "../../src/backends/openai/clock.ts";

/** Time that passes only when somebody sleeps, and then at once. */
export function createVirtualClock(): Clock & { readonly slept: number[] } {
  let nowMs = Date.UTC(2026, 0, 15, 12, 0, 0);
  const slept: number[] = [];
  return {
    slept,
    now: () => nowMs,
    async sleep(ms) {
      slept.push(ms);
      nowMs += ms;
      await setImmediate();
    },
  };
}
