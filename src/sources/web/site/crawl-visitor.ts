import type { RemovalLimits } from "../../../contracts/domain.ts";
import type { ItemId } from "../../../contracts/ids.ts";
import type { IngestItem } from "../../../contracts/registry.ts";
import type { CrawledPage, SiteMemory } from "../../../contracts/site-memory.ts";
import type { TextChange, Visit, VisitOptions } from "../../../contracts/web.ts";
import { readDatedAddress } from "../../../plan/web/dated-pages.ts";
import { isTwin } from "../../../plan/web/item-identity.ts";
import type { WebSourceConfig } from "../web-source-codec.ts";
import { AddressVariants, type DuplicateOf } from "./address-variants.ts";
import type { WaitingPage } from "./frontier.ts";
import { isDocument } from "./list-visit.ts";
import type { WebTools } from "./open-web-site.ts";
import { SessionAddresses } from "./session-addresses.ts";
import type { CrawlStart } from "./site-crawl.ts";
import type { SiteScope } from "./site-scope.ts";

type PageLinks = Pick<CrawledPage, "id" | "links" | "feeds" | "undated" | "isBlind">;

interface VisitedPage {
  readonly visit: Visit;
  /** The links of the page, and of pages that redirected to it. */
  readonly read: readonly PageLinks[];
}

/** Further links of a page are ignored. */
const MAX_LINKS = 20_000;
const MAX_DATES = 500_000;

/** Visits the pages of one crawl. */
export class CrawlVisitor {
  readonly #tools: WebTools;
  readonly #scope: SiteScope;
  readonly #memory: SiteMemory;
  readonly #options: Omit<VisitOptions, "force" | "inScope">;
  /** Modification dates from sitemaps. */
  readonly #dates = new Map<ItemId, string>();
  readonly variants: AddressVariants;
  readonly sessions: SessionAddresses;

  constructor(
    { images, limits }: WebSourceConfig,
    tools: WebTools,
    scope: SiteScope,
    { memory, members, blocked }: CrawlStart,
    { isFresh, signal, maxLeft }: Required<Pick<VisitOptions, "isFresh" | "signal">> & { readonly maxLeft: number },
  ) {
    this.#tools = tools;
    this.#scope = scope;
    this.#memory = memory;
    this.variants = new AddressVariants(tools.registry, tools.rules);
    const { dryRun, log: tell } = tools;
    const shared = new SharedTexts(members.size, limits);
    const countSharedText: VisitOptions["countSharedText"] = (id, textChanges) => shared.count(id, textChanges);
    const isErased = (id: ItemId): boolean => blocked?.hasItem(id) ?? false;
    // `crawl` only tells the visits of this crawl from others.
    const usual = { crawl: this, isErased, dryRun, tell, signal };
    const inScope = (target: string): boolean => scope.has(target);
    this.sessions = new SessionAddresses((url) => tools.visitor.inspect(url, { ...usual, inScope }), maxLeft);
    const withoutSession = (url: string): Promise<string> => this.withoutSession({ url, depth: 0 });
    this.#options = { ...usual, includeImages: images, isFresh, countSharedText, withoutSession };
  }

