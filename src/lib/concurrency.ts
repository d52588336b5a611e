import { BusyError, CancelledError } from "../contracts/errors.ts";

/** Runs `work` over the items, at most `limit` at once, and ends when all have ended. The first error stops taking new items. */
export async function forEachConcurrent<T>(
  items: Iterable<T> | AsyncIterable<T>,
  limit: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const iterator = Symbol.iterator in items ? items[Symbol.iterator]() : inOrder(items);
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

/** A generator answers one request after the other, as not every iterator does. */
async function* inOrder<T>(items: AsyncIterable<T>): AsyncGenerator<T, void> {
  yield* items;
}

interface RunAheadOptions {
  readonly atOnce: number;
  /** How many results are yielded together, unless no work is running any more. */
  readonly together: number;
}

/**
 * Runs work concurrently and yields the results as they come. Calls `next` with the number of running tasks whenever there is room; ends
 * when it returns nothing and none is running. While the reader is busy, no new work is started. The first failure ends it; nothing runs
 * any more when it has ended.
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

/** Runs work under a limit. A failure frees its slot, too. */
export type Limiter = <T>(work: () => Promise<T>, signal?: AbortSignal) => Promise<T>;

/** At most `limit` pieces of work run at once; the others wait, first come first served. */
export function createLimiter(limit: number): Limiter {
  const { run } = createKeyedLimiter({ atOnce: limit });
  return (work, signal) => run("", work, signal);
}

/** Work under the same key runs one after the other, in the order it was given; a failure does not stop the next. */
export function createKeyedMutex(): <T>(key: string, work: () => Promise<T>) => Promise<T> {
  const { run } = createKeyedLimiter({ atOnce: 1 });
  return (key, work) => run(key, work);
}

interface KeyedLimits {
  readonly atOnce: number;
  /** When this many wait under a key, the next is refused. No limit by default. */
  readonly waiting?: number;
}

/** Under each key, at most `atOnce` pieces of work run at once; the others wait, first come first served. */
interface KeyedLimiter {
  /** Throws BusyError when too many wait, and CancelledError when the signal fires before the work has begun. */
  run<T>(key: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T>;
}

interface Semaphore {
  running: number;
  readonly waiting: Set<() => void>;
}

export function createKeyedLimiter({ atOnce, waiting = Number.POSITIVE_INFINITY }: KeyedLimits): KeyedLimiter {
  const semaphores = new Map<string, Semaphore>();

  async function acquire(semaphore: Semaphore, signal: AbortSignal | undefined): Promise<void> {
    if (semaphore.running < atOnce) {
      semaphore.running += 1;
      return;
    }
    if (semaphore.waiting.size >= waiting) {
      throw new BusyError(
        `${semaphore.running} are being worked on, and ${semaphore.waiting.size} are waiting already.`,
      );
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const leave = (): void => {
      semaphore.waiting.delete(resolve);
      reject(new CancelledError("whoever asked is gone"));
    };
    semaphore.waiting.add(resolve);
    signal?.addEventListener("abort", leave, { once: true });
    await promise.finally(() => signal?.removeEventListener("abort", leave));
  }

  function release(key: string, semaphore: Semaphore): void {
    // The slot is handed over, so that no new caller can take it.
    const [next] = semaphore.waiting;
    if (next) {
      semaphore.waiting.delete(next);
      next();
      return;
    }
    semaphore.running -= 1;
    if (semaphore.running === 0) semaphores.delete(key);
  }

  return {
    async run(key, work, signal) {
      if (signal?.aborted) throw new CancelledError("whoever asked is gone");
      const semaphore: Semaphore = semaphores.get(key) ?? { running: 0, waiting: new Set() };
      semaphores.set(key, semaphore);
      await acquire(semaphore, signal);
      try {
        return await work();
      } finally {
        release(key, semaphore);
      }
    },
  };
}
