/** Time passes when the test says so. */
export function handClock() {
  let now = 0;
  const due = new Map<() => void, number>();
  return {
    nowMs: () => now,
    after(ms: number, run: () => void) {
      due.set(run, now + ms);
      return () => void due.delete(run);
    },
    async pass(ms: number) {
      now += ms;
      for (const [run, at] of due) {
        if (at > now) continue;
        due.delete(run);
        run();
      }
      await settle();
    },
  };
}

/** Lets everything that can go on go on. */
export async function settle(): Promise<void> {
  for (let i = 0; i < 3; i += 1) await new Promise(setImmediate);
}
