import type { RemovalLimits } from "../contracts/domain.ts";
import type { ManifestEntry } from "../contracts/manifest.ts";
import { isExpired } from "./lineage/manifest-entry.ts";

/*
 * The three decisions to remove something of a source: leave() for items, purge() for documents, garbage() for leftovers. All automatic
 * removals go through one of them: callers find the candidates, and remove those in `go`. In doubt, everything stays. Only users erase
 * documents and delete domains, and a new version replaces the one before.
 */

/** A decision on candidates. */
export interface Removals<T> {
  /** To be removed now. */
  readonly go: readonly T[];
  /** Not removed now, because of the guard, a hold, or doubt. */
  readonly stay: readonly T[];
  /** Why the guard holds them; "" if it does not. */
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

/**
 * Decides on items that are gone at the source. Those that are no loss (nothing of them is stored, or they have a successor) are removed
 * even if the guard holds the others.
 */
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
 * Decides on documents whose grace period may be over. Of missing files, texts and vectors are deleted; of deleted ones, the manifest
 * entry. `stay`: expired, but locked by a hold. The index does not delete documents that a kept generation shows.
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
  /** Holds a large loss, which may mean that the ledger was lost. "none": for copies that can be fetched again. */
  readonly guard: (Loss & RemovalPolicy) | "none";
}

/** Decides on leftovers, to which nothing refers. */
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
