import type { ItemId } from "../../../contracts/ids.ts";
import type { ContentState, IngestItem, Registry } from "../../../contracts/registry.ts";
import { readDatedAddress } from "../../../detect/web/dated-address.ts";
import { hasDocument } from "../../../detect/web/schedule-item.ts";
import { type Identity, type IdentityRules, identifyUrl } from "../../../detect/web/web-identity.ts";

/** So often the same was read behind other values before a parameter counts as one that makes no other page. */
const ENOUGH = 3;
/** Paths at which that was so, after which once is enough at the next one. */
const PATHS_ALIKE = 3;
const MAX_GROUPS = 50_000;
const MAX_VARIANTS = 16;
const MAX_PARAMETERS = 8;

interface Variant {
  readonly id: ItemId;
  readonly url: string;
  /** Of its text. */
  readonly likeness: string;
}

/** What is known of the addresses of one path. */
interface Group {
  readonly variants: Variant[];
  /** Parameters that were other ones while the text was the same, and how often. */
  readonly alike: Map<string, number>;
  /** Those with which the text was another one, all else being equal. */
  readonly telling: Set<string>;
  /** Whoever is looking at one of them. */
  turn: Promise<unknown>;
}

/**
 * Addresses of one path that differ in their query, or in being called an index page. What two of them show tells whether
 * they are one page: sessions, trackers and the like are known by that, whatever they are called.
 */
export class AddressVariants {
  readonly #registry: Registry;
  readonly #rules: IdentityRules;
  readonly #groups = new Map<string, Group>();
  /** `host parameters`: paths at which they make no other page. */
  readonly #paths = new Map<string, number>();
  #isUseful = false;

  constructor(registry: Registry, rules: IdentityRules) {
    this.#registry = registry;
    this.#rules = rules;
  }

  /** Those of one path one after the other: the first one that shows a text is the page. */
  async inTurn<T>(url: string, work: () => Promise<T>): Promise<T> {
    const group = this.#groupOf(this.#identify(url));
    if (!group) return await work();
    const before = group.turn;
    const mine = before.then(work, work);
    group.turn = mine.catch(() => undefined);
    return await mine;
  }

  /** The item that shows the same under another address of the path; undefined: it is the first. */
  async twinOf(found: Identity, url: string, content: ContentState): Promise<IngestItem | undefined> {
    const group = this.#groupOf(found);
    if (!group) return undefined;
    const likeness = likenessOf(content);
    const earlier = group.variants.find((each) => each.id !== found.id && each.likeness === likeness);
    if (earlier) {
      this.#noteAlike(group, url, earlier.url);
      return await this.#documentOf(earlier.id, likeness);
    }
    for (const each of group.variants) if (each.likeness !== likeness) group.telling.add(differenceOf(url, each.url));
    const twin = await this.#knownTwin(group, found, url, likeness);
    if (group.variants.length < MAX_VARIANTS) group.variants.push({ id: twin?.id ?? found.id, url, likeness });
    return twin;
  }

  /** The address without what makes no other page there. The same when nothing is known. */
  reduce(url: string): string {
    if (!this.#isUseful || !url.includes("?")) return url;
    const identity = this.#identify(url);
    const group = identity && this.#groups.get(identity.contentGroupId);
    if (!group) return url;
    const reduced = new URL(url);
    for (const [names, count] of group.alike) {
      if (group.telling.has(names) || count < this.#needed(url, names)) continue;
      for (const name of names.split("&")) reduced.searchParams.delete(decodeURIComponent(name));
    }
    return reduced.href;
  }

  /** Its address without one of its parameters, or without all of them, may have been the page before this crawl. */
  async #knownTwin(group: Group, found: Identity, url: string, likeness: string): Promise<IngestItem | undefined> {
    const shorter = shorterThan(url);
    const ids = shorter.flatMap((each) => this.#identify(each)?.id ?? []);
    const records = ids.length === 0 ? [] : await this.#registry.getMany(ids);
    for (const [at, record] of records.entries()) {
      const id = record?.item.aliasOf || record?.item.id;
      const twin = id && id !== found.id ? await this.#documentOf(id, likeness) : undefined;
      if (!twin) continue;
      this.#noteAlike(group, url, shorter[at] ?? url);
      return twin;
    }
    return undefined;
  }

  async #documentOf(id: ItemId, likeness: string): Promise<IngestItem | undefined> {
    const item = (await this.#registry.get(id))?.item;
    return item && hasDocument(item) && likenessOf(item.content) === likeness ? item : undefined;
  }

  #noteAlike(group: Group, url: string, other: string): void {
    const names = differenceOf(url, other);
    if (names === "" || isOtherDate(url, other)) return;
    const count = (group.alike.get(names) ?? 0) + 1;
    group.alike.set(names, count);
    this.#isUseful = true;
    const place = `${new URL(url).host} ${names}`;
    if (count === ENOUGH && !group.telling.has(names)) this.#paths.set(place, (this.#paths.get(place) ?? 0) + 1);
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

  #groupOf(identity: Identity | undefined): Group | undefined {
    if (!identity) return undefined;
    const known = this.#groups.get(identity.contentGroupId);
    if (known) return known;
    const [oldest] = this.#groups.keys();
    if (this.#groups.size >= MAX_GROUPS && oldest !== undefined) this.#groups.delete(oldest);
    const group = { variants: [], alike: new Map(), telling: new Set<string>(), turn: Promise.resolve() };
    this.#groups.set(identity.contentGroupId, group);
    return group;
  }
}

/** Of a page its text; of a file all of it, because what can be read of it need not be all. */
function likenessOf({ textHash, contentHash, documentType }: ContentState): string {
  return (documentType === "md" && textHash) || contentHash;
}

/** The names of the parameters that have other values, or are there only once: `a&b`. */
function differenceOf(one: string, other: string): string {
  const [a, b] = [new URL(one).searchParams, new URL(other).searchParams];
  const names = [...new Set([...a.keys(), ...b.keys()])];
  const differing = names.filter((name) => a.getAll(name).join("\n") !== b.getAll(name).join("\n"));
  return differing.map(encodeURIComponent).sort().join("&");
}

/** One month that is empty like another says nothing of the next. */
function isOtherDate(url: string, other: string): boolean {
  const [one, two] = [readDatedAddress(url), readDatedAddress(other)];
  return one !== undefined && one.family === two?.family && !one.isStamp;
}

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
