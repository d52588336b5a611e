/** Runs `work` over the items, at most `limit` at once, and ends when all have ended. The first error stops taking new items. */
export async function forEachConcurrent<T>(
  items: Iterable<T> | AsyncIterable<T>,
  limit: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const iterator = toAsyncIterator(items);
  let failed = false;
  const worker = async (): Promise<void> => {
    while (!failed) {
      const next = await iterator.next();
      if (next.done) return;
      try {
        await work(next.value);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  const outcomes = await Promise.allSettled(Array.from({ length: limit }, worker));
  const failure = outcomes.find((outcome) => outcome.status === "rejected");
  if (failure) throw failure.reason;
}

async function* toAsyncIterator<T>(items: Iterable<T> | AsyncIterable<T>): AsyncGenerator<T, void> {
  yield* items;
}

interface RunAheadOptions {
  readonly atOnce: number;
  /** How many results are handed over together, unless nothing runs any more. */
  readonly together: number;
}

/**
 * Runs pieces of work side by side and yields what they give, as it comes. `next` is asked whenever there is room, and told
 * how many are running; when it has nothing and none is running, that is the end. A reader that takes its time is not run
 * away from: whoever is paused stops asking. The first failure ends it; nothing runs any more when it has ended.
 */
export async function* runAhead<T>(
  next: (running: number) => (() => Promise<T>) | undefined,
  { atOnce, together }: RunAheadOptions,
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
