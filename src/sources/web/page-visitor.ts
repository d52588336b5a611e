import type { TextReader } from "../../contracts/document.ts";
import { explain, RemoteError } from "../../contracts/errors.ts";
import type { ItemId } from "../../contracts/ids.ts";
import type { IngestItem, Registry } from "../../contracts/registry.ts";
import type {
  PageRenderer,
  PageVisitor,
  Visit,
  VisitOptions,
  WebClient,
  WebDocuments,
  WebImages,
  WebPageReader,
} from "../../contracts/web.ts";
import { toUtcMicros } from "../../lib/time.ts";
import { type IdentityRules, identifyUrl, isSameSite } from "../../plan/web/item-identity.ts";
import type { CheckPolicy } from "../../plan/web/item-state.ts";
import {
  afterAlias,
  afterFailure,
  afterFound,
  afterMissing,
  afterMove,
  afterRefusal,
  afterTroubleBehind,
  afterUnasked,
  BELIEVED_AFTER,
  countGone,
  watchedLike,
} from "../../plan/web/item-transitions.ts";
import { type Heard, PageWalk, type TrailStop, type Walk } from "./fetch-page.ts";
import { HostHabits } from "./host-probes.ts";
import { preferMarkdown, type TakenDocument } from "./markdown-variant.ts";
import { type PageFailure, type PageRefusal, type PageStop, readingRevision, throwIfStopped } from "./request-page.ts";
import {
  type DoubtfulMove,
  findDoubtfulMove,
  findDoubtfulReading,
  findDoubtfulRefusal,
  findDoubtfulTwin,
  judgeShared,
} from "./unconfirmed-change.ts";
import { type NotedItem, noteItem } from "./update-item.ts";

export interface VisitorParts {
  readonly client: WebClient;
  readonly registry: Registry;
  readonly reader: WebPageReader;
  /** Of what is no page: PDF, Office. */
  readonly texts: TextReader;
  readonly documents: WebDocuments;
  readonly images: WebImages;
  /** undefined: pages that need scripts are reported, not rendered. */
  readonly renderer: PageRenderer | undefined;
  readonly rules: IdentityRules;
  readonly policy: CheckPolicy;
  /** Extensions without dot that are worth fetching. */
  readonly acceptedTypes: ReadonlySet<string>;
  readonly maxBytes: number;
  readonly now?: () => Date;
}

export function createPageVisitor(parts: VisitorParts): PageVisitor {
  const now = parts.now ?? (() => new Date());
  const crawls = new WeakMap<object, HostHabits>();
  const habitsOf = (crawl: object | undefined): HostHabits | undefined => {
    if (!crawl) return undefined;
    const habits = crawls.get(crawl) ?? new HostHabits(parts);
    crawls.set(crawl, habits);
    return habits;
  };
  const visitor: PageVisitor = {
    visit: (url, options) => new PageVisit(parts, options, habitsOf(options.crawl), now(), url).look(url),
    document: async (item, signal) =>
      (await parts.documents.get(item.id, item.content.contentHash)) ??
      (await fetchAgain(item, visitor, parts, signal)),
  };
  return visitor;
}

/** It may say something else by now: then this is what it says, and the next look finds it unchanged. */
async function fetchAgain(
  item: IngestItem,
  visitor: PageVisitor,
  { documents }: VisitorParts,
  signal: AbortSignal,
): Promise<Uint8Array | undefined> {
  const { outcome, item: found, reason } = await visitor.visit(item.foundSource, { force: true, signal });
  if (outcome === "failed" || outcome === "missing") {
    throw new RemoteError(`fetch ${item.displaySource}: ${reason}`);
  }
  if (found.id !== item.id || outcome === "gone" || outcome === "refused") return undefined;
  return await documents.get(found.id, found.content.contentHash);
}

type Success = Exclude<Heard, Trouble>;

/** One look at one address, from the question to what the registry holds afterwards. */
class PageVisit {
  readonly #parts: VisitorParts;
  readonly #options: VisitOptions;
  readonly #habits: HostHabits | undefined;
  readonly #walk: PageWalk;
  readonly #links = new Map<ItemId, readonly string[] | undefined>();
  #twinOf: VisitOptions["twinOf"];
  #isSettling = false;
  #feeds: readonly string[] = [];
  #undated = "";

  constructor(parts: VisitorParts, options: VisitOptions, habits: HostHabits | undefined, now: Date, url: string) {
    this.#parts = parts;
    this.#options = options;
    this.#habits = habits;
    this.#twinOf = options.twinOf;
    this.#walk = new PageWalk(parts, options, habits, now, url);
  }

