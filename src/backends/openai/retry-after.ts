/** How long the server asks to wait, of any length; undefined when it does not say. A date in the past means now. */
export function readRetryAfterMs(headers: Headers | undefined, nowMs: number): number | undefined {
  const inMs = readNumber(headers?.get("retry-after-ms"));
  if (inMs !== undefined) return inMs;
  const text = headers?.get("retry-after");
  const inSeconds = readNumber(text);
  if (inSeconds !== undefined) return inSeconds * 1000;
  const at = text ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? undefined : Math.max(0, at - nowMs);
}

/** undefined for anything but a plain number of zero or more. */
export function readNumber(text: string | null | undefined): number | undefined {
  return text && /^\s*\d+(\.\d+)?\s*$/.test(text) ? Number(text) : undefined;
}
