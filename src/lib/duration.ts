import { plural } from "./text.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const MAX_DAYS = 3650;

/** Parses whole hours or days, as `36h` or `7d`, up to ten years; undefined if it is neither. */
export function parseDuration(text: string): number | undefined {
  const [, count, unit] = /^([1-9]\d{0,4})([hd])$/.exec(text) ?? [];
  if (count === undefined) return undefined;
  const ms = Number(count) * (unit === "h" ? HOUR_MS : DAY_MS);
  return ms <= MAX_DAYS * DAY_MS ? ms : undefined;
}

/** Returns `12 minutes`, `5 hours`, `9 days`: rounded down, in the largest unit of which there are at least two. */
export function sayDuration(ms: number): string {
  if (ms >= 2 * DAY_MS) return plural(Math.floor(ms / DAY_MS), "day");
  if (ms >= 2 * HOUR_MS) return plural(Math.floor(ms / HOUR_MS), "hour");
  return ms >= 60_000 ? plural(Math.floor(ms / 60_000), "minute") : "less than a minute";
}
