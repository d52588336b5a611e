export interface Repetition {
  stop(): void;
}

/** Does the work again and again, counted from the end of the time before; a failure is told and the next time comes all the same. */
export function repeat(
  work: () => Promise<unknown>,
  options: { readonly everyMs: number; readonly onError: (error: unknown) => void },
): Repetition {
  let stopped = false;
  let timer: NodeJS.Timeout;
  const wait = (): void => {
    timer = setTimeout(() => void work().catch(options.onError).finally(again), options.everyMs);
    // A process that has nothing else to do may end.
    timer.unref();
  };
  const again = (): void => {
    if (!stopped) wait();
  };
  wait();
  return {
    stop() {
      stopped = true;
      clearTimeout(timer);
    },
  };
}
