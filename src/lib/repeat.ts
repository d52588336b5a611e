export interface Repetition {
  stop(): void;
}

/** Repeats the work, `everyMs` after the end of the last run; a failure is reported, and the next run comes all the same. */
export function repeat(
  work: () => Promise<unknown>,
  options: { readonly everyMs: number; readonly onError: (error: unknown) => void },
): Repetition {
  let stopped = false;
  let timer: NodeJS.Timeout;
  const wait = (): void => {
    timer = setTimeout(() => void work().catch(options.onError).finally(again), options.everyMs);
    // The timer does not keep the process alive.
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
