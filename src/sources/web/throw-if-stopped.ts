import { CancelledError } from "../../contracts/errors.ts";

/** The signal's own CancelledError when it carries one, so that the reason given by whoever stopped us survives. */
export function throwIfStopped(signal: AbortSignal): void {
  if (!signal.aborted) return;
  if (signal.reason instanceof CancelledError) throw signal.reason;
  throw new CancelledError("look at web pages: stopped", { cause: signal.reason });
}
