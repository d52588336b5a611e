import type { ItemId } from "../../../contracts/ids.ts";
import type { Visit } from "../../../contracts/web.ts";
import { endsInSlash, type IdentityRules, identifyUrl } from "../../../plan/web/item-identity.ts";

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
  /** The how-manieth it was to be visited, set when it is taken. */
  readonly place?: number;
  /** Whether it is visited even if it seems to be a variant of a known page. */
  readonly isCertain?: boolean;
  /** See `identifyTwin`. */
  readonly isTwin?: boolean;
}

/** With or without a slash at the end. */
const Spelt = { not: 0, without: 1, withSlash: 2, both: 3 } as const;
type Spelt = number;

function speltAs(url: string): Spelt {
  return endsInSlash(url) ? Spelt.withSlash : Spelt.without;
}

/** Returns the next page; `isIdle`: no visit is under way. */
export type TakePage = (options: { readonly isIdle: boolean }) => WaitingPage | undefined;

interface Entry {
  readonly page: WaitingPage;
  rank: number;
}

interface Level {
  readonly entries: Entry[];
  next: number;
}

/** Pages behind all that have a rank. */
const UNRANKED = Number.MAX_SAFE_INTEGER;
const MAX_LINKS_RANKED = 100_000;

/** The rank of a link: by the page that has it, then by its position there. */
export function rankOf(place: number | undefined, position: number): number {
  return place === undefined ? UNRANKED : place * MAX_LINKS_RANKED + Math.min(position, MAX_LINKS_RANKED - 1);
}

/** Limit of the cache of seen spellings. Beyond it, links are identified again, which only takes longer. */
const MAX_SPELLINGS = 200_000;
const MAX_SPELLING_CHARACTERS = 200;

/**
 * The URLs of a crawl, each once, however it is spelt. Visits them level by level: all of one depth before the first of the
 * next, so the depth of a page is its shortest path, not the fastest; and those of one depth in the order of their links,
 * whichever page answered first.
 */
export class Frontier {
  readonly #rules: IdentityRules;
  readonly #maxWaiting: number;
  /** With the spellings in which links have it. */
  readonly #seen = new Map<ItemId, Spelt>();
  readonly #twins: WaitingPage[] = [];
  readonly #spellings = new Map<string, ItemId | "">();
  /** Pages of levels that have not begun. */
  readonly #entries = new Map<ItemId, Entry>();
  readonly #levels: Level[] = [];
  #depth = 0;
  #waiting = 0;
  #dropped = 0;
  #taken = 0;

  constructor(rules: IdentityRules, maxWaiting: number) {
    this.#rules = rules;
    this.#maxWaiting = maxWaiting;
  }

  /** The item of a link that was seen in this exact spelling, "" for none; undefined: it was not. Cheap check first: most links of a page are on every page. */
  ofSpelling(url: string): ItemId | "" | undefined {
    return this.#spellings.get(url);
  }

  noteSpelling(url: string, id: ItemId | ""): void {
    const isCached = this.#spellings.size < MAX_SPELLINGS && url.length <= MAX_SPELLING_CHARACTERS;
    if (isCached) this.#spellings.set(url, id);
  }

  /** Another link to a waiting page: the first one counts. */
  promote(id: ItemId | "", depth: number, rank: number): void {
    const entry = id === "" ? undefined : this.#entries.get(id);
    if (entry?.page.depth === depth) entry.rank = Math.min(entry.rank, rank);
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
    if (!this.#seen.has(id)) this.#seen.set(id, Spelt.not);
  }

  /** Whether links have the URL with and without a slash at its end. */
  isSpeltTwice(id: ItemId): boolean {
    return this.#seen.get(id) === Spelt.both;
  }

  /** Returns, once each, the pages that links spell with and without a slash at the end. */
  takeTwins(): WaitingPage[] {
    return this.#twins.splice(0);
  }

  add(page: WaitingPage, rank = UNRANKED): void {
    const known = this.#seen.get(page.id);
    const spelt = speltAs(page.url);
    if (known !== undefined) {
      this.promote(page.id, page.depth, rank);
      this.#seen.set(page.id, known | spelt);
      if ((known | spelt) === Spelt.both && known !== Spelt.both) this.#twins.push(page);
      return;
    }
    if (this.#waiting >= this.#maxWaiting) {
      this.#dropped += 1;
      return;
    }
    this.#seen.set(page.id, spelt);
    const entry = { page, rank };
    this.#entries.set(page.id, entry);
    const level = this.#levels[page.depth] ?? { entries: [], next: 0 };
    level.entries.push(entry);
    this.#levels[page.depth] = level;
    this.#depth = Math.min(this.#depth, page.depth);
    this.#waiting += 1;
  }

  /** Returns the next page. `isIdle`: no visit is under way, so no more pages of this depth can be found. */
  take({ isIdle, upTo = Infinity }: { readonly isIdle: boolean; readonly upTo?: number }): WaitingPage | undefined {
    for (; this.#depth < this.#levels.length && this.#depth <= upTo; this.#depth++) {
      const level = this.#levels[this.#depth];
      if (level?.next === 0) level.entries.sort((a, b) => a.rank - b.rank);
      const page = level?.entries[level.next]?.page;
      if (level && page) {
        level.next += 1;
        this.#waiting -= 1;
        this.#entries.delete(page.id);
        this.#taken += 1;
        return { ...page, place: this.#taken };
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
