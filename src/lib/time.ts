import { setTimeout } from "node:timers/promises";

/** Formats as ISO 8601 UTC with six fraction digits, as in all files of lockstep: `2024-01-15T10:30:00.000000Z`. */
export function toUtcMicros(date: Date): string {
  return `${date.toISOString().slice(0, -1)}000Z`;
}

/** The same for milliseconds with a fraction, as file systems return them; 1970 for an invalid time. */
export function msToUtcMicros(timeMs: number): string {
  const ms = Math.floor(timeMs);
  const date = new Date(ms);
  if (Number.isNaN(date.getTime())) return toUtcMicros(new Date(0));
  const micros = Math.floor((timeMs - ms) * 1000);
  return `${date.toISOString().slice(0, -1)}${String(micros).padStart(3, "0")}Z`;
}

/** Parses a time of any format, as in `Last-Modified`; "" if it is none. */
export function toInstant(text: string): string {
  const date = new Date(text);
  return Number.isNaN(date.getTime()) ? "" : toUtcMicros(date);
}

export function nowUtcMicros(): string {
  return toUtcMicros(new Date());
}

/** Returns whole Unix seconds. */
export function nowSeconds(): number {
  return Math.floor(Date.now() / 1000);
}

/** Returns whole Unix seconds of an instant; 0 if it is none. */
export function toUnixSeconds(instant: string): number {
  const ms = Date.parse(instant);
  return Number.isNaN(ms) ? 0 : Math.floor(ms / 1000);
}

/** Returns `2025-11-26_14-20-30` in UTC: the stamp in job and report file names. */
export function toFileStamp(date: Date): string {
  return date.toISOString().slice(0, 19).replace("T", "_").replaceAll(":", "-");
}

/** Resolves after the time or as soon as the signal aborts; never rejects, so callers decide what an abort means. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return setTimeout(ms, undefined, signal && { signal }).catch(() => undefined);
}
