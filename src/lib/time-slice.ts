import { setImmediate as nextRound } from "node:timers/promises";

const SLICE_MS = 4;

/**
 * Lets a loop of short synchronous calls yield to the event loop now and then: a thousand such calls cost less than a thousand
 * promises, but the rest of the process must run, too, also when a slow disk makes the calls long.
 */
export class TimeSlice {
  #startedAtMs = performance.now();

  isOver(): boolean {
    return performance.now() - this.#startedAtMs > SLICE_MS;
  }

  /** Yields to the event loop, and begins the next slice. */
  async next(): Promise<void> {
    await nextRound();
    this.#startedAtMs = performance.now();
  }
}

const shared = new TimeSlice();

/** Yields if the slice that the whole process shares is over. For functions with a few such calls each that loops call. */
export async function yieldIfDue(): Promise<void> {
  if (shared.isOver()) await shared.next();
}
