import type { IngestItem, SchedulingState } from "../../contracts/registry.ts";
import { toUtcMicros } from "../../lib/time.ts";
import type { CheckPolicy } from "./schedule-item.ts";

/** Looks in a row that have to say the same before a document is given up for it. */
export const BELIEVED_AFTER = 3;

/** Only one of the two rows is under way: what answers with a redirect is not missing, and the other way round. */
export type LookCounts = Pick<SchedulingState, "goneCount" | "movedTo" | "movedCount" | "countedAt">;

export const NOTHING_COUNTED: LookCounts = { goneCount: 0, movedTo: "", movedCount: 0, countedAt: "" };

/** After one more 404 or 410. */
export function countGone({ scheduling }: IngestItem, at: Date, policy: CheckPolicy): LookCounts {
  const { count, countedAt } = oneMore(scheduling.goneCount, scheduling.countedAt, at, policy.goneSpacingSeconds);
  return { ...NOTHING_COUNTED, goneCount: count, countedAt };
}

/** After one more look at which `to` was there instead: another item, or something that is no document of its kind. */
export function countMove({ scheduling }: IngestItem, to: string, at: Date, policy: CheckPolicy): LookCounts {
  const before = scheduling.movedTo === to ? scheduling.movedCount : 0;
  const { count, countedAt } = oneMore(before, scheduling.countedAt, at, policy.movedSpacingSeconds);
  return { ...NOTHING_COUNTED, movedTo: to, movedCount: count, countedAt };
}

/** Looks that follow each other too closely (of one crawl, of one sign-in trouble) are one. */
function oneMore(
  count: number,
  countedAt: string,
  at: Date,
  spacingSeconds: number,
): { readonly count: number; readonly countedAt: string } {
  const isTooSoon = count > 0 && at.getTime() - Date.parse(countedAt) < spacingSeconds * 1000;
  return isTooSoon ? { count, countedAt } : { count: count + 1, countedAt: toUtcMicros(at) };
}
