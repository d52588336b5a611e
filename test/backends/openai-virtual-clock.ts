import { setImmediate, setTimeout } from "node:timers/promises";
import type { Clock } from "../../src/backends/openai/connection.ts";

export interface VirtualClock extends Clock {
  /** What was waited for, in order. */
  readonly slept: number[];
  /** From now on short waits pass at once, too: for deadlines. */
  hurry(): void;
}

const SHORT_MS = 30_000;
const MOMENT_MS = 5;

/**
 * Time that passes only when somebody sleeps, and then at once. A patient one cuts short waits to a moment and counts them
 * as that, so that a service with work to do is never given up on.
 */
export function createVirtualClock({ patient = false } = {}): VirtualClock {
  let nowMs = Date.UTC(2026, 0, 15, 12, 0, 0);
  let isPatient = patient;
  const slept: number[] = [];
  return {
    slept,
    now: () => nowMs,
    hurry: () => {
      isPatient = false;
    },
    async sleep(ms) {
      slept.push(ms);
      const isMoment = isPatient && ms <= SHORT_MS;
      nowMs += isMoment ? MOMENT_MS : ms;
      await (isMoment ? setTimeout(MOMENT_MS) : setImmediate());
    },
  };
}
