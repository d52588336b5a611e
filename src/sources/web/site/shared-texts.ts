import type { RemovalLimits } from "../../../contracts/domain.ts";
import type { ItemId } from "../../../contracts/ids.ts";
import type { Likeness } from "../../../contracts/web.ts";

/** So few pages may become equal at any time. */
const A_FEW = 2;
/** They are held in memory. */
const MAX_WAITING = 100;

/**
 * Pages of one crawl that used to differ, by what they show now. Many that show the same are a site that shows everybody its maintenance,
 * consent or parking page; how many are many is what the removal guard would have asked about, or less.
 */
export class SharedTexts {
  readonly #allowed: number;
  /** What is shown now: what was shown before. */
  readonly #before = new Map<string, Set<string>>();
  readonly #waiting = new Set<ItemId>();

  constructor(known: number, { maxRemovals, maxRemovalsPercent }: RemovalLimits) {
    const limit = Math.min(maxRemovals, Math.floor((known * maxRemovalsPercent) / 100), MAX_WAITING - 1);
    this.#allowed = Math.max(A_FEW, limit);
  }

  /** How many pages show the same, 0 for few; undefined: few so far, which says little before the others were looked at. */
  count(id: ItemId, likenesses: readonly Likeness[]): number | undefined {
    const counts = likenesses.map(({ now, before }) => {
      const pages = this.#before.get(now) ?? new Set();
      if (before !== "") this.#before.set(now, pages.add(before));
      return pages.size;
    });
    const count = Math.max(0, ...counts);
    if (count > this.#allowed) return count;
    const isKnown = likenesses.some(({ before }) => before !== "");
    if (!isKnown || (this.#waiting.size >= MAX_WAITING && !this.#waiting.has(id))) return 0;
    this.#waiting.add(id);
    return undefined;
  }
}
