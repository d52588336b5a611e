import type { BlockedItems } from "../../../contracts/erasure.ts";
import { RemoteError } from "../../../contracts/errors.ts";
import type { ItemId } from "../../../contracts/ids.ts";
import type { IngestItem, Registry } from "../../../contracts/registry.ts";
import type { CrawledPage, SiteMemory } from "../../../contracts/site-memory.ts";
import type { Listed, Listing } from "../../../contracts/source.ts";
import type { Visit } from "../../../contracts/web.ts";
import { runAhead } from "../../../lib/concurrency.ts";
import { sha256Of } from "../../../lib/hash.ts";
import { findAddressSecret } from "../../../lib/secret-parameters.ts";
import { plural } from "../../../lib/text.ts";
import { toUtcMicros } from "../../../lib/time.ts";
import { TimeSlice } from "../../../lib/time-slice.ts";
import { endsInSlash, identifyTwin, otherSlash } from "../../../plan/web/item-identity.ts";
import type { WebSourceConfig } from "../web-source-codec.ts";
import { listedIn, SkippedVariants, type Turn } from "./address-variants.ts";
import { CircuitBreaker, CrawlLimits } from "./crawl-limits.ts";
import { Calendars, isTrap } from "./crawl-traps.ts";
import { CrawlVisitor, pagesOf } from "./crawl-visitor.ts";
import { Frontier, rankOf, type TakePage, type WaitingPage } from "./frontier.ts";
import {
  depart,
  isPresent,
  listVisit,
  OUTSIDE,
  type PageOutcome,
  undecided,
  wasDeferred,
  withoutPeriod,
} from "./list-visit.ts";
import type { WebTools } from "./open-web-site.ts";
import { isListName, SeedReader, type Seeds } from "./seeds.ts";
import { SiteMembers, UNLINKED_LIMIT } from "./site-members.ts";
import { SiteScope } from "./site-scope.ts";

const NO_ITEM = "" as ItemId;
/** Pages per batch of the listing. */
const PAGE_OF_LISTING = 32;

/** One crawl of a web site: visits every page that can be reached from the start URLs once. */
export class SiteCrawl {
  readonly #config: WebSourceConfig;
  readonly #tools: WebTools;
  readonly #memory: SiteMemory;
  readonly #scope: SiteScope;
  readonly #signal: AbortSignal;
  readonly #frontier: Frontier;
  readonly #members: SiteMembers;
  readonly #seeds: SeedReader;
  readonly #visitor: CrawlVisitor;
  readonly #progress: CrawlProgress;
  readonly #limits: CrawlLimits;
  readonly #breaker = new CircuitBreaker();
  /** Visited items: requested URLs, their redirect targets and aliases. */
  readonly #visited = new Set<ItemId>();
  readonly #sighted = new Set<ItemId>();
  #hasDeparted = false;
  /** Failed pages that are retried once; undefined during the retry. */
  #again: WaitingPage[] | undefined;
  /** Suspended visits of changed pages, resumed when the texts of the other pages are known. */
  readonly #suspended: WaitingPage[] = [];
  /** Pages that only have links in another spelling than the one under which they were found. */
  readonly #respelt: WaitingPage[] = [];
  /** Twins of pages whose visit is suspended, with which they are compared. */
  readonly #lateTwins: WaitingPage[] = [];
  /** Items of suspended visits, and their redirect targets: they are linked. */
  readonly #undecided = new Set<ItemId>();
  /** Why something may be missing from the listing. */
  readonly #problems: string[] = [];
  readonly #startProblems: string[] = [];
  /** Start URLs with neither text nor links: pages made by scripts that are not run, or a failure of the site. */
  readonly #emptyStarts: string[] = [];
  /** Something beside the start URLs was found: by a link, a sitemap, a feed. */
  #hasFound = false;
  /** Links of some page are unknown, so it is unknown which items are unlinked. */
  #isBlind: boolean;
  /** A start URL is disallowed by robots.txt: members are visited one by one to see which else are. */
  #isForbidden = false;
  readonly #calendars: Calendars;
  #trapped = 0;
  readonly #skipped: SkippedVariants;
  readonly #blocked: BlockedItems | undefined;