  async look(url: string): Promise<Visit> {
    return await this.#settle(await this.#walk.walk(await this.#walk.stopAt(url)));
  }

  async #settle(walk: Walk): Promise<Visit> {
    const { stop, heard } = walk;
    this.#learn(walk);
    const noindexed = findNoindex(heard, this.#parts);
    if (noindexed) return await this.#giveUp(walk, noindexed);
    if (heard.kind === "unchanged" && stop.item.status === "OutOfScope" && stop.item.aliasOf === "") {
      const { errorMessage: reason } = stop.item.scheduling;
      const revision = stop.item.content.readerRevision;
      return await this.#giveUp(walk, { kind: "refused", why: "other", reason, http: heard.http, revision });
    }
    if (heard.kind !== "read" && heard.kind !== "unchanged" && heard.kind !== "fresh")
      return await this.#giveUp(walk, heard);
    const canonical = await findCanonical(walk, this.#walk, this.#parts);
    if (canonical) {
      this.#learn(canonical);
      const { heard: there } = canonical;
      return isTrouble(there) ? await this.#giveUp(canonical, there) : await this.#succeed(canonical, there);
    }
    // It is the other item no more, so "not modified" does not tell what it is now.
    if (heard.kind === "unchanged" && stop.item.aliasOf !== "") return await this.#askAgain(walk);
    return await this.#succeed(walk, heard);
  }

  async #askAgain({ trail, stop }: Walk): Promise<Visit> {
    const heard = await this.#walk.hear(stop, { unconditional: true, trail });
    if (heard.kind === "redirect") return await this.#giveUp({ trail, stop, heard: HASTY }, HASTY);
    const walk = { trail, stop, heard };
    this.#learn(walk);
    if (isTrouble(heard)) return await this.#giveUp(walk, heard);
    const noindexed = findNoindex(heard, this.#parts);
    if (noindexed) return await this.#giveUp(walk, noindexed);
    return await this.#succeed(walk, heard);
  }

  #learn({ stop, heard }: Walk): void {
    if (heard.kind === "read") {
      this.#links.set(stop.id, heard.links);
      this.#feeds = heard.feeds;
      this.#undated = heard.undated;
    } else if (heard.kind === "unchanged") this.#links.set(stop.id, undefined);
  }

