/** Rejects with the sentence when the work takes longer; nobody waits for the work any more then. */
export async function within<T>(ms: number, work: Promise<T>, sentence: string): Promise<T> {
  work.catch(() => undefined);
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(sentence)), ms);
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
