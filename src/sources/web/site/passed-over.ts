import type { ItemId } from "../../../contracts/ids.ts";
import type { Visit } from "../../../contracts/web.ts";
import type { AddressVariants, Reduced } from "./address-variants.ts";
import type { Frontier, WaitingPage } from "./frontier.ts";
import { isThere } from "./list-visit.ts";

/** Looks that test a guess: so many, and more where more was passed over. What is so for several pages needs fewer. */
const SAMPLES = 4;
const SEVERAL_PAGES = 3;
const MORE_FOR_FEW = 4;

interface Held {
  readonly page: WaitingPage;
  /** The address that was to be looked at instead. */
  readonly instead: ItemId;
  readonly reduced: Reduced;
}

/** Addresses that were passed over because of what others of their path show. That is a guess: it is tested, and given up when one differs. */
export class PassedOver {
  readonly #max: number;
  readonly #variants: AddressVariants;
  readonly #frontier: Frontier;
  readonly #held = new Map<ItemId, Held>();
  /** Those that are looked at now, or were, to test a rule. */
  readonly #tried = new Map<ItemId, Held>();
  /** Addresses behind which there is a page. */
  readonly #shown = new Set<ItemId>();
  /** `host names` that were tested. */
  readonly #tested = new Set<string>();
  readonly #back: WaitingPage[] = [];
  /** Those there was no room for. */
  #dropped = 0;

  constructor(max: number, variants: AddressVariants, frontier: Frontier) {
    this.#max = max;
    this.#variants = variants;
    this.#frontier = frontier;
  }

  get count(): number {
    return this.#held.size + this.#dropped;
  }

  /** The address that is to be looked at instead; undefined: it is not passed over. */
  pass(page: WaitingPage): string | undefined {
    const reduced = page.isCertain ? undefined : this.#variants.reduce(page.url, page.listed);
    if (!reduced) return undefined;
    const instead = this.#frontier.identify(reduced.url) ?? page.id;
    if (this.#held.size < this.#max) this.#held.set(page.id, { page, reduced, instead });
    else this.#dropped += 1;
    return reduced.url;
  }

  note({ id }: WaitingPage, { outcome, item }: Pick<Visit, "outcome" | "item">): void {
    if (!isThere(outcome)) return;
    this.#shown.add(id);
    const tried = this.#tried.get(id);
    if (!tried) return;
    if (!this.#shown.has(tried.instead)) this.#shown.add(tried.instead);
    else if (item.id === id) this.#giveUp(tried.reduced);
  }

  /** What is looked at after all, now that nothing else waits. [] at the end. */
  next(): WaitingPage[] {
    const back = this.#back.splice(0);
    if (back.length > 0) return back;
    const orphans = this.#orphans();
    return this.#take(orphans.length > 0 ? orphans : this.#samples());
  }

  /** One for each address that is not there without its parameters. */
  #orphans(): Held[] {
    const orphans = new Map<ItemId, Held>();
    for (const held of this.#held.values()) {
      if (!this.#shown.has(held.instead) && !orphans.has(held.instead)) orphans.set(held.instead, held);
    }
    return [...orphans.values()];
  }

  #samples(): Held[] {
    const samples: Held[] = [];
    for (const [place, held] of Map.groupBy(this.#held.values(), placeOf)) {
      if (this.#tested.has(place)) continue;
      this.#tested.add(place);
      const isForSeveral = new Set(held.map(({ instead }) => instead)).size >= SEVERAL_PAGES;
      const wanted = (SAMPLES + Math.ceil(Math.sqrt(held.length))) * (isForSeveral ? 1 : MORE_FOR_FEW);
      const count = Math.min(held.length, wanted);
      for (let i = 0; i < count; i++) samples.push(...held.slice(Math.floor((i * held.length) / count)).slice(0, 1));
    }
    return samples;
  }

  #take(some: readonly Held[]): WaitingPage[] {
    for (const held of some) {
      this.#held.delete(held.page.id);
      this.#tried.set(held.page.id, held);
    }
    return some.map(({ page }) => ({ ...page, isCertain: true }));
  }

  #giveUp(reduced: Reduced): void {
    this.#variants.cancel(reduced);
    this.#frontier.drop(this.#dropped);
    this.#dropped = 0;
    const cancelled = new Set(reduced.names.split(" "));
    for (const held of this.#held.values()) {
      const { group, names, host } = held.reduced;
      if (host !== reduced.host || !names.split(" ").some((each) => cancelled.has(each))) continue;
      // At other paths it may make no other page: that is tested once more.
      this.#tested.delete(placeOf(held));
      if (group !== reduced.group) continue;
      this.#held.delete(held.page.id);
      this.#back.push(held.page);
    }
  }
}

/** What makes no other page at several paths of a host is tested for them together. */
function placeOf({ reduced: { host, names } }: Held): string {
  return `${host} ${names}`;
}
