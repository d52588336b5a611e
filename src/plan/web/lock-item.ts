import type { IngestItem } from "../../contracts/registry.ts";
import { toUtcMicros } from "../../lib/time.ts";

/** Renewed while working, so that a worker that died holds an item no longer than this. */
export const LOCK_MS = 5 * 60_000;

/** Is it nobody's, or this worker's own already? */
export function mayLock(item: IngestItem, worker: string, now: Date): boolean {
  const { lockedUntil, lockedBy } = item.lock;
  return lockedUntil === "" || lockedUntil <= toUtcMicros(now) || lockedBy === worker;
}

/** Locks or renews. It holds only once the registry has taken it: put it with the version that `mayLock` was asked about. */
export function lock(item: IngestItem, worker: string, now: Date, lockMs: number = LOCK_MS): IngestItem {
  return { ...item, lock: { lockedUntil: toUtcMicros(new Date(now.getTime() + lockMs)), lockedBy: worker } };
}

/** Leaves the lock of another worker alone. */
export function unlock(item: IngestItem, worker: string): IngestItem {
  return item.lock.lockedBy === worker ? { ...item, lock: { lockedUntil: "", lockedBy: "" } } : item;
}
