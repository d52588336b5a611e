/** What is known of how fresh a document is. Instants are ISO 8601; "" when unknown. */
export interface Freshness {
  /** When its source was last checked completely. */
  readonly checkedAt: string;
  /** When the document was changed at its source. */
  readonly changedAt: string;
  /** Its last update failed, or its removal is held: the source may have something else by now. */
  readonly isBehind: boolean;
}

/** Returns "source checked 4 minutes ago; changed 12 November"; "" if nothing is known. */
export function sayFreshness({ checkedAt, changedAt, isBehind }: Freshness, now = new Date()): string {
  const checked = Date.parse(checkedAt);
  const parts = [
    // "Checked" would sound as if the document was as it is there.
    isBehind ? "its last update failed or is held" : "",
    Number.isNaN(checked) || isBehind ? "" : `source checked ${sayAge(now.getTime() - checked)}`,
    sayDay(changedAt, now),
  ];
  return parts.filter((part) => part !== "").join("; ");
}

const UNITS = [
  [86_400_000, 2, "day"],
  [3_600_000, 1, "hour"],
  [60_000, 1, "minute"],
] as const;

/** Returns "3 days ago", or the day of what is older than a month; "" if nothing is known. */
export function sayWhen(instant: string, now = new Date()): string {
  const ms = now.getTime() - Date.parse(instant);
  if (Number.isNaN(ms)) return "";
  return ms < LATELY_MS ? sayAge(ms) : sayDay(instant, now).replace(/^changed /, "");
}

const LATELY_MS = 31 * 86_400_000;

/** A clock that was set back gives a time in the future, which counts as now. */
function sayAge(ms: number): string {
  for (const [length, from, unit] of UNITS) {
    const count = Math.floor(ms / length);
    if (count >= from) return `${count} ${unit}${count === 1 ? "" : "s"} ago`;
  }
  return "less than a minute ago";
}

/** With the year if it is not this one. In UTC, so that it is the same in every answer. */
function sayDay(instant: string, now: Date): string {
  const date = new Date(instant);
  if (Number.isNaN(date.getTime())) return "";
  const year = date.getUTCFullYear() === now.getUTCFullYear() ? {} : ({ year: "numeric" } as const);
  return `changed ${date.toLocaleDateString("en-GB", { day: "numeric", month: "long", ...year, timeZone: "UTC" })}`;
}