  constructor(config: WebSourceConfig, tools: WebTools, beginning: CrawlStart, signal: AbortSignal) {
    this.#config = config;
    this.#tools = tools;
    this.#memory = beginning.memory;
    this.#members = beginning.members;
    this.#blocked = beginning.blocked;
    this.#scope = new SiteScope(config);
    this.#signal = signal;
    this.#isBlind = beginning.memory.isBlind;
    this.#limits = new CrawlLimits(config);
    this.#calendars = new Calendars(config);
    this.#frontier = new Frontier(tools.rules, this.#limits.visitLimit);
    this.#seeds = new SeedReader(tools, this.#scope, beginning.memory, signal);
    const isFresh = (id: ItemId): boolean => this.#visited.has(id);
    this.#visitor = new CrawlVisitor(config, tools, this.#scope, beginning, {
      isFresh,
      signal,
      maxLeft: this.#limits.visitLimit,
    });
    this.#skipped = new SkippedVariants(this.#limits.visitLimit, this.#visitor.variants, this.#frontier);
    this.#progress = new CrawlProgress(tools.log, () => this.#frontier.waiting);
  }

  /** Visits the pages and yields what came of it. Documents and registry records are stored by the visits, before their page is listed. */
  async *list(): Listing {
    try {
      yield* this.#recallPages();
      yield* this.#visitStarts();
      if (this.#config.maxDepth > 0) await this.#seeds.discover(this.#config.startUrls, this.#seedsAt(1));
      yield* this.#visitWaiting();
      if (!this.#breaker.areAllOpen) yield* this.#visitUnlinked();
      if (!this.#breaker.areAllOpen) yield* this.#resumeVisits();
      await this.#members.flush();
    } finally {
      await this.#memory.flush();
    }
    if (!this.#breaker.areAllOpen) {
      await this.#memory.finish();
      await this.#members.finish({ isComplete: this.#isComplete() });
    }
    const [variants, calendars] = [this.#skipped.count, this.#calendars.sentences()];
    this.#progress.sumUp({ trapped: this.#trapped, variants, calendars });
    const problems = this.#allProblems();
    if (problems.length === 0) return "complete";
    yield [{ kind: "unreadable", path: "", reason: problems.join("; ") }];
    return "partial";
  }

  /** Lists the pages that an interrupted crawl has visited, from the registry. */
  async *#recallPages(): AsyncGenerator<readonly Listed[]> {
    for await (const pages of recallPages(this.#memory, this.#tools.registry, this.#config.startUrls)) {
      for (const { id, aliases, item } of pages) this.#noteVisit([id, ...aliases, item.id]);
      const listed = pages.flatMap((page) => this.#listed(page));
      await this.#members.flush();
      yield listed;
    }
  }

  readonly #take: TakePage = ({ isIdle }) => this.#frontier.take({ isIdle });

  async *#visitStarts(): AsyncGenerator<readonly Listed[]> {
    const { startUrls } = this.#config;
    for (const url of startUrls) {
      const isList = isListName(url) && (await this.#seeds.read(url, this.#seedsAt(0, this.#startProblems))) !== "none";
      if (!isList) this.#add(url, 0);
    }
    yield* this.#visitTwice(({ isIdle }) => this.#frontier.take({ isIdle, upTo: 0 }));
    const hasListedNothing = this.#sighted.size === 0 && !this.#hasDeparted;
    const haveAllFailed = this.#startProblems.length >= startUrls.length && hasListedNothing;
    if (haveAllFailed && !this.#isForbidden) {
      throw new RemoteError(`no start address could be visited: ${this.#startProblems.join("; ")}`);
    }
  }

  /** Visits everything that waits. Links and feeds found by the interrupted crawl are added after the seeds, so that a seed keeps its smaller depth. */
  async *#visitWaiting(): AsyncGenerator<readonly Listed[]> {
    for await (const pages of this.#memory.earlier()) {
      for (const page of pages) {
        await this.#follow(this.#calendars.linksOf(page), page.depth + 1);
        await this.#readFeeds(page);
      }
    }
    yield* this.#visitTwice(this.#take);
    for (let { left, dropped } = this.#visitor.sessions.takeBack(); left.length > 0; ) {
      this.#frontier.drop(dropped);
      for (const { url, depth } of left) this.#add(url, depth);
      yield* this.#visitTwice(this.#take);
      ({ left, dropped } = this.#visitor.sessions.takeBack());
    }
    for (let pages = await this.#next(); pages.length > 0; pages = await this.#next()) {
      yield* this.#visitBeside(pages);
    }
  }

  /** Returns what is to be visited after all when nothing waits: twins, and addresses that were skipped. */
  async #next(): Promise<WaitingPage[]> {
    const found = Map.groupBy(this.#takeTwins(), ({ id }) => this.#undecided.has(id));
    this.#lateTwins.push(...(found.get(true) ?? []));
    const twins = await this.#twinsOf(found.get(false) ?? []);
    return twins.length > 0 ? twins : this.#skipped.next();
  }

  #takeTwins(): WaitingPage[] {
    return [...this.#frontier.takeTwins(), ...this.#respelt.splice(0)];
  }

  async #twinsOf(pages: readonly WaitingPage[]): Promise<WaitingPage[]> {
    const twins: WaitingPage[] = [];
    for (const page of pages) twins.push(...(await this.#twinOf(page)));
    return twins;
  }

  /**
   * Returns the spelling of the URL, with or without a slash at its end, that is not the one of its item: it may show another
   * page. []: there is no page at either, or it led to the item, and it is not time to ask again.
   */
  async #twinOf({ id, url, depth }: WaitingPage): Promise<WaitingPage[]> {
    const twin = identifyTwin(url, this.#tools.rules).id;
    const [page, known] = await this.#tools.registry.getMany([id, twin]);
    const isMember = this.#members.has(twin);
    if (page && page.item.scheduling.goneCount > 0 && !isMember) return [];
    const isDue = !known || known.item.scheduling.nextCrawlAt <= toUtcMicros(new Date());
    if (!isDue && !isMember && !this.#frontier.isSpeltTwice(id)) return [];
    if (this.#blocked?.hasItem(twin)) {
      this.#blocked.skipItem(twin);
      return [];
    }
    this.#members.noteLinked(twin);
    const isAsked = page !== undefined && endsInSlash(url) === endsInSlash(page.item.foundSource);
    return [{ id: twin, url: isAsked ? otherSlash(url) : url, depth, isCertain: true, isTwin: true }];
  }

  /** Resumes suspended visits, then visits twins of their pages, and what only they link to. */
  async *#resumeVisits(): AsyncGenerator<readonly Listed[]> {
    do {
      yield* this.#handOver(() => {
        const page = this.#suspended.shift();
        return page && (() => this.#visitPage(page));
      });
      yield* this.#visitTwice(this.#take);
      yield* this.#visitBeside(await this.#twinsOf([...this.#lateTwins.splice(0), ...this.#takeTwins()]));
    } while (this.#suspended.length > 0);
  }

  /** Visits pages that were not found by the frontier, then everything they lead to. */
  async *#visitBeside(pages: WaitingPage[]): AsyncGenerator<readonly Listed[]> {
    yield* this.#visitAll(() => pages.shift());
    this.#frontier.drop(pages.length);
    yield* this.#visitTwice(this.#take);
  }

  /** Visits everything `take` returns, then retries failed pages once, then visits what those link to. */
  async *#visitTwice(take: TakePage): AsyncGenerator<readonly Listed[]> {
    const again: WaitingPage[] = [];
    this.#again = again;
    yield* this.#visitAll(take);
    this.#again = undefined;
    yield* this.#visitAll(() => again.shift());
    this.#frontier.drop(again.length);
    yield* this.#visitAll(take);
  }

  async *#visitAll(take: TakePage): AsyncGenerator<readonly Listed[]> {
    yield* this.#handOver((running) => {
      while (this.#limits.allowOneMore(running)) {
        const page = take({ isIdle: running === 0 });
        if (!page) return undefined;
        if (this.#visited.has(page.id) || this.#isVariant(page)) continue;
        if (!this.#breaker.isOpen(page.url)) return () => this.#visitPage(page);
        this.#breaker.countSkipped(page.url);
      }
      return undefined;
    });
  }

  /** Whether a URL is skipped because its parameters seem irrelevant; the URL without them is visited instead. Members are never skipped. */
  #isVariant(page: WaitingPage): boolean {
    const instead = this.#members.has(page.id) ? undefined : this.#skipped.pass(page);
    if (instead !== undefined && this.#scope.has(instead)) this.#add(instead, page.depth);
    return instead !== undefined;
  }

  async *#handOver(next: NextTask): AsyncGenerator<readonly Listed[]> {
    for await (const pages of runAhead(next, { atOnce: this.#tools.pagesAtOnce, together: PAGE_OF_LISTING })) {
      await this.#memory.flush();
      await this.#members.flush();
      yield pages.flat();
    }
  }

  async #visitPage(waiting: WaitingPage): Promise<readonly Listed[]> {
    const turn = this.#visitor.variants.takeTurn(waiting.url);
    try {
      const page = await this.#resolveSession(waiting);
      return page ? await this.#visitResolved(page, turn) : [];
    } finally {
      turn.end();
    }
  }

  /** Returns the page without a session in its address; undefined: it was seen without one. */
  async #resolveSession(page: WaitingPage): Promise<WaitingPage | undefined> {
    if (page.depth === 0 || page.isCertain || page.resume || this.#members.has(page.id)) return page;
    const url = await this.#visitor.withoutSession(page);
    const id = url === page.url ? page.id : this.#frontier.identify(url);
    if (!id || id === page.id) return page;
    this.#members.noteLinked(id);
    if (this.#frontier.hasSeen(id) || this.#visited.has(id)) return undefined;
    this.#frontier.markSeen(id);
    return { ...page, id, url };
  }

  async #visitResolved(page: WaitingPage, { before }: Turn): Promise<readonly Listed[]> {
    const { visit, read } = await this.#visitor.visitPage(page, before);
    const { url, depth } = page;
    this.#breaker.note(url, visit);
    // A changed page is suspended until it is known how many others show the same text (see SharedTexts).
    const waiting = visit.resume ? this.#suspended : visit.isHostFailure ? this.#again : undefined;
    if (waiting) {
      waiting.push({ ...page, resume: visit.resume });
      if (visit.resume) for (const id of [page.id, visit.item.id, ...visit.aliases]) this.#undecided.add(id);
      for (const { links } of read) await this.#follow(links, depth + 1, { place: page.place });
      return [];
    }
    this.#noteVisit([page.id, visit.item.id, ...visit.aliases]);
    const isRespelt = visit.item.id === page.id && endsInSlash(visit.item.foundSource) !== endsInSlash(url);
    if (isRespelt && !page.isTwin && !this.#frontier.isSpeltTwice(page.id)) this.#respelt.push(page);
    this.#skipped.note(page, visit);
    this.#isBlind ||= read.some(({ isBlind }) => isBlind);
    this.#memory.put(pagesOf(page, { visit, read: read.map((one) => this.#withoutErased(one)) }));
    await this.#memory.flushNowAndThen();
    const links = read.flatMap((page) => page.links);
    const undated = read.find((page) => page.undated)?.undated ?? "";
    const worth = this.#calendars.linksOf({ ...page, outcome: visit.outcome, links, undated });
    const listed = this.#visitor.variants.isDuplicate(page.id) ? new Map() : undefined;
    await this.#follow(worth, depth + 1, { listed, place: page.place });
    await this.#readFeeds({ depth, feeds: read.flatMap((page) => page.feeds) });
    if (depth === 0) await this.#judgeStart(page, visit, links);
    if (!wasDeferred(visit)) return this.#listed(visit);
    this.#breaker.countSkipped(url, withoutPeriod(visit.reason));
    return [];
  }

  async #readFeeds({ depth, feeds }: Pick<CrawledPage, "depth" | "feeds">): Promise<void> {
    if (depth < this.#config.maxDepth) await this.#seeds.readFeeds(feeds, this.#seedsAt(depth + 1));
  }

  /** Addresses of erased pages are not remembered. */
  #withoutErased<P extends { readonly links: readonly string[] }>(page: P): P {
    if (!this.#blocked) return page;
    const isKept = (link: string): boolean => !this.#blocked?.hasItem(this.#frontier.identify(link) ?? NO_ITEM);
    return page.links.every(isKept) ? page : { ...page, links: page.links.filter(isKept) };
  }

  #noteVisit(ids: readonly ItemId[]): void {
    this.#limits.noteVisit();
    for (const id of ids) this.#visited.add(id);
  }

  /** Returns what is listed for a page. Each item is listed once, even if several URLs lead to it. */
  #listed(page: PageOutcome): readonly Listed[] {
    const { outcome, item, reason } = page;
    this.#progress.note(outcome);
    if (isPresent(outcome) && reason !== "") this.#progress.remark(item.displaySource, reason);
    if (outcome === "missing" && this.#members.has(item.id)) this.#sighted.add(item.id);
    return listVisit(page, this.#scope, this.#members).filter((entry) => {
      this.#hasDeparted ||= entry.kind === "departed";
      if (entry.kind !== "sighting") return true;
      if (this.#sighted.has(entry.itemId)) return false;
      this.#sighted.add(entry.itemId);
      this.#limits.notePage();
      return true;
    });
  }

  async #judgeStart(page: WaitingPage, { outcome, item, links, reason }: Visit, own: readonly string[]): Promise<void> {
    if (!this.#config.startUrls.includes(page.url)) return;
    if (isPresent(outcome) && own.length === 0 && (await this.#isEmpty(item))) this.#emptyStarts.push(page.url);
    const mayBeList = outcome === "refused" && /xml|json/.test(item.content.mimeType);
    const isList = mayBeList && (await this.#seeds.read(page.url, this.#seedsAt(0, this.#startProblems))) === "list";
    // A start page with `noindex` was read, too: its links count.
    if (isList || isPresent(outcome) || links.size > 0) return;
    this.#startProblems.push(`${page.url}: ${withoutPeriod(reason)}`);
    this.#isForbidden ||= outcome === "refused" && !item.http.robotsAllowed;
  }

  /** Whether a page has no text but its title. */
  async #isEmpty(item: IngestItem): Promise<boolean> {
    if (item.content.documentType !== "md") return false;
    const document = await this.#tools.visitor.document(item, this.#signal);
    return document !== undefined && Buffer.from(document).toString().replace(/^# .*/, "").trim() === "";
  }

  #seedsAt(depth: number, problems = this.#problems): Seeds {
    return {
      onAddresses: (urls, dates = []) => {
        for (const [at, date] of dates.entries()) this.#visitor.noteDate(this.#frontier.identify(urls[at] ?? ""), date);
        return this.#follow(urls, depth);
      },
      onProblem: (problem) => problems.push(problem),
    };
  }

  async #follow(
    links: readonly string[],
    depth: number,
    { place, listed = listedIn(links) }: FollowOptions = {},
  ): Promise<void> {
    const timeSlice = new TimeSlice();
    for (const [position, link] of links.entries()) {
      if (timeSlice.isOver()) await timeSlice.next();
      const rank = rankOf(place, position);
      const seen = this.#frontier.ofSpelling(link);
      if (seen === undefined) this.#frontier.noteSpelling(link, this.#followOne(link, depth, rank, listed.get(link)));
      else this.#frontier.promote(seen, depth, rank);
    }
  }

  #followOne(link: string, depth: number, rank: number, listed: string | undefined): ItemId | "" {
    if (!this.#scope.has(link)) return "";
    if (isTrap(link)) {
      this.#trapped += 1;
      return "";
    }
    return this.#add(this.#withoutSession(link, depth), depth, { rank, listed });
  }

  /** Known pages stay what they are. */
  #withoutSession(url: string, depth: number): string {
    const plain = this.#visitor.sessions.pass({ url, depth });
    return plain === url || this.#isMember(url) || !this.#scope.has(plain) ? url : plain;
  }

  #isMember(url: string): boolean {
    return this.#members.has(this.#frontier.identify(url) ?? NO_ITEM);
  }

  #add(
    url: string,
    depth: number,
    { rank, listed = "" }: { readonly rank?: number; readonly listed?: string | undefined } = {},
  ): ItemId | "" {
    const id = this.#frontier.identify(url);
    if (!id) return "";
    this.#hasFound ||= depth > 0;
    if (this.#blocked?.hasItem(id)) {
      this.#blocked.skipItem(id);
      return "";
    }
    this.#members.noteLinked(id);
    if (depth <= this.#config.maxDepth) this.#frontier.add({ id, url, depth, listed }, rank);
    else if (!this.#frontier.hasSeen(id)) {
      this.#frontier.markSeen(id);
      if (!this.#visited.has(id)) this.#limits.noteTooDeep();
    }
    return id;
  }

  /** Visits members that no page links to. */
  async *#visitUnlinked(): AsyncGenerator<readonly Listed[]> {
    const left = [...this.#members.ids()].filter((id) => !this.#visited.has(id) && !this.#undecided.has(id));
    const isDead = !this.#hasFound && this.#emptyStarts.length === this.#config.startUrls.length;
    if (isDead && left.length > 0) {
      this.#problems.push(
        `${this.#emptyStarts.join(", ")}: there is nothing to read and no link, so the other pages were not looked for`,
      );
    }
    yield* visitUnlinked(left, (next) => this.#handOver(next), {
      members: this.#members,
      registry: this.#tools.registry,
      scope: this.#scope,
      visits: this.#visitor,
      breaker: this.#breaker,
      isComplete: this.#isComplete(),
      list: (page) => this.#listed(page),
    });
  }

  /** Returns why the listing may be incomplete, as far as it is known now. */
  #allProblems(): readonly string[] {
    const limits = this.#limits.problems(this.#frontier);
    return [...this.#startProblems, ...this.#problems, ...limits, ...this.#breaker.problems];
  }

  #isComplete(): boolean {
    return !this.#isBlind && this.#allProblems().length === 0;
  }
}

