interface Backoff {
  readonly firstMs: number;
  readonly longestMs: number;
}

export interface RetryLimits extends Backoff {
  /** Tries in all. */
  readonly attempts: number;
}

/** How a storage service is asked again that does not say when: by our own requests and by the clients of Azure. */
export const STORAGE_RETRIES: RetryLimits = { attempts: 4, firstMs: 500, longestMs: 8000 };

/** Doubles with each failure in a row, of which there is at least one, up to the longest. */
export function backoffMs(failures: number, { firstMs, longestMs }: Backoff): number {
  return Math.min(firstMs * 2 ** (failures - 1), longestMs);
}

/** Anywhere between half of it and all of it, so that those who failed together do not return together. */
export function jitter(ms: number): number {
  return ms * (0.5 + Math.random() / 2);
}

/** Headers of an answer, in whichever shape the client has them. */
export type AnswerHeaders =
  | { get(name: string): string | null | undefined }
  | Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * How long an answer asks to wait: `retry-after-ms`, or Retry-After in seconds or as a date, which is meant by the server's clock if the answer tells
 * it. undefined when it does not say, or nobody can read it. Of any length: callers know how long is too long for them.
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

/** The first one where there are several; "" for none. Names are in lower case. */
export function headerOf(headers: AnswerHeaders, name: string): string {
  const value = isLookup(headers) ? headers.get(name) : headers[name];
  return (typeof value === "object" ? value?.[0] : value) ?? "";
}

/** undefined for anything but a plain number of zero or more. */
export function readNumber(text: string): number | undefined {
  return /^\s*\d+(\.\d+)?\s*$/.test(text) ? Number(text) : undefined;
}

/** Without letters it is no date of HTTP, whatever `Date.parse` makes of it. */
function readDate(text: string): number | undefined {
  const atMs = /[a-z]/i.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(atMs) ? undefined : atMs;
}

function isLookup(headers: AnswerHeaders): headers is { get(name: string): string | null | undefined } {
  return typeof headers["get"] === "function";
}
