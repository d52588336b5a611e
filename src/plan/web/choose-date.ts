import type { ContentState } from "../../contracts/registry.ts";
import type { PageDate } from "../../contracts/web.ts";
import { toUtcMicros } from "../../lib/time.ts";

export type Dated = Pick<ContentState, "modifiedAt" | "modifiedFrom">;

const ISO = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)\s?(Z|[+-]\d\d:?\d\d)?)?$/i;
const HTTP = /^[A-Z][a-z]{2,8}, \d\d[ -][A-Z][a-z]{2}[ -]\d{2,4} \d\d:\d\d:\d\d GMT$/;
/** Older dates are placeholders for an empty date. */
const FIRST_YEAR = 1990;

/** Returns the first valid date that is not after `now`. A time without a zone is UTC. */
export function chooseDate(dates: readonly PageDate[], now: Date): Dated {
  for (const { from, text } of dates) {
    const at = parse(text.trim());
    if (at && at <= now && at.getUTCFullYear() >= FIRST_YEAR)
      return { modifiedAt: toUtcMicros(at), modifiedFrom: from };
  }
  return { modifiedAt: "", modifiedFrom: "" };
}

function parse(text: string): Date | undefined {
  const [, day, time = "00:00:00", zone = "Z"] = ISO.exec(text) ?? [];
  const at = new Date(day ? `${day}T${time}${zone.toUpperCase()}` : HTTP.test(text) ? text : Number.NaN);
  return Number.isNaN(at.getTime()) ? undefined : at;
}