interface FollowOptions {
  /** The page that has the links. */
  readonly place?: number | undefined;
  /** See `listedIn`. */
  readonly listed?: ReadonlyMap<string, string> | undefined;
}

/** What a crawl starts from. */
export interface CrawlStart {
  readonly members: SiteMembers;
  readonly memory: SiteMemory;
  readonly blocked?: BlockedItems | undefined;
}

/** Opens the site memory; resumes an interrupted crawl with the same configuration. A dry run starts anew. */
export async function openCrawl(config: WebSourceConfig, tools: WebTools): Promise<CrawlStart> {
  const { sourceId, limits: _, ...what } = config;
  const members = new SiteMembers(tools.members, tools.domainId, sourceId, tools);
  await members.load();
  const site = digest(config.startUrls);
  const startedAt = toUtcMicros(new Date());
  const memory = await tools.openMemory({ digest: digest({ ...what, force: tools.force }), site, startedAt });
  const { pages, startedAt: before } = memory.resumes;
  if (pages > 0) tools.log(`Resuming the crawl of ${before}: ${plural(pages, "page")} visited already.`);
  return { members, memory, blocked: await tools.blocked?.() };
}

/** Yields the pages of the interrupted crawl that the registry knows; others are visited again. So are start URLs that were missing: every crawl reports those. */
async function* recallPages(
  memory: SiteMemory,
  registry: Registry,
  startUrls: readonly string[],
): AsyncGenerator<readonly (PageOutcome & Pick<CrawledPage, "id">)[]> {
  for await (const pages of memory.visitedPages()) {
    const records = await registry.getMany(pages.map(({ item }) => item as ItemId));
    yield pages.flatMap(({ id, url, outcome, aliases }, i) => {
      const item = records[i]?.item;
      return item && (isPresent(outcome) || !startUrls.includes(url))
        ? [{ id, outcome, aliases, item, reason: item.scheduling.errorMessage }]
        : [];
    });
  }
}

