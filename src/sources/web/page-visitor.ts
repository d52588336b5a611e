import { explain, RemoteError } from "../../contracts/errors.ts";
import type { ItemId } from "../../contracts/ids.ts";
import type { IngestItem } from "../../contracts/registry.ts";
import type { InspectedPage, PageVisitor, Visit, VisitOptions } from "../../contracts/web.ts";
import { textDigest } from "../../lib/hash.ts";
import { toUtcMicros } from "../../lib/time.ts";
import { endsInSlash, identifyTwin, identifyUrl, isSameSite, isTwin } from "../../plan/web/item-identity.ts";
import { contentKeyOf } from "../../plan/web/item-state.ts";
import {
  afterAlias,
  afterDeferral,
  afterFailure,
  afterFound,
  afterMissing,
  afterMove,
  afterRefusal,
  afterTargetFailed,
  CONFIRMATIONS,
  countGone,
  withWatchOf,
} from "../../plan/web/item-transitions.ts";
import { withoutSessions } from "../../plan/web/session-slots.ts";
import { PageFetcher, type PageResult, type RedirectChain, type RedirectHop } from "./fetch-page.ts";
import { HostProbes } from "./host-probes.ts";
import { preferMarkdown, type TakenDocument } from "./markdown-variant.ts";
import {
  type PageFailure,
  type PageRefusal,
  type ResolvedUrl,
  readingRevision,
  throwIfStopped,
  type VisitorParts,
} from "./request-page.ts";
import {
  findUnconfirmedContent,
  findUnconfirmedDuplicate,
  findUnconfirmedMove,
  findUnconfirmedRefusal,
  judgeShared,
  type UnconfirmedChange,
} from "./unconfirmed-change.ts";
import { type UpdatedItem, updateItem } from "./update-item.ts";

export function createPageVisitor(parts: VisitorParts): PageVisitor {
  const now = parts.now ?? (() => new Date());
  const crawls = new WeakMap<object, HostProbes>();
  const probesOf = (crawl: object | undefined): HostProbes | undefined => {
    if (!crawl) return undefined;
    const probes = crawls.get(crawl) ?? new HostProbes(parts);
    crawls.set(crawl, probes);
    return probes;
  };
  const visitor: PageVisitor = {
    visit: (url, options) => new PageVisit(parts, options, probesOf(options.crawl), now(), url).run(url, options),
    inspect: (url, options) => inspect(url, parts, options, probesOf(options.crawl)),
    document: async (item, signal) =>
      (await parts.documents.get(item.id, item.content.contentHash)) ??
      (await fetchAgain(item, visitor, parts, signal)),
  };
  return visitor;
}

