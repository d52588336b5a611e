import type { ItemId } from "./ids.ts";
import type { LedgerEntry } from "./ledger.ts";
import type { Sighting } from "./source.ts";

/**
 * What the judge concludes for one item. `reason` is the sentence a dry run shows.
 * - added: fetch it. changed: fetch it again. moved: same bytes at another path.
 * - skipped: listed, but not wanted (type, size). kept: not listed, but the listing was incomplete there.
 * - removed: gone at the source, or no longer wanted. held: the same, but too many at once without confirmation.
 */
export type Change = ListedChange | AbsentChange;

export interface ListedChange {
  readonly kind: "added" | "changed" | "moved" | "unchanged" | "skipped";
  readonly itemId: ItemId;
  readonly sighting: Sighting;
  readonly entry: LedgerEntry | undefined;
  readonly reason: string;
  /** Fetched because our own copy is missing or altered; the source did not change. */
  readonly anomaly?: "missing" | "altered" | "original";
}

export interface AbsentChange {
  readonly kind: "removed" | "held" | "kept";
  readonly itemId: ItemId;
  readonly entry: LedgerEntry;
  /** The source still has it, but it is no longer wanted. */
  readonly stillListed: boolean;
  /** The source could not decide yet whether it is gone: counted as skipped, and its row has the reason. */
  readonly isUndecided?: boolean;
  readonly reason: string;
}

export type ChangeKind = Change["kind"];