  async #succeed(walk: Walk, heard: Success): Promise<Visit> {
    if (heard.kind === "fresh") return await this.#concludeFresh(walk);
    const { policy } = this.#parts;
    const doubtful = findDoubtfulMove(walk, policy) ?? findDoubtfulReading(walk, policy);
    if (doubtful) return await this.#doubt(doubtful);
    const shared = await this.#judgeShared(walk, heard);
    if (shared) return shared;
    const { stop, trail } = walk;
    const preferred = await preferMarkdown(stop, heard, this.#habits, this.#parts, this.#options);
    if (preferred.kind === "failed") return await this.#giveUp(walk, preferred);
    if (preferred.kind === "to be read") return await this.#askAgain(walk);
    const { reading, variant, links } = preferred;
    if (variant && links) this.#links.set(variant.stop.id, links);
    const content = { ...stop.item.content, ...reading?.content };
    const twin = variant ? undefined : await this.#twinOf?.({ ...stop.item, ...stop.identity }, stop.url, content);
    const unlike = twin && findDoubtfulTwin(walk, twin, policy);
    if (unlike) return await this.#doubt(unlike);
    if (twin) return await this.#foldInto(twin, walk, { http: heard.http, content });
    if (reading) await this.#keepDocument(stop, reading);
    const variantUrl = variant?.stop.url ?? "";
    const found = reading ? { http: { ...reading.http, variantUrl }, content: reading.content } : { http: heard.http };
    const aliases = variant ? [...trail.filter((each) => each.stop.id !== variant.stop.id), variant] : trail;
    const noted = await this.#note(stop, (item) => {
      const becameAlias = item.aliasOf !== "" && stop.item.aliasOf === "";
      return becameAlias
        ? item
        : this.#withWishes(afterFound(item, stop.look, found, this.#parts.policy), stop, aliases);
    });
    // Somebody who looked at another page meanwhile took this one for its Markdown.
    if (noted.item.aliasOf !== "") return await this.look(stop.url);
    await this.#noteAliases(aliases, stop);
    const outcome = outcomeOf(noted);
    const unkept = reading && outcome !== "unchanged" ? await this.#keepSnapshot(noted.item, reading) : "";
    const { item, remark } = reading ? await this.#keepImages(noted.item, stop, reading) : { ...noted, remark: "" };
    return this.#visit(outcome, item, aliases, [reading?.remark ?? "", unkept, remark].filter(Boolean).join(" "));
  }

  /** undefined: it is not what many others show. */
  async #judgeShared(walk: Walk, heard: Success): Promise<Visit | undefined> {
    const shared = await judgeShared(walk, heard, this.#parts, this.#options);
    if (shared === undefined || (shared === "unsettled" && this.#isSettling)) return undefined;
    if (shared !== "unsettled") return await this.#doubt(shared);
    const settle: Visit["settle"] = async ({ twinOf }) => {
      this.#twinOf = twinOf;
      this.#isSettling = true;
      return await this.#succeed(walk, heard);
    };
    return { ...this.#visit("failed", walk.stop.item, [], ""), settle };
  }

  /** Its text is the other's, so nothing is lost. It is read each time: as soon as it shows something else it is a page. */
  async #foldInto(twin: IngestItem, { trail, stop }: Walk, { http, content }: Omit<TrailStop, "stop">): Promise<Visit> {
    const page = await this.#walk.stopAt(twin.foundSource);
    const unread = { ...http, redirectChain: [], canonicalUrl: "", etag: "", lastModified: "" };
    const aliases = [...trail, { stop, http: unread, ...(content && { content }) }];
    await this.#noteAliases(aliases, page);
    return this.#visit("unchanged", page.item, aliases, "");
  }

  /** As it was found a moment ago: an item that is in trouble is not told so twice, but what leads to it is. */
  async #concludeFresh(walk: Walk): Promise<Visit> {
    const { stop, trail } = walk;
    const trouble = freshTrouble(stop.item);
    if (!trouble) {
      const doubtful = findDoubtfulMove(walk, this.#parts.policy);
      if (doubtful) return await this.#doubt(doubtful);
      const shared = await this.#judgeShared(walk, { kind: "fresh" });
      if (shared) return shared;
      await this.#noteAliases(trail, stop);
      return this.#visit("unchanged", stop.item, trail, "");
    }
    if (trail.some((each) => each.stop.item.aliasOf === "")) return await this.#giveUp(walk, trouble);
    await this.#putOff(trail, stop.item);
    const outcome = trouble.kind === "missing" && stop.item.status === "Gone" ? "gone" : trouble.kind;
    return this.#visit(outcome, stop.item, trail, stop.item.scheduling.errorMessage);
  }

  /** What leads to the document goes on leading there, and it links to what it linked to. */
  async #doubt({ from, before, ...move }: DoubtfulMove): Promise<Visit> {
    this.#links.delete(from.id);
    const { item } = await this.#note(from, (known) => afterMove(known, from.look, move, this.#parts.policy));
    await this.#noteAliases(before, from);
    return this.#visit("failed", item, before, move.reason);
  }

  /** Whoever watches one of them would ask for all of them every time. */
  async #putOff(trail: readonly TrailStop[], behind: IngestItem): Promise<void> {
    for (const { stop } of trail) {
      await this.#note(stop, (item) => (item.aliasOf === "" ? item : afterTroubleBehind(item, stop.look, behind)));
    }
  }

  /**
   * The address that was asked for is what is in trouble, wherever it leads: what is known of it must not be given up for
   * something that could not be read. Those that have been another item's for long stay that.
   */
  async #giveUp(walk: Walk, met: Trouble): Promise<Visit> {
    const { stop, trail } = walk;
    const { policy } = this.#parts;
    const at = trail.findIndex((each) => each.stop.item.aliasOf === "");
    const subject = trail[at]?.stop ?? stop;
    const doubtful =
      met.kind === "refused"
        ? (findDoubtfulMove(walk, policy) ?? findDoubtfulRefusal(walk, subject, met, policy))
        : undefined;
    if (doubtful) return await this.#doubt(doubtful);
    const trouble = asTroubleOf(subject.item, met);
    const { item } = await this.#note(subject, (before) =>
      afterTrouble(before, trouble, { subject, answered: stop }, this.#parts),
    );
    const outcome = trouble.kind !== "missing" ? trouble.kind : item.status === "Gone" ? "gone" : "missing";
    await this.#putOff(at < 0 ? trail : trail.slice(0, at), item);
    const passed = trail.filter((each) => each.stop.item.aliasOf === item.id);
    const reason = trouble.kind === "missing" ? item.scheduling.errorMessage : trouble.reason;
    const { isHostTrouble = false, isUnasked = false } = trouble.kind === "failed" ? trouble : {};
    return { ...this.#visit(outcome, item, passed, reason), isHostTrouble, isUnasked };
  }

  #visit(outcome: Visit["outcome"], item: IngestItem, aliases: readonly TrailStop[], reason: string): Visit {
    return {
      outcome,
      item,
      aliases: aliases.map(({ stop }) => stop.id),
      links: this.#links,
      feeds: this.#feeds,
      undated: this.#undated,
      reason,
    };
  }

  async #note(stop: PageStop, tell: (item: IngestItem) => IngestItem): Promise<NotedItem> {
    return await noteItem(stop, tell, this.#parts, { dryRun: this.#options.dryRun ?? false });
  }

  /** Whoever asked for an address that led here asked for this. */
  #withWishes(item: IngestItem, { url }: PageStop, aliases: readonly TrailStop[]): IngestItem {
    const includeImages = item.includeImages || (this.#options.includeImages ?? false);
    const spelt = { ...item, foundSource: url, includeImages };
    return aliases.reduce((target, alias) => watchedLike(target, alias.stop.item), spelt);
  }

  async #noteAliases(aliases: readonly TrailStop[], { id }: PageStop): Promise<void> {
    const chain = aliases.flatMap(({ http }) => http.redirectChain ?? []);
    let passed = 0;
    for (const { stop, http, content } of aliases) {
      const isRedirect = (http.redirectChain?.length ?? 0) > 0;
      const said = isRedirect ? { ...http, redirectChain: chain.slice(passed) } : http;
      if (isRedirect) passed += 1;
      if (stop.id === id) continue;
      await this.#note(stop, (before) => {
        const item = afterAlias(before, stop.look, { of: id, http: said }, this.#parts.policy);
        return content ? { ...item, content: { ...item.content, ...content } } : item;
      });
    }
  }

  async #keepDocument(stop: PageStop, { document, content }: TakenDocument): Promise<void> {
    const isKnown = content.contentHash === stop.item.content.contentHash && !this.#options.force;
    if (this.#options.dryRun || isKnown || !document) return;
    await this.#parts.documents.put(stop.id, document);
  }

  /** Why it could not be kept, which is no trouble of the page; "" when it was. */
  async #keepSnapshot({ id, scheduling }: IngestItem, { raw }: TakenDocument): Promise<string> {
    if (this.#options.dryRun) return "";
    const at = scheduling.lastChecked || toUtcMicros(new Date());
    try {
      await this.#parts.documents.keepSnapshot(id, at, raw.bytes, raw.mimeType);
      return "";
    } catch (error) {
      throwIfStopped(this.#options.signal);
      return `It could not be kept as it came: ${explain(error)}`;
    }
  }

  /** After the record: a picture belongs to an item that is known. What goes wrong here is no trouble of the page. */
  async #keepImages(
    item: IngestItem,
    stop: PageStop,
    { images }: TakenDocument,
  ): Promise<{ readonly item: IngestItem; readonly remark: string }> {
    if (!images || !item.includeImages || this.#options.dryRun) return { item, remark: "" };
    try {
      const imageCount = await this.#parts.images.replace(item, images, this.#options.signal);
      if (imageCount === item.linkage.imageCount) return { item, remark: "" };
      const registered = await this.#parts.registry.get(stop.id);
      const counted = await this.#note({ ...stop, registered }, (now) => ({
        ...now,
        linkage: { ...now.linkage, imageCount },
      }));
      return { item: counted.item, remark: "" };
    } catch (error) {
      throwIfStopped(this.#options.signal);
      return { item, remark: `Its pictures could not be kept: ${explain(error)}` };
    }
  }
}

