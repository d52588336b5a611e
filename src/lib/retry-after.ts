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
