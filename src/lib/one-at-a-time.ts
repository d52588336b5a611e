/** Work under the same key runs one after the other, in the order it was asked for; a failure does not stop the next. */
export function createOneAtATime(): <T>(key: string, work: () => Promise<T>) => Promise<T> {
  const lasts = new Map<string, Promise<unknown>>();
  return async (key, work) => {
    const mine = (lasts.get(key) ?? Promise.resolve()).then(work);
    const settled = mine.catch(() => undefined);
    lasts.set(key, settled);
    try {
      return await mine;
    } finally {
      if (lasts.get(key) === settled) lasts.delete(key);
    }
  };
}
