/** At most `limit` pieces of work run at once; the others wait, first come first served. A failure gives its place free, too. */
export function createAtMost(limit: number): <T>(work: () => Promise<T>) => Promise<T> {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (work) => {
    if (running < limit) running += 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await work();
    } finally {
      // The place is handed over, so nobody who comes meanwhile can take it.
      const next = waiting.shift();
      if (next) next();
      else running -= 1;
    }
  };
}
