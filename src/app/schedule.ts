import type { Domain } from "../contracts/domain.ts";

/** Starts unattended crawls of the domains that have a `schedule`. */
export interface Schedule {
  /** When the next crawl of the domain is due, UTC; "" when it has no schedule. */
  nextRunAt(domain: Domain): string;
  /** Looks after the clock until it is stopped. `log` is told what could not be started, and why. */
  start(log: (line: string) => void): { stop(): void };
}