const HASTY: PageFailure = { kind: "failed", reason: "It changed while it was looked at." };

function outcomeOf({ before, item }: NotedItem): "new" | "changed" | "unchanged" {
  if (before.content.contentHash === "") return "new";
  return before.content.contentHash === item.content.contentHash ? "unchanged" : "changed";
}

/**
 * Where the page that a page calls canonical led, when that is to be taken for it; undefined: the page is itself. A page is
 * believed when what it names is of the same site, is there, and calls itself canonical: two that name each other are two.
 */
async function findCanonical(walk: Walk, from: PageWalk, parts: VisitorParts): Promise<Walk | undefined> {
  const address = await canonicalAddress(walk, parts);
  const id = identityOf(address, parts);
  const { stop } = walk;
  const passed = new Set([stop.id, ...walk.trail.map((each) => each.stop.id)]);
  if (!id || passed.has(id) || !isSameSite(address, stop.url) || !from.isInScope(address)) return undefined;
  const there = await from.walk(await from.stopAt(address), [...walk.trail, asTrailStop(walk)]);
  if (passed.has(there.stop.id)) return undefined;
  return isToBeTaken(there, walk, parts) ? there : undefined;
}

/** As the page says it, or said it when it was last read. */
async function canonicalAddress({ stop, heard }: Walk, { registry }: VisitorParts): Promise<string> {
  const { aliasOf, http } = stop.item;
  // Markdown that was taken for a page's document does not say whose it is.
  if (heard.kind === "read") return heard.canonical || (aliasOf !== "" && !heard.isHtml ? http.canonicalUrl : "");
  if (heard.kind !== "unchanged" || aliasOf === "") return "";
  return (await registry.get(aliasOf))?.item.foundSource ?? "";
}

