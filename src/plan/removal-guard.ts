import type { RemovalLimits } from "../contracts/domain.ts";

export interface RemovalCase {
  /** Known items that were not listed. */
  readonly missing: number;
  /** Items that went missing in recent runs: watch mode may see one deletion in many small pieces. */
  readonly justLeft?: number;
  /** Items that were known before this run. */
  readonly known: number;
  /** Items the source listed now. */
  readonly listed: number;
}

/** With fewer items, an empty source is accepted. */
const EMPTY_IS_SUSPECT_FROM = 3;

export interface RemovalPolicy {
  readonly limits: RemovalLimits;
  /** The user has confirmed the removals. */
  readonly confirmDeletes: boolean;
}

/**
 * The only decision whether items may be removed: returns why the removal needs confirmation, or "". A source that
 * lists only half of its items looks exactly like one from which half was deleted; only the size of the loss shows it.
 */
export function heldBecause(loss: RemovalCase, { limits, confirmDeletes }: RemovalPolicy): string {
  return confirmDeletes ? "" : (whySuspicious(loss, limits) ?? "");
}

function whySuspicious(run: RemovalCase, limits: RemovalLimits): string | undefined {
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
