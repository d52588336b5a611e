/** How long a Retry-After asks to wait; undefined when there is none, or nobody can read it. */
export function readRetryAfterMs(value: string | undefined, now: Date): number | undefined {
  const text = value?.trim() ?? "";
  if (/^\d+(\.\d+)?$/.test(text)) return Math.min(Number(text) * 1000, MAX_MS);
  const at = /[a-z]/i.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? undefined : Math.min(Math.max(0, at - now.getTime()), MAX_MS);
}

/** Nobody means more than a day. */
const MAX_MS = 86_400_000;
