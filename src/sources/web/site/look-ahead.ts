export interface LookAheadOptions {
  readonly atOnce: number;
  /** How many results are handed over together, unless nothing runs any more. */
  readonly together: number;
}

/**
 * Runs pieces of work side by side and yields what they give, as it comes. `next` is asked whenever there is room, and told
 * how many are running; when it has nothing and none is running, that is the end. A reader that takes its time is not run
 * away from: whoever is paused stops asking. The first failure ends it; nothing runs any more when it has ended.
 */
export async function* lookAhead<T>(
  next: (running: number) => (() => Promise<T>) | undefined,
  { atOnce, together }: LookAheadOptions,
): AsyncGenerator<readonly T[], void> {
  const done: T[] = [];
  const running = new Set<Promise<void>>();
  let failure: { readonly error: unknown } | undefined;
  let isOver = false;
  let wake = (): void => undefined;
  const start = (): void => {
    while (!failure && !isOver && running.size < atOnce && done.length < together) {
      const work = next(running.size);
      if (!work) return;
      const piece = run(work).finally(() => {
        running.delete(piece);
        start();
        wake();
      });
      running.add(piece);
    }
  };
  const run = async (work: () => Promise<T>): Promise<void> => {
    try {
      done.push(await work());
    } catch (error) {
      failure ??= { error };
    }
  };
  try {
    for (;;) {
      start();
      if (failure) throw failure.error;
      if (done.length >= together || (running.size === 0 && done.length > 0)) yield done.splice(0);
      else if (running.size === 0) return;
      else {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    }
  } finally {
    isOver = true;
    await Promise.all(running);
  }
}
