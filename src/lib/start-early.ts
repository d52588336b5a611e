/**
 * Requests the first value of a generator now, so that its work runs while the caller does something else. Not a generator itself: wrapping
 * one in another costs several rounds of the event loop per value.
 */
export function startEarly<T, R>(generator: AsyncGenerator<T, R>): AsyncIterator<T, R> {
  let first: Promise<IteratorResult<T, R>> | undefined = generator.next();
  // The reader gets the failure; until then it must not count as unhandled.
  first.catch(() => undefined);
  return {
    next() {
      const step = first ?? generator.next();
      first = undefined;
      return step;
    },
  };
}
