import { CancelledError } from "../../contracts/errors.ts";
import { throwIfCancelled } from "./clock.ts";

export interface Slots {
  /** Waits for a free slot, first come first served; call the result once to free it. CancelledError when the signal aborts. */
  take(what: string, signal: AbortSignal): Promise<() => void>;
}

export function createSlots(count: number): Slots {
  let free = count;
  const waiting = new Set<() => void>();

  function release(): void {
    const next = waiting.values().next().value;
    if (!next) {
      free++;
      return;
    }
    waiting.delete(next);
    next();
  }

  function queue(signal: AbortSignal): Promise<"granted" | "given up"> {
    return new Promise((resolve) => {
      const grant = (): void => {
        signal.removeEventListener("abort", giveUp);
        resolve("granted");
      };
      const giveUp = (): void => {
        waiting.delete(grant);
        resolve("given up");
      };
      waiting.add(grant);
      signal.addEventListener("abort", giveUp, { once: true });
    });
  }

  async function take(what: string, signal: AbortSignal): Promise<() => void> {
    throwIfCancelled(what, signal);
    if (free > 0) free--;
    else if ((await queue(signal)) === "given up") throw new CancelledError(`${what}: cancelled`);
    return release;
  }

  return { take };
}
