import type { Task } from "../../contracts/queue.ts";

/** Before the first look at the host ended. */
const LEAST_PACE_MS = 10;
/** A host may be quicker than it was. */
const LONGEST_WAIT_MS = 60_000;

interface Host {
  taken: number;
  /** Those that were told to wait and have not been back. */
  readonly waiting: Set<Task["id"]>;
  /** How long it took until the last seat was free again. */
  paceMs: number;
  leftAtMs: number;
}

/** Hosts are asked at their own pace, so whoever looks at an item may have to wait: not all of a process for the same host. */
export class HostSeats {
  readonly #most: number;
  readonly #hosts = new Map<string, Host>();

  constructor(most: number) {
    this.#most = most;
  }

  /** Otherwise, how long the task should wait: for as long as the host takes for those that wait already. */
  take(host: string, task: Task["id"]): "taken" | { readonly waitMs: number } {
    const nowMs = performance.now();
    const found = this.#hosts.get(host) ?? { taken: 0, waiting: new Set(), paceMs: 0, leftAtMs: nowMs };
    if (found.taken < this.#most) {
      found.taken += 1;
      found.waiting.delete(task);
      this.#hosts.set(host, found);
      return "taken";
    }
    found.waiting.add(task);
    const paceMs = Math.max(found.paceMs, nowMs - found.leftAtMs, LEAST_PACE_MS);
    return { waitMs: Math.round(Math.min(found.waiting.size * paceMs, LONGEST_WAIT_MS)) };
  }

  leave(host: string): void {
    const found = this.#hosts.get(host);
    if (!found) return;
    found.taken -= 1;
    if (found.taken === 0) return void this.#hosts.delete(host);
    const nowMs = performance.now();
    found.paceMs = nowMs - found.leftAtMs;
    found.leftAtMs = nowMs;
  }
}