/** Warns of secrets in start URLs of old configurations: pages behind them are not found. */
export function warnOfSecrets({ startUrls }: WebSourceConfig, log: WebTools["log"]): void {
  for (const [at, url] of startUrls.entries()) {
    const secret = findAddressSecret(new URL(url));
    if (secret) log(`WARNING: start address ${at + 1} holds ${secret}: pages are requested without it. Remove it.`);
  }
}

function digest(value: unknown): string {
  return sha256Of(JSON.stringify(value)).slice(0, 32);
}

interface UnlinkedTools {
  readonly members: SiteMembers;
  readonly registry: Registry;
  readonly scope: SiteScope;
  readonly visits: CrawlVisitor;
  readonly breaker: CircuitBreaker;
  /** All pages were read, so it is certain that these items are unlinked. */
  readonly isComplete: boolean;
  readonly list: (page: PageOutcome) => readonly Listed[];
}

/** Returns the next task while `running` are under way; undefined: none for now. */
type NextTask = (running: number) => (() => Promise<readonly Listed[]>) | undefined;

const UNLINKED = `no page has linked to it in ${UNLINKED_LIMIT} complete crawls`;

/** Visits items that no page links to. They leave after several complete crawls without a link. Failed and suspended visits are repeated once. */
async function* visitUnlinked(
  ids: ItemId[],
  handOver: (next: NextTask) => AsyncGenerator<readonly Listed[]>,
  tools: UnlinkedTools,
): AsyncGenerator<readonly Listed[]> {
  const failed: ItemId[] = [];
  for (const [left, again] of [[ids, failed], [failed]] as const) {
    yield* handOver(() => {
      const id = left.pop();
      return id && (() => visitItem(id, tools, again));
    });
  }
}

