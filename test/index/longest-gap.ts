import { setImmediate as nextRound } from "node:timers/promises";

/** Ticks with every round of the event loop. `stop` tells how long the rest of the process had to wait at most. */
export function watchGaps(): { stop(): Promise<number> } {
  let last = performance.now();
  let longest = 0;
  let stopped = false;
  const ticking = (async () => {
    while (!stopped) {
      await nextRound();
      const now = performance.now();
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
