import type { InspectedPage } from "../../../contracts/web.ts";
import { type WithoutSlots, withoutSlots } from "../../../plan/web/session-slots.ts";
import type { WaitingPage } from "./frontier.ts";

/** Different texts that were the same with and without a session, after which it is left out unseen. */
const ENOUGH = 3;
/** Comparisons with other values: one may be the default of what tells pages apart. */
const OTHER_VALUES = 3;
/** Values compared at each address: an id may be of no account at one address, and tell pages apart at the next. */
const AT_EACH = 2;
/** Addresses at which values that several of them share are compared: sessions are shared, ids seldom are. */
const MANY = 50;
/** Values that are remembered. */
const MAX_VALUES = 50_000;
/** Comparisons that said nothing, after which none is made. */
const MAX_UNKNOWN = 5;
const MAX_RULES = 200;

/** Something that may be a session on one host, and what comparing said of it. */
interface Rule {
  /** By address without it: the values that were compared, and what the address showed. */
  readonly compared: Map<string, { readonly values: Set<string>; readonly likeness: string }>;
  /** By value: the address without it, "" for several. */
  readonly addresses: Map<string, string>;
  readonly texts: Set<string>;
  /** The first values that made no difference. */
  readonly values: Set<string>;
  passed: number;
  unknown: number;
  isRefuted: boolean;
  /** One comparison at a time. */
  turn: Promise<unknown>;
}

type Left = Pick<WaitingPage, "url" | "depth">;

/**
 * Finds sessions in addresses by looking at pages with and without them. Where that makes no difference, pages are visited
 * without: so they keep their identity when the session changes, and each is visited once.
 */
export class SessionAddresses {
  readonly #inspect: (url: string) => Promise<InspectedPage | undefined>;
  readonly #maxLeft: number;
  readonly #rules = new Map<string, Rule>();
  /** Addresses left out for a rule, to be visited should it be refuted. */
  readonly #left = new Map<Rule, Left[]>();
  readonly #back: Left[] = [];
  #leftCount = 0;
  #dropped = 0;

  constructor(inspect: (url: string) => Promise<InspectedPage | undefined>, maxLeft: number) {
    this.#inspect = inspect;
    this.#maxLeft = maxLeft;
  }

  /** Returns the address to follow: without a session, if it is certain that this is one. */
  pass(page: Left): string {
    for (const choice of withoutSlots(page.url)) {
      const rule = this.#ruleOf(choice);
      if (!rule || rule.isRefuted) continue;
      noteAddress(rule, choice);
      if (this.#isToCompare(rule, choice)) continue;
      this.#leave(rule, page);
      return choice.url;
    }
    return page.url;
  }

  /** The same before a visit. Compares where it is uncertain. */
  async settle(page: Left): Promise<string> {
    for (const choice of withoutSlots(page.url)) {
      const rule = this.#ruleOf(choice);
      if (!rule) continue;
      const turn = rule.turn.then(() => this.#isSession(rule, choice, page));
      rule.turn = turn.catch(() => undefined);
      if (await turn) return choice.url;
    }
    return page.url;
  }

  /** Addresses that were left out by mistake, and how many of those are not known any more. */
  takeBack(): { readonly left: readonly Left[]; readonly dropped: number } {
    const dropped = this.#dropped;
    this.#dropped = 0;
    return { left: this.#back.splice(0), dropped };
  }

  async #isSession(rule: Rule, choice: WithoutSlots, page: Left): Promise<boolean> {
    if (rule.isRefuted) return false;
    if (!this.#isToCompare(rule, choice)) {
      this.#leave(rule, page);
      return true;
    }
    const here = rule.compared.get(choice.url);
    const verdict = await this.#compare(choice.url, page.url, here?.likeness);
    if (verdict === "unknown") rule.unknown += 1;
    if (verdict === "different" || rule.unknown > MAX_UNKNOWN) this.#refute(rule);
    if (typeof verdict === "string") return false;
    if (rule.values.size <= OTHER_VALUES) rule.values.add(choice.values);
    rule.compared.set(choice.url, {
      values: (here?.values ?? new Set()).add(choice.values),
      likeness: verdict.likeness,
    });
    rule.texts.add(verdict.likeness);
    this.#leave(rule, page);
    return true;
  }

  /** `shown`: what the address without it showed before. */
  async #compare(without: string, url: string, shown?: string): Promise<InspectedPage | "different" | "unknown"> {
    const seen = shown === undefined ? undefined : await this.#inspect(url);
    if (seen && seen.likeness === shown) return seen;
    const plain = await this.#inspect(without);
    const given = plain && (await this.#inspect(url));
    if (!given || given.likeness === "") return "unknown";
    if (plain.likeness === given.likeness) return given;
    // A page that is never the same twice says nothing.
    return (await this.#inspect(url))?.likeness === given.likeness ? "different" : "unknown";
  }

  /** Enough different texts, the first other values, the first of each address, and later ever fewer. */
  #isToCompare({ compared, addresses, texts, values: known, passed }: Rule, { url, values }: WithoutSlots): boolean {
    const here = compared.get(url);
    if (here?.values.has(values)) return false;
    if (texts.size < ENOUGH && !here) return true;
    if (known.size <= OTHER_VALUES && !known.has(values)) return true;
    const isShared = addresses.get(values) === "";
    if ((here?.values.size ?? 0) < AT_EACH && (!isShared || compared.size < MANY)) return true;
    return passed > 2 * ENOUGH && Number.isInteger(Math.log2(passed));
  }

  #leave(rule: Rule, { url, depth }: Left): void {
    rule.passed += 1;
    if (this.#leftCount >= this.#maxLeft) return;
    this.#leftCount += 1;
    const left = this.#left.get(rule) ?? [];
    left.push({ url, depth });
    this.#left.set(rule, left);
  }

  #refute(rule: Rule): void {
    rule.isRefuted = true;
    const left = this.#left.get(rule) ?? [];
    this.#back.push(...left);
    this.#dropped += rule.passed - left.length;
    this.#leftCount -= left.length;
    this.#left.delete(rule);
  }

  #ruleOf({ url, names }: WithoutSlots): Rule | undefined {
    const key = `${new URL(url).origin} ${names}`;
    const known = this.#rules.get(key);
    if (known || this.#rules.size >= MAX_RULES) return known;
    const rule: Rule = {
      compared: new Map(),
      addresses: new Map(),
      texts: new Set(),
      values: new Set(),
      passed: 0,
      unknown: 0,
      isRefuted: false,
      turn: Promise.resolve(),
    };
    this.#rules.set(key, rule);
    return rule;
  }
}

function noteAddress({ addresses }: Rule, { url, values }: WithoutSlots): void {
  const known = addresses.get(values);
  if (known === undefined && addresses.size < MAX_VALUES) addresses.set(values, url);
  else if (known !== undefined && known !== url) addresses.set(values, "");
}
