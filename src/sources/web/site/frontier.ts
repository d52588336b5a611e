import type { ItemId } from "../../../contracts/ids.ts";
import type { Visit } from "../../../contracts/web.ts";
import { type IdentityRules, identifyUrl } from "../../../plan/web/item-identity.ts";

/** A URL that waits to be visited. */
export interface WaitingPage {
  readonly id: ItemId;
  readonly url: string;
  /** Number of links from a start URL. */
  readonly depth: number;
  /** Parameters that distinguish it from other links of a list. */
  readonly listed?: string;
  /** Resumes a suspended visit after the other pages were visited. */
  readonly resume?: Visit["resume"];
  /** Whether it is visited even if it seems to be a variant of a known page. */
  readonly isCertain?: boolean;
}

/** Returns the next page; `isIdle`: no visit is under way. */
export type TakePage = (options: { readonly isIdle: boolean }) => WaitingPage | undefined;

interface Level {
  readonly pages: WaitingPage[];
  next: number;
}

/** Limit of the cache of seen spellings. Beyond it, links are identified again, which only takes longer. */
const MAX_SPELLINGS = 200_000;
const MAX_SPELLING_CHARACTERS = 200;

/**
 * The URLs of a crawl, each once, however it is spelt. Visits them level by level: all of one depth before the first of the
 * next, so the depth of a page is its shortest path, not the fastest.
 */
export class Frontier {
  readonly #rules: IdentityRules;
  readonly #maxWaiting: number;
  readonly #seen = new Set<ItemId>();
  readonly #spellings = new Set<string>();
  readonly #levels: Level[] = [];
  #depth = 0;
  #waiting = 0;
  #dropped = 0;

  constructor(rules: IdentityRules, maxWaiting: number) {
    this.#rules = rules;
    this.#maxWaiting = maxWaiting;
  }

  /** Whether this exact spelling was seen. Cheap check first: most links of a page are on every page. */
  hasSeenSpelling(url: string): boolean {
    if (this.#spellings.has(url)) return true;
    const isCached = this.#spellings.size < MAX_SPELLINGS && url.length <= MAX_SPELLING_CHARACTERS;
    if (isCached) this.#spellings.add(url);
    return false;
  }

  /** Returns undefined for an invalid URL. */
  identify(url: string): ItemId | undefined {
    try {
      return identifyUrl(url, this.#rules).id;
    } catch {
      return undefined;
    }
  }

  hasSeen(id: ItemId): boolean {
    return this.#seen.has(id);
  }

  /** Marks an item that was visited, or is an alias of one that was. */
  markSeen(id: ItemId): void {
    this.#seen.add(id);
  }

  add(page: WaitingPage): void {
    if (this.#seen.has(page.id)) return;
    if (this.#waiting >= this.#maxWaiting) {
      this.#dropped += 1;
      return;
    }
    this.#seen.add(page.id);
    const level = this.#levels[page.depth] ?? { pages: [], next: 0 };
    level.pages.push(page);
    this.#levels[page.depth] = level;
    this.#depth = Math.min(this.#depth, page.depth);
    this.#waiting += 1;
  }

  /** Returns the next page. `isIdle`: no visit is under way, so no more pages of this depth can be found. */
  take({ isIdle, upTo = Infinity }: { readonly isIdle: boolean; readonly upTo?: number }): WaitingPage | undefined {
    for (; this.#depth < this.#levels.length && this.#depth <= upTo; this.#depth++) {
      const level = this.#levels[this.#depth];
      const page = level?.pages[level.next];
      if (level && page) {
        level.next += 1;
        this.#waiting -= 1;
        return page;
      }
      if (!isIdle) return undefined;
      delete this.#levels[this.#depth];
    }
    return undefined;
  }

  /** Counts pages that were taken but are not visited. */
  drop(count: number): void {
    this.#dropped += count;
  }

  get waiting(): number {
    return this.#waiting;
  }

  /** Number of URLs beyond the limit, and of those dropped later. */
  get dropped(): number {
    return this.#dropped;
  }
}