/** `again`: list to which it is added for a retry if it fails. */
async function visitItem(id: ItemId, tools: UnlinkedTools, again?: ItemId[]): Promise<readonly Listed[]> {
  const { members, scope, breaker } = tools;
  const known = (await tools.registry.get(id))?.item;
  if (!known) return judgeLost(id, tools);
  if (!scope.has(known.foundSource)) return depart(known, OUTSIDE, members);
  if (breaker.isOpen(known.foundSource)) {
    breaker.countSkipped(known.foundSource);
    return [];
  }
  const visit = await tools.visits.visitMember(known, { isLast: !again });
  breaker.note(known.foundSource, visit);
  if ((visit.isHostFailure || visit.resume) && again) {
    again.push(id);
    return [];
  }
  if (wasDeferred(visit)) {
    breaker.countSkipped(known.foundSource, withoutPeriod(visit.reason));
    return [];
  }
  const unlinked = members.unlinkedCount(id);
  // Under current rules its URL may belong to another item, which is its successor then.
  const listed = tools.list({ ...visit, aliases: [...visit.aliases, id] });
  const isPresent =
    visit.item.id === id && visit.outcome !== "missing" && listed.some(({ kind }) => kind === "sighting");
  if (!isPresent) return listed;
  members.keep(id, { unlinked });
  if (isTimeOver(id, tools)) return depart(visit.item, UNLINKED, members);
  if (tools.isComplete) members.noteUnlinked(id);
  return listed;
}

