/** A resource that the first caller opens, and all share. */
interface OpenedOnce<T> {
  /** A failure goes to all waiting callers; the next caller tries again. */
  open(): Promise<T>;
  /** Does nothing if it was never opened. */
  close(): Promise<void>;
}

export function openOnce<T extends { close(): Promise<void> }>(make: () => Promise<T>): OpenedOnce<T> {
  let opening: Promise<T> | undefined;
  return {
    open() {
      opening ??= make().catch((error: unknown) => {
        opening = undefined;
        throw error;
      });
      return opening;
    },
    async close() {
      await (await opening)?.close();
    },
  };
}

/** Caches the result for each object, as long as the object lives. */
export function memoize<Of extends object, T>(work: (of: Of) => T): (of: Of) => T {
  const known = new WeakMap<Of, { readonly value: T }>();
  return (of) => {
    let found = known.get(of);
    if (!found) {
      found = { value: work(of) };
      known.set(of, found);
    }
    return found.value;
  };
}
