import { setImmediate as nextRound } from "node:timers/promises";

/** What this thread has worked so far: on a busy machine, time passes in which it does nothing. */
export function workedMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

/** Ticks with every round of the event loop. `stop` tells how long the rest of the process had to wait at most, by this clock. */
export function watchGaps(clock = (): number => performance.now()): { stop(): Promise<number> } {
  let last = clock();
  let longest = 0;
  let stopped = false;
  const ticking = (async () => {
    while (!stopped) {
      await nextRound();
      const now = clock();
      longest = Math.max(longest, now - last);
      last = now;
    }
  })();
  return {
    async stop() {
      stopped = true;
      await ticking;
      return longest;
    },
  };
}
