/**
 * Asks a generator for its first value now, so that what it waits for is under way while the caller does something
 * else. Not a generator itself: wrapping one in another costs several turns of the event loop for every value.
 */
export function startEarly<T, R>(generator: AsyncGenerator<T, R>): AsyncIterator<T, R> {
  let first: Promise<IteratorResult<T, R>> | undefined = generator.next();
  // A failure is the reader's to see; until somebody reads, it must not count as unhandled.
  first.catch(() => undefined);
  return {
    next() {
      const step = first ?? generator.next();
      first = undefined;
      return step;
    },
  };
}
