import { BusyError, CancelledError } from "../contracts/errors.ts";

export interface PerKeyLimits {
  readonly atOnce: number;
  /** Beyond so many that wait under a key, the next is refused. */
  readonly waiting: number;
}

/** Under each key so many pieces of work run at once; the others wait, first come first served. */
export interface AtMostPer {
  /** BusyError when too many wait already, CancelledError when the signal says so before it was begun. */
  run<T>(key: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T>;
}

interface Line {
  running: number;
  readonly waiting: Set<() => void>;
}

export function createAtMostPer({ atOnce, waiting }: PerKeyLimits): AtMostPer {
  const lines = new Map<string, Line>();

  async function takePlace(line: Line, signal: AbortSignal | undefined): Promise<void> {
    if (line.running < atOnce) {
      line.running += 1;
      return;
    }
    if (line.waiting.size >= waiting) {
      throw new BusyError(`${line.running} are being worked on, and ${line.waiting.size} are waiting already.`);
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const leave = (): void => {
      line.waiting.delete(resolve);
      reject(new CancelledError("whoever asked is gone"));
    };
    line.waiting.add(resolve);
    signal?.addEventListener("abort", leave, { once: true });
    await promise.finally(() => signal?.removeEventListener("abort", leave));
  }

  return {
    async run(key, work, signal) {
      if (signal?.aborted) throw new CancelledError("whoever asked is gone");
      const line: Line = lines.get(key) ?? { running: 0, waiting: new Set() };
      lines.set(key, line);
      await takePlace(line, signal);
      try {
        return await work();
      } finally {
        // The place is handed over, so nobody who comes meanwhile can take it.
        const [next] = line.waiting;
        if (next) {
          line.waiting.delete(next);
          next();
        } else {
          line.running -= 1;
          if (line.running === 0) lines.delete(key);
        }
      }
    },
  };
}
