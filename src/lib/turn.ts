import { setImmediate as nextRound } from "node:timers/promises";

const TURN_MS = 4;

/**
 * For loops of tiny synchronous calls: a thousand of them cost less than a thousand promises, but the rest of the process
 * must get its turn, also when a slow disk makes the calls not so tiny.
 */
export class Turn {
  #startedAtMs = performance.now();

  isOver(): boolean {
    return performance.now() - this.#startedAtMs > TURN_MS;
  }

  async next(): Promise<void> {
    await nextRound();
    this.#startedAtMs = performance.now();
  }
}

const shared = new Turn();

/** For functions that make a few such calls each, and are called by loops. */
export async function breathe(): Promise<void> {
  if (shared.isOver()) await shared.next();
}
