import type { ItemId } from "../../../contracts/ids.ts";
import type { Visit } from "../../../contracts/web.ts";
import { type IdentityRules, identifyUrl } from "../../../plan/web/item-identity.ts";

/** An address that waits to be looked at. */
export interface WaitingPage {
  readonly id: ItemId;
  readonly url: string;
  /** Links from a start address. */
  readonly depth: number;
  /** Parameters by which a list tells it from others. */
  readonly listed?: string;
  /** It was looked at, and is settled when the others were. */
  readonly resume?: Visit["resume"];
  /** Looked at although it seems to be another address of a page that is known. */
  readonly isCertain?: boolean;
}

/** The next one; `isIdle`: nothing is being looked at. */
export type TakePage = (options: { readonly isIdle: boolean }) => WaitingPage | undefined;

interface Level {
  readonly pages: WaitingPage[];
  next: number;
}

/** Spellings that are remembered so that they need not be told apart again; beyond that it only takes longer. */
const MAX_SPELLINGS = 200_000;
const MAX_SPELLING_CHARACTERS = 200;

/**
 * The addresses of a crawl, each once, however it is spelt. They are looked at in the order of their depth: all of one depth
 * before the first of the next, so the shortest way to a page decides how deep it is, not the quickest.
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

  /** Was this very spelling met before? The cheapest question first: most links of a page are on every page. */
  hasSeenSpelling(url: string): boolean {
    if (this.#spellings.has(url)) return true;
    const isKept = this.#spellings.size < MAX_SPELLINGS && url.length <= MAX_SPELLING_CHARACTERS;
    if (isKept) this.#spellings.add(url);
    return false;
  }

  /** undefined: it is no address. */
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

  /** It was looked at, or turned out to be something that was. */
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

  /** `isIdle`: nothing is being looked at, so nothing of this depth can be found any more. */
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

  /** So many were taken, and are not looked at after all. */
  drop(count: number): void {
    this.#dropped += count;
  }

  get waiting(): number {
    return this.#waiting;
  }

  /** Addresses there was no room for, and those that were given back. */
  get dropped(): number {
    return this.#dropped;
  }
}