function identityOf(address: string, { rules }: VisitorParts): ItemId | undefined {
  try {
    return address === "" ? undefined : identifyUrl(address, rules).id;
  } catch {
    return undefined;
  }
}

function asTrailStop({ stop, heard }: Walk): TrailStop {
  if (heard.kind === "read") return { stop, http: heard.http, content: heard.content };
  return { stop, http: heard.kind === "unchanged" ? heard.http : {} };
}

function isToBeTaken({ stop, heard }: Walk, { stop: before }: Walk, parts: VisitorParts): boolean {
  switch (heard.kind) {
    case "read":
      return heard.noindex === "" && (identityOf(heard.canonical, parts) ?? stop.id) === stop.id;
    case "unchanged":
      return !heard.noindex && stop.item.status !== "OutOfScope";
    case "fresh":
      return stop.item.status !== "OutOfScope" && stop.item.status !== "Gone" && stop.item.content.contentHash !== "";
    case "missing":
      // What has been one item does not become two because of one answer.
      return (
        before.item.aliasOf === stop.id && countGone(stop.item, stop.look.at, parts.policy).goneCount < BELIEVED_AFTER
      );
    case "refused":
      return false;
    case "failed":
      return true;
  }
}

/** Why there is no document to take. */
type Trouble = Extract<Heard, { kind: "missing" }> | PageRefusal | PageFailure;

function isTrouble(heard: Heard): heard is Trouble {
  return heard.kind === "missing" || heard.kind === "refused" || heard.kind === "failed";
}

/** An address of which nothing is known has nothing to keep; without this, one link to a sign-in page fails every crawl. */
function asTroubleOf({ content, aliasOf }: IngestItem, trouble: Trouble): Trouble {
  if (trouble.kind !== "failed" || !trouble.isLasting || content.contentHash !== "" || aliasOf !== "") return trouble;
  const { reason, statusCode } = trouble;
  const http = statusCode === undefined ? {} : { http: { etag: "", lastModified: "", statusCode } };
  return { kind: "refused", why: "other", reason, ...http };
}

function findNoindex(heard: Heard, parts: VisitorParts): PageRefusal | undefined {
  if ((heard.kind !== "read" && heard.kind !== "unchanged") || !heard.noindex) return undefined;
  const { http, noindex } = heard;
  return {
    kind: "refused",
    why: "other",
    reason: "The page asks not to be indexed (noindex).",
    http,
    ...(heard.kind === "read" && { mimeType: heard.content.mimeType }),
    ...(noindex !== "page" && { revision: readingRevision(parts, "headers") }),
  };
}

/** What was written down a moment ago. */
function freshTrouble({ status, http, scheduling }: IngestItem): Trouble | undefined {
  const reason = scheduling.errorMessage;
  if (status === "Gone" || scheduling.goneCount > 0) return { kind: "missing", status: http.statusCode };
  if (status === "OutOfScope") return { kind: "refused", why: http.robotsAllowed ? "other" : "robots", reason };
  return scheduling.failureCount > 0 ? { kind: "failed", reason } : undefined;
}

/** What becomes of the item that is told of it. Validators are those of `answered`, which may be another one. */
function afterTrouble(
  item: IngestItem,
  trouble: Trouble,
  { subject, answered }: { readonly subject: PageStop; readonly answered: PageStop },
  { policy, reader }: VisitorParts,
): IngestItem {
  if (trouble.kind === "missing") return afterMissing(item, subject.look, trouble.status, policy);
  if (trouble.kind === "failed" && trouble.isUnasked)
    return afterUnasked(item, subject.look, trouble.retryAfterMs ?? 0);
  if (trouble.kind === "failed") return afterFailure(item, subject.look, trouble, policy);
  const { http, ...refusal } = trouble;
  const told = { ...refusal, ...(subject === answered && http && { http }) };
  const refused = afterRefusal(item, subject.look, told, policy);
  const mimeType = trouble.mimeType ?? item.content.mimeType;
  const readerRevision = trouble.revision ?? reader.revision;
  return { ...refused, content: { ...refused.content, mimeType, readerRevision } };
}
