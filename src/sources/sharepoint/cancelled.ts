import { CancelledError } from "../../contracts/errors.ts";

/** The signal's own CancelledError when it carries one, so that the reason given by whoever stopped us survives. */
export function throwIfCancelled(signal: AbortSignal): void {
  if (!signal.aborted) return;
  if (signal.reason instanceof CancelledError) throw signal.reason;
  throw new CancelledError("read SharePoint: stopped", { cause: signal.reason });
}

/** Waits for a promise that others wait for too: our signal ends our waiting, not the work. */
export async function unlessCancelled<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  throwIfCancelled(signal);
  const aborted = Promise.withResolvers<never>();
  const onAbort = (): void => aborted.reject(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([promise, aborted.promise]);
  } catch (error) {
    throwIfCancelled(signal);
    throw error;
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
