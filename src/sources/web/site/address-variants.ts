import type { ItemId } from "../../../contracts/ids.ts";
import type { IngestItem, Registry } from "../../../contracts/registry.ts";
import type { Visit, VisitOptions } from "../../../contracts/web.ts";
import { readDatedAddress } from "../../../plan/web/dated-pages.ts";
import { type Identity, type IdentityRules, identifyUrl, isTwin } from "../../../plan/web/item-identity.ts";
import { contentKeyOf, hasDocument } from "../../../plan/web/item-state.ts";
import type { Frontier, WaitingPage } from "./frontier.ts";
import { isPresent } from "./list-visit.ts";

/** Duplicates at one path before a parameter counts as irrelevant there. */
const ENOUGH = 3;
/** Paths where a parameter is irrelevant, after which one duplicate is enough at the next path. */
const PATHS_ALIKE = 3;
const MAX_GROUPS = 50_000;
const MAX_VARIANTS = 10_000;
/** URLs of a path with which a URL of another text is compared. */
const COMPARED = 16;
const MAX_PARAMETERS = 8;
/** Links of one page that differ in the same parameters: from this number on, a list of different pages. */
const LISTED = 3;

export type DuplicateOf = NonNullable<VisitOptions["duplicateOf"]>;

interface Variant {
  id: ItemId;
  readonly url: string;
  /** Resolves when the registry has the item. */
  readonly isNoted: Promise<void>;
}

export interface Turn {
  /** Resolves when all earlier visits of the path have ended. */
  readonly before: Promise<void>;
  end(): void;
}

/** A URL without its irrelevant parameters. */
interface Reduced {
  readonly url: string;
  readonly host: string;
  /** The removed parameters, and the path. */
  readonly names: string;
  readonly group: string;
}

/** What the crawl knows of the URLs of one path. */
interface Group {
  /** By content. */
  readonly variants: Map<string, Variant>;
  /** URLs of the first ones. */
  readonly compared: string[];
  /** Parameters that differed while the content was the same, and how often. */
  readonly alike: Map<string, number>;
  /** Parameters that differed, as the only difference, while the content differed. */
  readonly telling: Set<string>;
}

/**
 * Finds duplicates among URLs of one path that differ in their query or are index pages. The content decides whether
 * they are one page; so session and tracking parameters are recognised, whatever their names.
 */
export class AddressVariants {
  readonly #registry: Registry;
  readonly #rules: IdentityRules;
  readonly #groups = new Map<string, Group>();
  /** By `host parameters`: number of paths where they are irrelevant. */
  readonly #paths = new Map<string, number>();
  readonly #duplicates = new Set<ItemId>();
  /** By path: the end of all visits that have begun. */
  readonly #turns = new Map<string, Promise<void>>();
  #isUseful = false;

  constructor(registry: Registry, rules: IdentityRules) {
    this.#registry = registry;
    this.#rules = rules;
  }

  /** Takes the next turn among the URLs of a path. Call it in the order in which they were found. */
  takeTurn(url: string): Turn {
    const group = this.#identify(url)?.contentGroupId ?? "";
    const before = this.#turns.get(group) ?? Promise.resolve();
    const { promise, resolve: end } = Promise.withResolvers<void>();
    const all = Promise.all([before, promise]).then(() => {
      if (this.#turns.get(group) === all) this.#turns.delete(group);
    });
    this.#turns.set(group, all);
    return { before, end };
  }

  /**
   * Runs a visit that may call `duplicateOf`. The first URL with a content is the page; visits that find the same content wait
   * until it is in the registry. `before`: earlier visits of the path, whichever answers first.
   */
  async during<T>(visit: (duplicateOf: DuplicateOf) => Promise<T>, before?: Promise<unknown>): Promise<T> {
    let release = (): void => undefined;
    try {
      return await visit(async (found, url, content) => {
        release();
        await before;
        const { promise: isNoted, resolve } = Promise.withResolvers<void>();
        release = resolve;
        return this.#duplicateOf(found, contentKeyOf(content), { id: found.id, url, isNoted });
      });
    } finally {
      release();
    }
  }

  /** Returns the item with the same content under another URL of the path; undefined: this is the first. */
  async #duplicateOf(found: IngestItem, contentKey: string, variant: Variant): Promise<IngestItem | undefined> {
    const { url } = variant;
    const group = this.#groupOf(found);
    const earlier = group.variants.get(contentKey);
    if (earlier?.id === found.id) return undefined;
    if (earlier) {
      await earlier.isNoted;
      const duplicate = await this.#documentOf(earlier.id, contentKey);
      return duplicate && this.#noteDuplicate(group, found, { url, other: earlier.url, duplicate });
    }
    for (const other of group.compared) group.telling.add(differenceOf(url, other));
    if (group.compared.length < COMPARED) group.compared.push(url);
    if (group.variants.size < MAX_VARIANTS) group.variants.set(contentKey, variant);
    const known = await this.#findKnownDuplicate(found, url, contentKey);
    if (!known) return undefined;
    variant.id = known.duplicate.id;
    return this.#noteDuplicate(group, found, { url, ...known });
  }

