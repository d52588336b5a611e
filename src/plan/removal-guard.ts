import type { RemovalLimits } from "../contracts/domain.ts";

export interface RemovalCase {
  /** Items that are known and were not listed. */
  readonly missing: number;
  /** Items that left in other looks a moment ago, where one deletion may be seen in many small pieces. */
  readonly justLeft?: number;
  /** Items that were known before this run. */
  readonly known: number;
  /** Items the source listed now. */
  readonly listed: number;
}

/** Below this an emptied source is believed: somebody tidied up. */
const EMPTY_IS_SUSPECT_FROM = 3;

export interface RemovalPolicy {
  readonly limits: RemovalLimits;
  /** A person has seen what would leave, and wants it. */
  readonly confirmDeletes: boolean;
}

/**
 * The one decision whether items may leave: why their removal waits for a person, "" when it may be carried out. A source that answers
 * half of what it has looks exactly like a source from which half was deleted; only the size of the loss tells.
 */
export function heldBecause(loss: RemovalCase, { limits, confirmDeletes }: RemovalPolicy): string {
  return confirmDeletes ? "" : (suspect(loss, limits) ?? "");
}

function suspect(run: RemovalCase, limits: RemovalLimits): string | undefined {
  if (run.missing === 0) return undefined;
  if (run.listed === 0 && run.known >= EMPTY_IS_SUSPECT_FROM && !limits.allowEmpty) {
    return `the source lists nothing that is wanted, although ${run.known} items are known`;
  }
  const { justLeft = 0 } = run;
  const [missing, known] = [run.missing + justLeft, run.known + justLeft];
  const share = Math.floor((known * limits.maxRemovalsPercent) / 100);
  const allowed = Math.max(limits.maxRemovals, share);
  if (run.listed === 0 && limits.allowEmpty) return undefined;
  if (missing <= allowed) return undefined;
  const before = justLeft > 0 ? `, with the ${justLeft} that left in the last minutes` : "";
  return `${missing} of ${known} items would be removed${before}, more than the ${allowed} allowed in one run`;
}
