import { setTimeout as sleep } from "node:timers/promises";

/** Whoever holds the lock longer than this has stopped or hangs: no transaction of ours takes that long. */
const GIVE_UP_MS = 30_000;
/** Between two attempts, at random, so that those who wait do not all come back at once. */
const MIN_WAIT_MS = 2;
const MAX_WAIT_MS = 10;

/**
 * Does what SQLite may refuse because another process has the lock, again and again. SQLite's own waiting would stop the
 * whole process meanwhile. `act` must be one step that was not done at all when it is refused.
 */
export async function waitForLock<T>(path: string, act: () => T): Promise<T> {
  let giveUpAtMs: number | undefined;
  for (;;) {
    try {
      return act();
    } catch (error) {
      if (!isBusy(error)) throw error;
      giveUpAtMs ??= performance.now() + GIVE_UP_MS;
      if (performance.now() >= giveUpAtMs) {
        const seconds = GIVE_UP_MS / 1000;
        throw new Error(`use ${path}: another process has kept it locked for more than ${seconds} s`, { cause: error });
      }
    }
    await sleep(MIN_WAIT_MS + Math.random() * (MAX_WAIT_MS - MIN_WAIT_MS));
  }
}

/** SQLITE_BUSY, of whatever kind. */
export function isBusy(error: unknown): boolean {
  if (!(error instanceof Error && "errcode" in error) || typeof error.errcode !== "number") return false;
  return (error.errcode & 0xff) === 5;
}
