import type { ReadAnswer, ReadTask } from "./messages.ts";
import { ReaderProcess } from "./reader-process.ts";

/** Two, so that one hostile file does not hold up all others; more would take the processor from searches. */
const READERS = 2;
/** A reader is replaced before what libraries forget to free adds up. */
const MAX_FILES = 500;
const MAX_RESTING_BYTES = 256 * 1024 * 1024;
/** It starts in tenths of a second, and takes up to 175 MB. */
const IDLE_MS = 5000;

/** Readers are started when needed, rest for a while, and are replaced after a kill. */
export class ReaderPool {
  readonly #idle: { reader: ReaderProcess; timer: NodeJS.Timeout }[] = [];
  /** Each takes over the turn of one that is done. */
  readonly #waiting = new Set<() => void>();
  #busy = 0;

  async read(task: ReadTask, signal: AbortSignal): Promise<ReadAnswer> {
    await this.#turn(signal);
    const reader = this.#takeReader();
    try {
      return await reader.read(task, signal);
    } finally {
      this.#putBack(reader);
      this.#passTurn();
    }
  }

  async #turn(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#busy < READERS) {
      this.#busy += 1;
      return;
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const onAbort = (): void => {
      this.#waiting.delete(resolve);
      reject(signal.reason);
    };
    this.#waiting.add(resolve);
    signal.addEventListener("abort", onAbort, { once: true });
    await promise.finally(() => signal.removeEventListener("abort", onAbort));
  }

  #passTurn(): void {
    const [next] = this.#waiting;
    if (next) {
      this.#waiting.delete(next);
      next();
    } else {
      this.#busy -= 1;
    }
  }

  #takeReader(): ReaderProcess {
    for (let rested = this.#idle.pop(); rested; rested = this.#idle.pop()) {
      clearTimeout(rested.timer);
      if (rested.reader.isAlive) return rested.reader;
    }
    return new ReaderProcess();
  }

  #putBack(reader: ReaderProcess): void {
    if (!reader.isAlive) return;
    if (reader.filesRead >= MAX_FILES || reader.memoryBytes > MAX_RESTING_BYTES) {
      reader.end();
      return;
    }
    const timer = setTimeout(() => {
      reader.end();
      this.#idle.splice(
        this.#idle.findIndex((each) => each.reader === reader),
        1,
      );
    }, IDLE_MS);
    timer.unref();
    this.#idle.push({ reader, timer });
  }
}

/** One for the whole process. */
export const readers = new ReaderPool();