/** Lists an item that the registry does not know (it was lost or restored from a backup) and no page links to. */
function judgeLost(id: ItemId, tools: UnlinkedTools): readonly Listed[] {
  if (isTimeOver(id, tools)) {
    tools.members.remove(id);
    return [{ kind: "departed", itemId: id, reason: UNLINKED }];
  }
  if (tools.isComplete) tools.members.noteUnlinked(id);
  return [undecided(id, "the registry knows nothing of it")];
}

function isTimeOver(id: ItemId, { members, isComplete }: UnlinkedTools): boolean {
  return isComplete && members.unlinkedCount(id) + 1 >= UNLINKED_LIMIT;
}

const LOG_INTERVAL_MS = 3000;
/** Remarks beyond this number are only counted. */
const MAX_REMARKS = 20;

/** URLs that were not visited because they would show nothing new. */
interface SkippedCounts {
  readonly trapped: number;
  readonly variants: number;
  /** Sentences for the log. */
  readonly calendars: readonly string[];
}

/** Logs the progress of a crawl every few seconds. */
class CrawlProgress {
  readonly #log: (line: string) => void;
  readonly #waiting: () => number;
  readonly #counts: Record<Visit["outcome"], number> = {
    new: 0,
    changed: 0,
    unchanged: 0,
    missing: 0,
    gone: 0,
    refused: 0,
    failed: 0,
  };
  #loggedAtMs = performance.now();
  #remarks = 0;

  constructor(log: (line: string) => void, waiting: () => number) {
    this.#log = log;
    this.#waiting = waiting;
  }

  note(outcome: Visit["outcome"]): void {
    this.#counts[outcome] += 1;
    if (performance.now() - this.#loggedAtMs < LOG_INTERVAL_MS) return;
    this.#loggedAtMs = performance.now();
    this.#log(`${this.#sum()}, ${this.#waiting()} waiting`);
  }

  /** Logs something noteworthy about a page that is no failure. */
  remark(address: string, sentence: string): void {
    this.#remarks += 1;
    if (this.#remarks <= MAX_REMARKS) this.#log(`${address}: ${sentence}`);
  }

  sumUp({ trapped, variants, calendars }: SkippedCounts): void {
    if (this.#remarks > MAX_REMARKS)
      this.#log(`Similar remarks on ${plural(this.#remarks - MAX_REMARKS, "more page")}.`);
    this.#log(`${this.#sum()}.`);
    if (variants > 0) {
      const addresses = plural(variants, "address", "addresses");
      this.#log(`Skipped ${addresses} whose parameters do not change the page, as samples showed.`);
    }
    for (const sentence of calendars.slice(0, MAX_REMARKS)) this.#log(sentence);
    if (trapped > 0) {
      const addresses = plural(trapped, "address", "addresses");
      this.#log(`Skipped ${addresses} that look endless (too long, or repeating path segments).`);
    }
  }

  #sum(): string {
    const counts = this.#counts;
    const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
    const parts = [`${counts.new} new`, `${counts.changed} changed`];
    if (counts.missing + counts.gone > 0) parts.push(`${counts.missing + counts.gone} not there`);
    if (counts.refused > 0) parts.push(`${counts.refused} refused`);
    if (counts.failed > 0) parts.push(`${counts.failed} failed`);
    return `Visited ${plural(total, "page")}, ${parts.join(", ")}`;
  }
}