  /** Whether this URL was a duplicate. */
  isDuplicate(id: ItemId): boolean {
    return this.#duplicates.has(id);
  }

  /** Returns the URL without irrelevant parameters; undefined if it has none. `listed`: parameters that distinguish it in a list. */
  reduce(url: string, listed = ""): Reduced | undefined {
    if (!this.#isUseful || !url.includes("?")) return undefined;
    const identity = this.#identify(url);
    const group = identity && this.#groups.get(identity.contentGroupId);
    if (!group) return undefined;
    const reduced = new URL(url);
    const dropped: string[] = [];
    for (const [names, count] of group.alike) {
      if (names === listed || group.telling.has(names) || count < this.#needed(url, names)) continue;
      const present = names
        .split("&")
        .map(decodeURIComponent)
        .filter((name) => reduced.searchParams.has(name));
      for (const name of present) reduced.searchParams.delete(name);
      if (present.length > 0) dropped.push(names);
    }
    if (dropped.length === 0) return undefined;
    return { url: reduced.href, host: reduced.host, names: dropped.join(" "), group: identity.contentGroupId };
  }

  /** Marks the parameters as relevant: one of the skipped URLs was a page of its own. */
  cancel({ group: id, names }: Pick<Reduced, "group" | "names">): void {
    const group = this.#groups.get(id);
    for (const name of names.split(" ")) group?.telling.add(name);
  }

  /** Finds a duplicate from earlier crawls: the item it was an alias of, its URL without one or all parameters, or the one it is a twin of. */
  async #findKnownDuplicate(
    found: IngestItem,
    url: string,
    contentKey: string,
  ): Promise<{ readonly duplicate: IngestItem; readonly other: string } | undefined> {
    const page = found.aliasOf && (await this.#documentOf(found.aliasOf, contentKey));
    if (page) return { duplicate: page, other: page.foundSource };
    const shorter = [...(isTwin(found) ? [url] : []), ...shorterThan(url)];
    const ids = shorter.flatMap((shortUrl) => this.#identify(shortUrl)?.id ?? []);
    const records = ids.length === 0 ? [] : await this.#registry.getMany(ids);
    for (const [at, record] of records.entries()) {
      const id = record?.item.aliasOf || record?.item.id;
      const duplicate = id && id !== found.id ? await this.#documentOf(id, contentKey) : undefined;
      if (duplicate) return { duplicate, other: shorter[at] ?? url };
    }
    return undefined;
  }

  async #documentOf(id: ItemId, contentKey: string): Promise<IngestItem | undefined> {
    const item = (await this.#registry.get(id))?.item;
    return item && hasDocument(item) && contentKeyOf(item.content) === contentKey ? item : undefined;
  }

  /** Counts a duplicate. A known document that became one says nothing about parameters. */
  #noteDuplicate(
    group: Group,
    found: IngestItem,
    { url, other, duplicate }: { readonly url: string; readonly other: string; readonly duplicate: IngestItem },
  ): IngestItem {
    if (hasDocument(found)) return duplicate;
    this.#duplicates.add(found.id);
    const names = differenceOf(url, other);
    if (names === "" || isOtherDate(url, other)) return duplicate;
    const count = (group.alike.get(names) ?? 0) + 1;
    group.alike.set(names, count);
    this.#isUseful = true;
    const rule = `${new URL(url).host} ${names}`;
    if (count === ENOUGH && !group.telling.has(names)) this.#paths.set(rule, (this.#paths.get(rule) ?? 0) + 1);
    return duplicate;
  }

  #needed(url: string, names: string): number {
    return (this.#paths.get(`${new URL(url).host} ${names}`) ?? 0) >= PATHS_ALIKE ? 1 : ENOUGH;
  }

  #identify(url: string): Identity | undefined {
    try {
      return identifyUrl(url, this.#rules);
    } catch {
      return undefined;
    }
  }

  #groupOf(identity: Identity): Group {
    const known = this.#groups.get(identity.contentGroupId);
    if (known) return known;
    const [oldest] = this.#groups.keys();
    if (this.#groups.size >= MAX_GROUPS && oldest !== undefined) this.#groups.delete(oldest);
    const group = { variants: new Map(), compared: [], alike: new Map(), telling: new Set<string>() };
    this.#groups.set(identity.contentGroupId, group);
    return group;
  }
}

/** Returns the links that form a list, and the parameters in which they differ. */
export function listedIn(links: readonly string[]): ReadonlyMap<string, string> {
  const listed = new Map<string, string>();
  const withQuery = links.filter((link) => link.includes("?"));
  for (const urls of Map.groupBy(withQuery, (url) => url.slice(0, url.indexOf("?"))).values()) {
    if (urls.length < LISTED) continue;
    const [first = ""] = urls;
    const alike = new Map<string, Set<string>>();
    for (const [at, url] of urls.entries()) {
      for (const other of [first, urls[at - 1] ?? first]) {
        const names = differenceOf(url, other);
        if (names !== "") alike.set(names, (alike.get(names) ?? new Set()).add(url).add(other));
      }
    }
    const lists = [...alike].filter(([, members]) => members.size >= LISTED);
    // The link differs from others in several ways; the shortest difference wins.
    lists.sort(([first], [other]) => other.length - first.length);
    for (const [names, members] of lists) for (const url of members) listed.set(url, names);
  }
  return listed;
}

/** Returns the names of parameters with different values, or in one URL only: `a&b`. */
function differenceOf(first: string, other: string): string {
  const [a, b] = [new URL(first).searchParams, new URL(other).searchParams];
  const names = [...new Set([...a.keys(), ...b.keys()])];
  const differing = names.filter((name) => a.getAll(name).join("\n") !== b.getAll(name).join("\n"));
  return differing.map(encodeURIComponent).sort().join("&");
}

/** Whether the URLs differ in a date: two empty months of a calendar say nothing about the next. */
function isOtherDate(url: string, other: string): boolean {
  const [first, second] = [readDatedAddress(url), readDatedAddress(other)];
  return first !== undefined && first.family === second?.family && !first.isStamp;
}

/** Returns the URL without each of its parameters, and without all of them. */
function shorterThan(url: string): string[] {
  const { searchParams } = new URL(url);
  const names = [...new Set(searchParams.keys())];
  if (names.length === 0 || names.length > MAX_PARAMETERS) return [];
  const without = (dropped: readonly string[]): string => {
    const shorter = new URL(url);
    for (const name of dropped) shorter.searchParams.delete(name);
    return shorter.href;
  };
  return [...names.map((name) => without([name])), ...(names.length > 1 ? [without(names)] : [])];
}

/** Visits that test whether parameters are irrelevant: more if more URLs were skipped, fewer if several pages agree. */
const SAMPLES = 4;
const SEVERAL_PAGES = 3;
const MORE_FOR_FEW = 4;

interface SkippedPage {
  readonly page: WaitingPage;
  /** The URL that is visited instead. */
  readonly instead: ItemId;
  readonly reduced: Reduced;
}

/** URLs that were skipped because their parameters seem irrelevant. Samples of them are visited at the end; if one differs, all are visited. */
export class SkippedVariants {
  readonly #max: number;
  readonly #variants: AddressVariants;
  readonly #frontier: Frontier;
  readonly #pages = new Map<ItemId, SkippedPage>();
  /** Pages that are or were visited as samples. */
  readonly #tried = new Map<ItemId, SkippedPage>();
  /** URLs that lead to a page. */
  readonly #shown = new Set<ItemId>();
  /** Tested rules: `host names`. */
  readonly #tested = new Set<string>();
  readonly #back: WaitingPage[] = [];
  /** Number of skipped URLs that were not recorded because the limit was reached. */
  #dropped = 0;

  constructor(max: number, variants: AddressVariants, frontier: Frontier) {
    this.#max = max;
    this.#variants = variants;
    this.#frontier = frontier;
  }

  get count(): number {
    return this.#pages.size + this.#dropped;
  }

  /** Returns the URL to visit instead; undefined: the page is not skipped. */
  pass(page: WaitingPage): string | undefined {
    const reduced = page.isCertain ? undefined : this.#variants.reduce(page.url, page.listed);
    if (!reduced) return undefined;
    const instead = this.#frontier.identify(reduced.url) ?? page.id;
    if (this.#pages.size < this.#max) this.#pages.set(page.id, { page, reduced, instead });
    else this.#dropped += 1;
    return reduced.url;
  }

  note({ id }: WaitingPage, { outcome, item }: Pick<Visit, "outcome" | "item">): void {
    if (!isPresent(outcome)) return;
    this.#shown.add(id);
    const tried = this.#tried.get(id);
    if (!tried) return;
    if (!this.#shown.has(tried.instead)) this.#shown.add(tried.instead);
    else if (item.id === id) this.#giveUp(tried.reduced);
  }

  /** Returns skipped pages to visit after all, when the frontier is empty; [] at the end. */
  next(): WaitingPage[] {
    const back = this.#back.splice(0);
    if (back.length > 0) return back;
    const orphans = this.#orphans();
    return this.#take(orphans.length > 0 ? orphans : this.#samples());
  }

  /** Returns one page for each URL that does not exist without its parameters. */
  #orphans(): SkippedPage[] {
    const orphans = new Map<ItemId, SkippedPage>();
    for (const skipped of this.#pages.values()) {
      if (!this.#shown.has(skipped.instead) && !orphans.has(skipped.instead)) orphans.set(skipped.instead, skipped);
    }
    return [...orphans.values()];
  }

  #samples(): SkippedPage[] {
    const samples: SkippedPage[] = [];
    for (const [rule, pages] of Map.groupBy(this.#pages.values(), ruleOf)) {
      if (this.#tested.has(rule)) continue;
      this.#tested.add(rule);
      const isForSeveral = new Set(pages.map(({ instead }) => instead)).size >= SEVERAL_PAGES;
      const wanted = (SAMPLES + Math.ceil(Math.sqrt(pages.length))) * (isForSeveral ? 1 : MORE_FOR_FEW);
      const count = Math.min(pages.length, wanted);
      for (let i = 0; i < count; i++) samples.push(...pages.slice(Math.floor((i * pages.length) / count)).slice(0, 1));
    }
    return samples;
  }

  #take(pages: readonly SkippedPage[]): WaitingPage[] {
    for (const skipped of pages) {
      this.#pages.delete(skipped.page.id);
      this.#tried.set(skipped.page.id, skipped);
    }
    return pages.map(({ page }) => ({ ...page, isCertain: true }));
  }

  #giveUp(reduced: Reduced): void {
    this.#variants.cancel(reduced);
    this.#frontier.drop(this.#dropped);
    this.#dropped = 0;
    const cancelled = new Set(reduced.names.split(" "));
    for (const skipped of this.#pages.values()) {
      const { group, names, host } = skipped.reduced;
      if (host !== reduced.host || !names.split(" ").some((name) => cancelled.has(name))) continue;
      // At other paths the parameters may still be irrelevant: test the rule again.
      this.#tested.delete(ruleOf(skipped));
      if (group !== reduced.group) continue;
      this.#pages.delete(skipped.page.id);
      this.#back.push(skipped.page);
    }
  }
}

/** Parameters that are irrelevant at several paths of a host are tested together. */
function ruleOf({ reduced: { host, names } }: SkippedPage): string {
  return `${host} ${names}`;
}
