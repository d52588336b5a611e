/**
 * What a generator yields when it has worked for a while and has no result yet: a text of fifty megabytes may be one line, and
 * whoever drives the generator may let the rest of the process work first.
 */
export type Pause = undefined;

/** Lines that are read between two pauses. */
export const LINES_PER_PAUSE = 128;

/** The result, without a pause. */
export function finish<T>(steps: Generator<Pause, T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}
