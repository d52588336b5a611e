import type { RemovalLimits } from "../contracts/domain.ts";
import type { ManifestEntry } from "../contracts/manifest.ts";
import { isExpired } from "./lineage/manifest-entry.ts";

/*
 * The three decisions by which something of a source is removed: an item leaves, a document is purged, a leftover is garbage. Nothing else
 * decides that; callers find the candidates, and remove what is in `go`. In doubt, everything stays. Apart from these, a person
 * erases documents and deletes domains, and a successor replaces what was before it.
 */

/** What is removed, and what stays although it may go. */
export interface Removals<T> {
  readonly go: readonly T[];
  readonly stay: readonly T[];
  /** Why the rest stays, if the guard holds it; or "". */
  readonly heldBecause: string;
}

export interface RemovalPolicy {
  readonly limits: RemovalLimits;
  /** The user has confirmed the removals. */
  readonly confirmDeletes: boolean;
}

interface Loss {
  /** Items that were known before this run. */
  readonly known: number;
  /** Items the source listed now. */
  readonly listed: number;
  /** Items that went missing in recent runs: watch mode may see one deletion in many small pieces. */
  readonly justLeft?: number;
}

/** Items leave: the source says that they are gone. Those that are no loss (we have nothing of them, or a successor) leave anyway. */
export function leave<T>(
  gone: readonly T[],
  { isLoss = () => true, ...loss }: Loss & { readonly isLoss?: (item: T) => boolean },
  policy: RemovalPolicy,
): Removals<T> {
  return guarded(gone, isLoss, loss, policy);
}

interface Wait {
  readonly retention: { readonly graceRuns: number; readonly graceMs: number; readonly deletedMs: number };
  readonly now: Date;
  /** Whether it has no hold. */
  readonly isFree: (entry: Pick<ManifestEntry, "docId">) => boolean;
}

/**
 * Documents are purged: nobody waits for their return any more. Of missing files, texts and vectors go; of deleted ones, the entry. `stay`:
 * the wait is over, and somebody holds them. The index leaves alone what a kept generation shows.
 */
export function purge<T extends ManifestEntry>(entries: readonly T[], { retention, now, isFree }: Wait): Removals<T> {
  const deletedBeforeMs = now.getTime() - retention.deletedMs;
  const over = entries.filter((entry) =>
    entry.status === "deleted" ? Date.parse(entry.deletedAt) < deletedBeforeMs : isExpired(entry, retention, now),
  );
  const [go, stay] = [over.filter(isFree), over.filter((entry) => !isFree(entry))];
  return { go, stay, heldBecause: "" };
}

interface Certainty {
  /** Everything that could refer to them was read to its end. */
  readonly isCertain: boolean;
  /** A loss as large as that of a lost ledger is held; "none" for copies that the source gives again. */
  readonly guard: (Loss & RemovalPolicy) | "none";
}

/** Leftovers are garbage: nothing refers to them. */
export function garbage<T>(leftovers: readonly T[], { isCertain, guard }: Certainty): Removals<T> {
  if (!isCertain) return { go: [], stay: leftovers, heldBecause: "" };
  if (guard === "none") return { go: leftovers, stay: [], heldBecause: "" };
  return guarded(leftovers, () => true, guard, guard);
}

/**
 * The guard: a source that lists only half of its items looks exactly like one from which half was deleted; only the size of the loss
 * shows it.
 */
function guarded<T>(
  items: readonly T[],
  isLoss: (item: T) => boolean,
  loss: Loss,
  { limits, confirmDeletes }: RemovalPolicy,
): Removals<T> {
  const lost = items.filter(isLoss);
  const heldBecause = confirmDeletes ? "" : whySuspicious(lost.length, loss, limits);
  if (heldBecause === "") return { go: items, stay: [], heldBecause };
  return { go: items.filter((item) => !isLoss(item)), stay: lost, heldBecause };
}

/** With fewer items, an empty source is accepted. */
const EMPTY_IS_SUSPECT_FROM = 3;

function whySuspicious(lost: number, { known: before, listed, justLeft = 0 }: Loss, limits: RemovalLimits): string {
  if (lost === 0) return "";
  if (listed === 0 && before >= EMPTY_IS_SUSPECT_FROM && !limits.allowEmpty) {
    return `the source lists nothing that is wanted, although ${before} items are known`;
  }
  const [missing, known] = [lost + justLeft, before + justLeft];
  const share = Math.floor((known * limits.maxRemovalsPercent) / 100);
  const allowed = Math.max(limits.maxRemovals, share);
  if (listed === 0 && limits.allowEmpty) return "";
  if (missing <= allowed) return "";
  const recently = justLeft > 0 ? `, with the ${justLeft} that left in the last minutes` : "";
  return `${missing} of ${known} items would be removed${recently}, more than the ${allowed} allowed in one run`;
}