/** undefined: a failure, or a page that shows too little to be told from others. */
async function inspect(
  url: string,
  parts: VisitorParts,
  { withoutSession: _, isFresh: __, ...options }: Omit<VisitOptions, "force">,
  probes: HostProbes | undefined,
): Promise<InspectedPage | undefined> {
  const at = (parts.now ?? (() => new Date()))();
  const fetcher = new PageFetcher(parts, { ...options, force: true }, probes, at, url);
  const { result } = await fetcher.chain(await fetcher.resolveUrl(url));
  if (result.kind === "missing" || result.kind === "refused") return { likeness: "", contentHash: "", textHash: "" };
  if (result.kind !== "read") return undefined;
  const { page, content } = result;
  const { contentHash, textHash } = content;
  if (!page) return { likeness: contentHash, contentHash, textHash };
  const isBare = page.needsScripts || page.markdown.replace(/^# .*/, "").trim() === "";
  return isBare ? undefined : { likeness: likenessOf(page.markdown), contentHash, textHash };
}

function likenessOf(markdown: string | Uint8Array): string {
  return textDigest(withoutSessions(Buffer.from(markdown).toString()));
}

/** Visits the item again. If its content changed meanwhile, the new content is stored, and the next visit finds it unchanged. */
async function fetchAgain(
  item: IngestItem,
  visitor: PageVisitor,
  { documents }: VisitorParts,
  signal: AbortSignal,
): Promise<Uint8Array | undefined> {
  const {
    outcome,
    item: found,
    reason,
  } = await visitor.visit(item.foundSource, {
    force: true,
    isTwin: isTwin(item),
    signal,
  });
  if (outcome === "failed" || outcome === "missing") {
    throw new RemoteError(`fetch ${item.displaySource}: ${reason}`);
  }
  if (found.id !== item.id || outcome === "gone" || outcome === "refused") return undefined;
  return await documents.get(found.id, found.content.contentHash);
}

type Success = Exclude<PageResult, FetchFailure>;

/** One visit of one URL, from the request to the registry update. */
class PageVisit {
  readonly #parts: VisitorParts;
  readonly #options: VisitOptions;
  readonly #probes: HostProbes | undefined;
  readonly #fetcher: PageFetcher;
  readonly #links = new Map<ItemId, readonly string[] | undefined>();
  #duplicateOf: VisitOptions["duplicateOf"];
  #isResumed = false;
  #feeds: readonly string[] = [];
  #undated = "";

  constructor(parts: VisitorParts, options: VisitOptions, probes: HostProbes | undefined, now: Date, url: string) {
    this.#parts = parts;
    this.#options = options;
    this.#probes = probes;
    this.#duplicateOf = options.duplicateOf;
    this.#fetcher = new PageFetcher(parts, options, probes, now, url);
  }

  /** Requests the URL, follows redirects and the canonical link, and stores the outcome in the registry. */
  async run(url: string, spelt: Pick<VisitOptions, "isTwin">): Promise<Visit> {
    return await this.#conclude(await this.#fetcher.chain(await this.#fetcher.resolveUrl(url, spelt)));
  }

  async #conclude(chain: RedirectChain): Promise<Visit> {
    const { resolved, result } = chain;
    this.#learn(chain);
    const noindexed = findNoindex(result, this.#parts);
    if (noindexed) return await this.#giveUp(chain, noindexed);
    if (result.kind === "unchanged" && resolved.item.status === "OutOfScope" && resolved.item.aliasOf === "") {
      const { errorMessage: reason } = resolved.item.scheduling;
      const revision = resolved.item.content.readerRevision;
      return await this.#giveUp(chain, { kind: "refused", why: "other", reason, http: result.http, revision });
    }
    if (result.kind !== "read" && result.kind !== "unchanged" && result.kind !== "fresh")
      return await this.#giveUp(chain, result);
    if (result.kind === "unchanged" && (await this.#isUnlikeItsPage(resolved))) return await this.#readAgain(chain);
    const canonical = await findCanonical(chain, this.#fetcher, this.#parts);
    if (canonical) {
      this.#learn(canonical);
      const { result: there } = canonical;
      return isFailure(there) ? await this.#giveUp(canonical, there) : await this.#succeed(canonical, there);
    }
    // It is no longer an alias, so a 304 does not tell what it is now.
    if (result.kind === "unchanged" && resolved.item.aliasOf !== "") return await this.#askAgain(chain);
    return await this.#succeed(chain, result);
  }

  /** Whether a twin was an alias because it showed the same, and the page has changed since. */
  async #isUnlikeItsPage({ item, identity }: ResolvedUrl): Promise<boolean> {
    if (!isTwin(identity) || item.aliasOf === "") return false;
    const page = await this.#parts.registry.get(item.aliasOf);
    return page === undefined || contentKeyOf(page.item.content) !== contentKeyOf(item.content);
  }

  async #readAgain({ hops, resolved }: RedirectChain): Promise<Visit> {
    const result = await this.#fetcher.request(resolved, { unconditional: true, hops });
    return result.kind === "redirect"
      ? await this.#giveUp({ hops, resolved, result: HASTY }, HASTY)
      : await this.#conclude({ hops, resolved, result });
  }

  async #askAgain({ hops, resolved }: RedirectChain): Promise<Visit> {
    const result = await this.#fetcher.request(resolved, { unconditional: true, hops });
    if (result.kind === "redirect") return await this.#giveUp({ hops, resolved, result: HASTY }, HASTY);
    const chain = { hops, resolved, result };
    this.#learn(chain);
    if (isFailure(result)) return await this.#giveUp(chain, result);
    const noindexed = findNoindex(result, this.#parts);
    if (noindexed) return await this.#giveUp(chain, noindexed);
    return await this.#succeed(chain, result);
  }

  #learn({ resolved, result }: RedirectChain): void {
    if (result.kind === "read") {
      this.#links.set(resolved.id, result.links);
      this.#feeds = result.feeds;
      this.#undated = result.undated;
    } else if (result.kind === "unchanged") this.#links.set(resolved.id, undefined);
  }

  async #succeed(chain: RedirectChain, result: Success): Promise<Visit> {
    if (result.kind === "fresh") return await this.#concludeFresh(chain);
    const { policy } = this.#parts;
    const unconfirmed = findUnconfirmedMove(chain, policy) ?? findUnconfirmedContent(chain, policy);
    if (unconfirmed) return await this.#postpone(unconfirmed);
    const shared = await this.#judgeShared(chain, result);
    if (shared) return shared;
    const { resolved, hops } = chain;
    const preferred = await preferMarkdown(resolved, result, this.#probes, this.#parts, this.#options);
    if (preferred.kind === "failed") return await this.#giveUp(chain, preferred);
    if (preferred.kind === "to be read") return await this.#askAgain(chain);
    const { variant, links } = preferred;
    const isSame = preferred.reading && !variant && (await this.#differsInSessions(resolved, preferred.reading));
    const reading = isSame ? undefined : preferred.reading;
    if (variant && links) this.#links.set(variant.resolved.id, links);
    const content = { ...resolved.item.content, ...reading?.content };
    const duplicate =
      variant && !isTwin(resolved.identity)
        ? undefined
        : await this.#duplicateOf?.({ ...resolved.item, ...resolved.identity }, resolved.url, content);
    const unlike = duplicate && findUnconfirmedDuplicate(chain, duplicate, policy);
    if (unlike) return await this.#postpone(unlike);
    if (duplicate) return await this.#foldInto(duplicate, chain, { http: result.http, content });
    if (reading) await this.#keepDocument(resolved, reading);
    const variantUrl = variant?.resolved.url ?? "";
    const found = reading ? { http: { ...reading.http, variantUrl }, content: reading.content } : { http: result.http };
    const aliases = variant ? [...hops.filter((each) => each.resolved.id !== variant.resolved.id), variant] : hops;
    const updated = await this.#update(resolved, (item) => {
      const becameAlias = item.aliasOf !== "" && resolved.item.aliasOf === "";
      return becameAlias
        ? item
        : this.#withOptions(afterFound(item, resolved.context, found, this.#parts.policy), resolved, aliases);
    });
    // A concurrent visit made it the Markdown variant of another page.
    if (updated.item.aliasOf !== "") return await this.run(resolved.url, { isTwin: isTwin(resolved.identity) });
    await this.#updateAliases(aliases, resolved);
    const outcome = outcomeOf(updated);
    const unkept = reading && outcome !== "unchanged" ? await this.#keepSnapshot(updated.item, reading) : "";
    const { item, remark } = reading
      ? await this.#keepImages(updated.item, resolved, reading)
      : { ...updated, remark: "" };
    return this.#toVisit(outcome, item, aliases, [reading?.remark ?? "", unkept, remark].filter(Boolean).join(" "));
  }

  /** Whether nothing but values in addresses differs from the known document, and these differ each time. */
  async #differsInSessions({ item, url, keptUrl, context }: ResolvedUrl, reading: TakenDocument): Promise<boolean> {
    const { content: known } = item;
    const { content, document } = reading;
    const isToBeTaken = this.#options.force || context.isForced || known.readerRevision !== content.readerRevision;
    if (isToBeTaken || known.contentHash === "" || known.contentHash === content.contentHash) return false;
    if (content.documentType !== "md" || known.documentType !== "md" || !document) return false;
    const likeness = likenessOf(document);
    const isAlike = async (): Promise<boolean> => {
      const before = await this.#parts.documents.get(item.id, known.contentHash);
      return before !== undefined && likenessOf(before) === likeness;
    };
    if (content.textHash !== known.textHash && !(await isAlike())) return false;
    if (this.#probes?.hasSessions(url)) return true;
    const again = await inspect(keptUrl ?? url, this.#parts, this.#options, this.#probes);
    const isOther = again !== undefined && again.contentHash !== content.contentHash;
    if (!isOther || (again.textHash !== content.textHash && again.likeness !== likeness)) return false;
    this.#probes?.noteSessions(url);
    return true;
  }

  /** Returns undefined if few other pages show the same text. */
  async #judgeShared(chain: RedirectChain, result: Success): Promise<Visit | undefined> {
    const shared = await judgeShared(chain, result, this.#parts, this.#options);
    if (shared === undefined || (shared === "unsettled" && this.#isResumed)) return undefined;
    if (shared !== "unsettled") return await this.#postpone(shared);
    const resume: Visit["resume"] = async ({ duplicateOf }) => {
      this.#duplicateOf = duplicateOf;
      this.#isResumed = true;
      return await this.#succeed(chain, result);
    };
    return { ...this.#toVisit("failed", chain.resolved.item, [], ""), resume };
  }

  /**
   * Makes the URL an alias of an item with the same text. It is stored without validators, so each visit reads it and
   * notices when the texts differ; a twin with them, because there may be one of every page.
   */
  async #foldInto(
    duplicate: IngestItem,
    { hops, resolved }: RedirectChain,
    { http, content }: Omit<RedirectHop, "resolved">,
  ): Promise<Visit> {
    const page = await this.#fetcher.resolveUrl(duplicate.foundSource, { isTwin: isTwin(duplicate) });
    const validators = isTwin(resolved.identity) ? {} : { etag: "", lastModified: "" };
    const unread = { ...http, redirectChain: [], canonicalUrl: "", ...validators };
    const aliases = [...hops, { resolved, http: unread, ...(content && { content }) }];
    await this.#updateAliases(aliases, page);
    return this.#toVisit("unchanged", page.item, aliases, "");
  }

  /** Uses the record of an item that was visited in this crawl. Its failure is not counted twice, but recorded on the redirects. */
  async #concludeFresh(chain: RedirectChain): Promise<Visit> {
    const { resolved, hops } = chain;
    const failure = recordedFailure(resolved.item);
    if (!failure) {
      const unconfirmed = findUnconfirmedMove(chain, this.#parts.policy);
      if (unconfirmed) return await this.#postpone(unconfirmed);
      const shared = await this.#judgeShared(chain, { kind: "fresh" });
      if (shared) return shared;
      await this.#updateAliases(hops, resolved);
      return this.#toVisit("unchanged", resolved.item, hops, "");
    }
    if (hops.some((each) => each.resolved.item.aliasOf === "")) return await this.#giveUp(chain, failure);
    await this.#putOff(hops, resolved.item);
    const outcome = failure.kind === "missing" && resolved.item.status === "Gone" ? "gone" : failure.kind;
    return this.#toVisit(outcome, resolved.item, hops, resolved.item.scheduling.errorMessage);
  }

  /** Records a change that is not confirmed yet. Aliases and links of the document stay. */
  async #postpone({ from, before, ...move }: UnconfirmedChange): Promise<Visit> {
    this.#links.delete(from.id);
    const { item } = await this.#update(from, (known) => afterMove(known, from.context, move, this.#parts.policy));
    await this.#updateAliases(before, from);
    return this.#toVisit("failed", item, before, move.reason);
  }

  /** Schedules the redirects together with their failed target; otherwise each would be requested every time. */
  async #putOff(hops: readonly RedirectHop[], behind: IngestItem): Promise<void> {
    for (const { resolved } of hops) {
      await this.#update(resolved, (item) =>
        item.aliasOf === "" ? item : afterTargetFailed(item, resolved.context, behind),
      );
    }
  }

  /**
   * Records a failure on the first URL of the chain that is no alias: its document must not be replaced by
   * something that could not be read. Existing aliases stay.
   */
  async #giveUp(chain: RedirectChain, met: FetchFailure): Promise<Visit> {
    const { resolved, hops } = chain;
    const { policy } = this.#parts;
    const at = hops.findIndex((each) => each.resolved.item.aliasOf === "");
    const subject = hops[at]?.resolved ?? resolved;
    const unconfirmed =
      met.kind === "refused"
        ? (findUnconfirmedMove(chain, policy) ?? findUnconfirmedRefusal(chain, subject, met, policy))
        : undefined;
    if (unconfirmed) return await this.#postpone(unconfirmed);
    const failure = asFailureOf(subject.item, met);
    const { item } = await this.#update(subject, (before) =>
      afterFetchFailure(before, failure, { subject, probed: resolved }, this.#parts),
    );
    const outcome = failure.kind !== "missing" ? failure.kind : item.status === "Gone" ? "gone" : "missing";
    await this.#putOff(at < 0 ? hops : hops.slice(0, at), item);
    const passed = hops.filter((each) => each.resolved.item.aliasOf === item.id);
    const reason = failure.kind === "missing" ? item.scheduling.errorMessage : failure.reason;
    const { isHostFailure = false, isDeferred = false } = failure.kind === "failed" ? failure : {};
    return { ...this.#toVisit(outcome, item, passed, reason), isHostFailure, isDeferred };
  }

  #toVisit(outcome: Visit["outcome"], item: IngestItem, aliases: readonly RedirectHop[], reason: string): Visit {
    return {
      outcome,
      item,
      aliases: aliases.map(({ resolved }) => resolved.id),
      links: this.#links,
      feeds: this.#feeds,
      undated: this.#undated,
      reason,
    };
  }

  async #update(resolved: ResolvedUrl, tell: (item: IngestItem) => IngestItem): Promise<UpdatedItem> {
    return await updateItem(resolved, tell, this.#parts, { dryRun: this.#options.dryRun ?? false });
  }

  /** Takes over the options of the aliases: watched, images, title. */
  #withOptions(item: IngestItem, { url, keptUrl }: ResolvedUrl, aliases: readonly RedirectHop[]): IngestItem {
    const includeImages = item.includeImages || (this.#options.includeImages ?? false);
    const spelt = { ...item, foundSource: keptUrl ?? url, includeImages };
    return aliases.reduce((target, alias) => withWatchOf(target, alias.resolved.item), spelt);
  }

  async #updateAliases(aliases: readonly RedirectHop[], { id }: ResolvedUrl): Promise<void> {
    const chain = aliases.flatMap(({ http }) => http.redirectChain ?? []);
    let passed = 0;
    for (const { resolved, http, content } of aliases) {
      const isRedirect = (http.redirectChain?.length ?? 0) > 0;
      const said = isRedirect ? { ...http, redirectChain: chain.slice(passed) } : http;
      if (isRedirect) passed += 1;
      if (resolved.id === id) continue;
      await this.#update(resolved, (before) => {
        const item = afterAlias(before, resolved.context, { of: id, http: said }, this.#parts.policy);
        return content ? { ...item, content: { ...item.content, ...content } } : item;
      });
    }
  }

  async #keepDocument(resolved: ResolvedUrl, { document, content }: TakenDocument): Promise<void> {
    const isKnown = content.contentHash === resolved.item.content.contentHash && !this.#options.force;
    if (this.#options.dryRun || isKnown || !document) return;
    await this.#parts.documents.put(resolved.id, document);
  }

  /** Returns why the snapshot could not be stored, "" if it was. The visit does not fail. */
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

  /** Runs after the record is stored. A failure is a remark, not a failure of the page. */
  async #keepImages(
    item: IngestItem,
    resolved: ResolvedUrl,
    { images }: TakenDocument,
  ): Promise<{ readonly item: IngestItem; readonly remark: string }> {
    if (!images || !item.includeImages || this.#options.dryRun) return { item, remark: "" };
    try {
      const imageCount = await this.#parts.images.replace(item, images, this.#options.signal);
      if (imageCount === item.linkage.imageCount) return { item, remark: "" };
      const registered = await this.#parts.registry.get(resolved.id);
      const counted = await this.#update({ ...resolved, registered }, (now) => ({
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

const HASTY: PageFailure = { kind: "failed", reason: "It changed during the visit." };

function outcomeOf({ before, item }: UpdatedItem): "new" | "changed" | "unchanged" {
  if (before.content.contentHash === "") return "new";
  return before.content.contentHash === item.content.contentHash ? "unchanged" : "changed";
}

/**
 * Follows the canonical link of a page; undefined: the page itself is used. The link is
 * accepted if its target is of the same site, exists, and names itself as canonical: two pages that name each other stay two.
 */
async function findCanonical(
  chain: RedirectChain,
  from: PageFetcher,
  parts: VisitorParts,
): Promise<RedirectChain | undefined> {
  const address = await canonicalAddress(chain, parts);
  const id = identityOf(address, parts);
  const { resolved } = chain;
  if (isItself(address, resolved, parts)) return undefined;
  const passed = new Set([resolved.id, ...chain.hops.map((each) => each.resolved.id)]);
  if (!id || passed.has(id) || !isSameSite(address, resolved.url) || !from.isInScope(address)) return undefined;
  const there = await from.chain(await from.resolveUrl(address), [...chain.hops, asHop(chain)]);
  if (passed.has(there.resolved.id)) return undefined;
  return isAcceptable(there, chain, parts) ? there : undefined;
}

/** Returns the canonical URL that the page names, or named when it was last read. */
async function canonicalAddress({ resolved, result }: RedirectChain, { registry }: VisitorParts): Promise<string> {
  const { aliasOf, http, content } = resolved.item;
  if (result.kind === "read") {
    // A Markdown variant does not name its page. What was HTML before is another document now.
    const isVariant = aliasOf !== "" && !result.isHtml && !content.mimeType.includes("html");
    return result.canonical || (isVariant ? http.canonicalUrl : "");
  }
  if (result.kind !== "unchanged" || aliasOf === "") return "";
  return (await registry.get(aliasOf))?.item.foundSource ?? "";
}

function identityOf(
  address: string,
  { rules }: Pick<VisitorParts, "rules">,
  identify = identifyUrl,
): ItemId | undefined {
  try {
    return address === "" ? undefined : identify(address, rules).id;
  } catch {
    return undefined;
  }
}

/** Whether a twin names its own spelling. */
function isItself(address: string, { identity, url }: ResolvedUrl, { rules }: VisitorParts): boolean {
  if (address === "" || !isTwin(identity) || endsInSlash(address) !== endsInSlash(url)) return false;
  return identityOf(address, { rules }, identifyTwin) === identity.id;
}

function asHop({ resolved, result }: RedirectChain): RedirectHop {
  if (result.kind === "read") return { resolved, http: result.http, content: result.content };
  return { resolved, http: result.kind === "unchanged" ? result.http : {} };
}

function isAcceptable(
  { resolved, result }: RedirectChain,
  { resolved: before }: RedirectChain,
  parts: VisitorParts,
): boolean {
  switch (result.kind) {
    case "read":
      return result.noindex === "" && (identityOf(result.canonical, parts) ?? resolved.id) === resolved.id;
    case "unchanged":
      return !result.noindex && resolved.item.status !== "OutOfScope";
    case "fresh":
      return (
        resolved.item.status !== "OutOfScope" &&
        resolved.item.status !== "Gone" &&
        resolved.item.content.contentHash !== ""
      );
    case "missing":
      // An alias does not become an item of its own because of one response.
      return (
        before.item.aliasOf === resolved.id &&
        countGone(resolved.item, resolved.context.at, parts.policy).goneCount < CONFIRMATIONS
      );
    case "refused":
      return false;
    case "failed":
      return true;
  }
}

/** Why there is no document. */
type FetchFailure = Extract<PageResult, { kind: "missing" }> | PageRefusal | PageFailure;

function isFailure(result: PageResult): result is FetchFailure {
  return result.kind === "missing" || result.kind === "refused" || result.kind === "failed";
}

/** Turns a lasting failure of an unknown URL into a refusal; otherwise one link to a sign-in page fails every crawl. */
function asFailureOf({ content, aliasOf }: IngestItem, failure: FetchFailure): FetchFailure {
  if (failure.kind !== "failed" || !failure.isLasting || content.contentHash !== "" || aliasOf !== "") return failure;
  const { reason, statusCode } = failure;
  const http = statusCode === undefined ? {} : { http: { etag: "", lastModified: "", statusCode } };
  return { kind: "refused", why: "other", reason, ...http };
}

function findNoindex(result: PageResult, parts: VisitorParts): PageRefusal | undefined {
  if ((result.kind !== "read" && result.kind !== "unchanged") || !result.noindex) return undefined;
  const { http, noindex } = result;
  return {
    kind: "refused",
    why: "other",
    reason: "The page asks not to be indexed (noindex).",
    http,
    ...(result.kind === "read" && { mimeType: result.content.mimeType }),
    ...(noindex !== "page" && { revision: readingRevision(parts, "headers") }),
  };
}

/** Returns the failure in the record of an item that was visited in this crawl. */
function recordedFailure({ status, http, scheduling }: IngestItem): FetchFailure | undefined {
  const reason = scheduling.errorMessage;
  if (status === "Gone" || scheduling.goneCount > 0) return { kind: "missing", status: http.statusCode };
  if (status === "OutOfScope") return { kind: "refused", why: http.robotsAllowed ? "other" : "robots", reason };
  return scheduling.failureCount > 0 ? { kind: "failed", reason } : undefined;
}

/** Returns the item after a failure. Validators are stored only if the subject itself responded. */
function afterFetchFailure(
  item: IngestItem,
  failure: FetchFailure,
  { subject, probed }: { readonly subject: ResolvedUrl; readonly probed: ResolvedUrl },
  { policy, reader }: VisitorParts,
): IngestItem {
  if (failure.kind === "missing") return afterMissing(item, subject.context, failure.status, policy);
  if (failure.kind === "failed" && failure.isDeferred)
    return afterDeferral(item, subject.context, failure.retryAfterMs ?? 0);
  if (failure.kind === "failed") return afterFailure(item, subject.context, failure, policy);
  const { http, ...refusal } = failure;
  const told = { ...refusal, ...(subject === probed && http && { http }) };
  const refused = afterRefusal(item, subject.context, told, policy);
  const mimeType = failure.mimeType ?? item.content.mimeType;
  const readerRevision = failure.revision ?? reader.revision;
  return { ...refused, content: { ...refused.content, mimeType, readerRevision } };
}