  /** Records the modification date that a list gives for a page. */
  noteDate(id: ItemId | undefined, date: string): void {
    if (id && date !== "" && this.#dates.size < MAX_DATES) this.#dates.set(id, date);
  }

  /** Returns the address to visit. */
  async withoutSession(page: Pick<WaitingPage, "url" | "depth">): Promise<string> {
    const plain = await this.sessions.settle(page);
    return this.#scope.has(plain) ? plain : page.url;
  }

  async visitPage(page: WaitingPage, before: Promise<void>): Promise<VisitedPage> {
    const { resume } = page;
    const visit = await this.variants.during(
      (duplicateOf) => (resume ? resume({ duplicateOf }) : this.#visit(page, duplicateOf)),
      before,
    );
    const wasThere = visit.outcome === "failed" || (visit.outcome === "missing" && isDocument(visit.item));
    const own = visit.links.has(page.id) || wasThere ? visit.links.get(page.id) : [];
    const others = new Set([...visit.links.keys(), ...visit.aliases]);
    others.delete(page.id);
    const read: PageLinks[] = [];
    for (const id of [...others, page.id]) {
      const found = id === page.id ? own : visit.links.get(id);
      // A page that was not read again keeps its links.
      const known = found
        ? { links: found, feeds: visit.feeds, undated: visit.undated ?? "" }
        : await this.#memory.recall(id);
      // An unchanged page, such as the Markdown variant of a page, is remembered for the next crawl, too.
      if (!known && id !== page.id && !visit.links.has(id)) continue;
      const isBlind = !known || known.links.length > MAX_LINKS;
      const { links: all, feeds, undated } = known ?? { links: [], feeds: [], undated: "" };
      read.push({ id, links: this.#scope.linksOf(all.slice(0, MAX_LINKS)), feeds, undated, isBlind });
    }
    return { visit, read };
  }

  /** Visits an item that no page links to any more; its own links are ignored. `isLast`: all pages to compare it with were visited. */
  async visitMember(item: IngestItem, { isLast }: { readonly isLast: boolean }): Promise<Visit> {
    const inScope = (target: string): boolean => this.#scope.has(target);
    const options = { ...this.#options, inScope, isTwin: isTwin(item), force: this.#tools.force };
    return await this.variants.during(async (duplicateOf) => {
      const visit = await this.#tools.visitor.visit(item.foundSource, { ...options, duplicateOf });
      return (isLast && (await visit.resume?.({ duplicateOf }))) || visit;
    });
  }

  /** Whether links and undated text of the page are remembered. Otherwise a 304 would be of no use. */
  async #isRemembered(id: ItemId, url: string): Promise<boolean> {
    const known = await this.#memory.recall(id);
    return known !== undefined && (!readDatedAddress(url) || known.undated !== "" || known.links.length === 0);
  }

  async #visit({ id, url, depth, isTwin = false }: WaitingPage, duplicateOf: DuplicateOf): Promise<Visit> {
    const { visitor, force } = this.#tools;
    // Redirects from a start URL may lead through pages that include and exclude do not match.
    const inScope = (target: string): boolean => (depth === 0 ? this.#scope.isOfSite(target) : this.#scope.has(target));
    const more = { inScope, duplicateOf, isTwin, listedDate: this.#dates.get(id) };
    const options = { ...this.#options, ...more };
    const visit = await visitor.visit(url, { ...options, force: force || !(await this.#isRemembered(id, url)) });
    for (const [page, links] of visit.links) {
      const isForgotten = links === undefined && !(await this.#memory.recall(page));
      if (isForgotten) return await visitor.visit(url, { ...options, force: true });
    }
    return visit;
  }
}

/** Returns the records to store. Only the record of the page's own URL names its item. */
export function pagesOf({ id, url, depth }: WaitingPage, { visit, read }: VisitedPage): CrawledPage[] {
  const { outcome, item, aliases } = visit;
  const own = { item: item.id, aliases };
  const none = { item: "" as const, aliases: [] };
  return read.map((page) => ({ url, depth, outcome, ...(page.id === id ? own : none), ...page }));
}

/** This many pages with the same text are always allowed. */
const A_FEW = 2;
/** Suspended visits are held in memory. */
const MAX_WAITING = 100;

/**
 * Counts pages of one crawl that used to differ and now show the same text. Many of them mean that the site shows a
 * maintenance, consent or parking page. The threshold is that of the removal guard, or lower.
 */
class SharedTexts {
  readonly #allowed: number;
  /** By current text: the previous texts. */
  readonly #before = new Map<string, Set<string>>();
  readonly #waiting = new Set<ItemId>();

  constructor(known: number, { maxRemovals, maxRemovalsPercent }: RemovalLimits) {
    const limit = Math.min(maxRemovals, Math.floor((known * maxRemovalsPercent) / 100), MAX_WAITING - 1);
    this.#allowed = Math.max(A_FEW, limit);
  }

  /** Returns how many pages show the same text, 0 for few; undefined: few so far, ask again after the other pages were visited. */
  count(id: ItemId, textChanges: readonly TextChange[]): number | undefined {
    const counts = textChanges.map(({ now, before }) => {
      const pages = this.#before.get(now) ?? new Set();
      if (before !== "") this.#before.set(now, pages.add(before));
      return pages.size;
    });
    const count = Math.max(0, ...counts);
    if (count > this.#allowed) return count;
    const isKnown = textChanges.some(({ before }) => before !== "");
    if (!isKnown || (this.#waiting.size >= MAX_WAITING && !this.#waiting.has(id))) return 0;
    this.#waiting.add(id);
    return undefined;
  }
}
