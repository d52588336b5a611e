import type { CheckPolicy } from "./schedule-item.ts";

const UNCHANGED_CHECKS_A_STEP = 3;
/** A server may ask for this much patience even where items are looked at more often. */
const PATIENCE_SECONDS = 86_400;

/** Lengthens with every third check that found nothing new: 1, 3, 7, 14 times the base, then doubling, up to the maximum. */
export function intervalSeconds(unchangedCount: number, policy: CheckPolicy): number {
  const step = Math.floor(unchangedCount / UNCHANGED_CHECKS_A_STEP);
  const times = [1, 3][step] ?? 7 * 2 ** (step - 2);
  return Math.min(policy.baseIntervalSeconds * times, policy.maxIntervalSeconds);
}

/** Doubles with every failure in a row, up to the maximum; a longer time that the server asked for wins, within a day or the maximum. */
export function retrySeconds(failureCount: number, retryAfterMs: number, policy: CheckPolicy): number {
  const backoff = Math.min(policy.errorBackoffSeconds * 2 ** (failureCount - 1), policy.maxIntervalSeconds);
  const asked = Math.min(Math.ceil(retryAfterMs / 1000), Math.max(policy.maxIntervalSeconds, PATIENCE_SECONDS));
  return Math.max(backoff, asked);
}
