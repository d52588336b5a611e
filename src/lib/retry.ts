interface Backoff {
  readonly firstMs: number;
  readonly longestMs: number;
}

export interface RetryLimits extends Backoff {
  /** Tries in all. */
  readonly attempts: number;
}

/** Retries for storage services that do not say when to try again: our own requests and Azure's clients. */
export const STORAGE_RETRIES: RetryLimits = { attempts: 4, firstMs: 500, longestMs: 8000 };

/** Doubles with each failure in a row (at least one), up to the longest. */
export function backoffMs(failures: number, { firstMs, longestMs }: Backoff): number {
  return Math.min(firstMs * 2 ** (failures - 1), longestMs);
}

/** Returns between half and all of it, so that requests that failed together do not retry together. */
export function jitter(ms: number): number {
  return ms * (0.5 + Math.random() / 2);
}

/** Headers of a response, in the client's form. */
export type AnswerHeaders =
  | { get(name: string): string | null | undefined }
  | Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * Returns how long a response asks to wait: `retry-after-ms`, or Retry-After in seconds or as a date, which is compared with the server's
 * own `Date` if present. undefined if it is absent or cannot be parsed. Not capped: callers know their limit.
 */
export function readRetryAfterMs(headers: AnswerHeaders, nowMs: number = Date.now()): number | undefined {
  const inMs = readNumber(headerOf(headers, "retry-after-ms"));
  if (inMs !== undefined) return inMs;
  const text = headerOf(headers, "retry-after");
  const inSeconds = readNumber(text);
  if (inSeconds !== undefined) return inSeconds * 1000;
  const atMs = readDate(text);
  return atMs === undefined ? undefined : Math.max(0, atMs - (readDate(headerOf(headers, "date")) ?? nowMs));
}

/** Returns the first value; "" for none. Names are in lower case. */
export function headerOf(headers: AnswerHeaders, name: string): string {
  const value = isLookup(headers) ? headers.get(name) : headers[name];
  return (typeof value === "object" ? value?.[0] : value) ?? "";
}

/** Returns undefined for anything but a plain number of zero or more. */
export function readNumber(text: string): number | undefined {
  return /^\s*\d+(\.\d+)?\s*$/.test(text) ? Number(text) : undefined;
}

/** Without letters it is no HTTP date, whatever `Date.parse` returns. */
function readDate(text: string): number | undefined {
  const atMs = /[a-z]/i.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(atMs) ? undefined : atMs;
}

function isLookup(headers: AnswerHeaders): headers is { get(name: string): string | null | undefined } {
  return typeof headers["get"] === "function";
}
