import { explain } from "../../../contracts/errors.ts";
import type { Finding } from "../../../contracts/finding.ts";
import type { DomainId, ItemId } from "../../../contracts/ids.ts";
import type { Members } from "../../../contracts/members.ts";
import type { Registry } from "../../../contracts/registry.ts";
import type { CrawlHead, SiteMemory } from "../../../contracts/site-memory.ts";
import type { Departed, Listed, Listing, Sighting, Source } from "../../../contracts/source.ts";
import type { PageVisitor, WebClient } from "../../../contracts/web.ts";
import { withoutAddressSecrets } from "../../../lib/secret-parameters.ts";
import { plural } from "../../../lib/text.ts";
import type { IdentityRules } from "../../../plan/web/item-identity.ts";
import type { WebSourceConfig } from "../web-source-codec.ts";
import { readAddressList } from "./address-list.ts";
import { isPresent } from "./list-visit.ts";
import { isListName } from "./seeds.ts";
import { openCrawl, SiteCrawl, warnOfSecrets } from "./site-crawl.ts";
import { SiteScope } from "./site-scope.ts";

/** What a web source works with. */
export interface WebTools {
  readonly domainId: DomainId;
  readonly client: WebClient;
  readonly visitor: PageVisitor;
  readonly registry: Registry;
  readonly members: Members;
  readonly rules: IdentityRules;
  /** What the source remembers between and during crawls. */
  readonly openMemory: (head: CrawlHead) => Promise<SiteMemory>;
  /** Nothing may be written, neither to the registry nor to disk. */
  readonly dryRun: boolean;
  /** Ask for every page regardless of what is known. */
  readonly force: boolean;
  readonly pagesAtOnce: number;
  readonly log: (line: string) => void;
}

/** A web site: what can be reached from its start addresses. To list it is to crawl it. */
export function openWebSite(given: WebSourceConfig, tools: WebTools): Source {
  const config = { ...given, startUrls: given.startUrls.map(withoutAddressSecrets) };
  return {
    id: config.sourceId,
    async *list(signal) {
      warnOfSecrets(given, tools.log);
      const crawl = new SiteCrawl(config, tools, await openCrawl(config, tools), signal);
      return yield* markdownLast(crawl.list());
    },
    async fetch({ itemId }, signal) {
      const known = (await tools.registry.get(itemId))?.item;
      const document = known && (await tools.visitor.document(known, signal));
      return document ? { status: "fetched", body: only(document) } : { status: "gone" };
    },
    diagnose: (signal) => examineSite(config, tools, signal),
  };
}

async function* only(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

/** Looks at each start address and for sitemaps, and remembers nothing. */
async function* examineSite(
  config: WebSourceConfig,
  tools: WebTools,
  signal: AbortSignal,
): AsyncGenerator<Finding, void> {
  const scope = new SiteScope(config);
  for (const url of config.startUrls) {
    yield isListName(url)
      ? await examineList(url, scope, tools, signal)
      : await examineStart(url, scope, tools, signal);
  }
  for (const origin of new Set(config.startUrls.map((url) => new URL(url).origin))) {
    yield await examineSitemaps(origin, scope, tools, signal);
  }
}

async function examineStart(url: string, scope: SiteScope, tools: WebTools, signal: AbortSignal): Promise<Finding> {
  const subject = `Start address ${url}`;
  try {
    const inScope = (target: string): boolean => scope.isOfSite(target);
    const visit = await tools.visitor.visit(url, { force: true, dryRun: true, inScope, signal });
    const { outcome, item, links, reason } = visit;
    if (isPresent(outcome)) {
      const count = [...links.values()].flat().filter((link) => link !== undefined && scope.has(link)).length;
      if (count === 0 && !scope.has(item.foundSource)) return { subject, ...NOTHING_WANTED };
      const where = item.foundSource === url ? "" : ` It is ${item.displaySource}.`;
      const detail = `Links to ${plural(count, "address", "addresses")} of the source.${where} ${reason}`.trim();
      return { subject, outcome: reason ? "problem" : "ok", detail, remedy: "" };
    }
    const isList = outcome === "refused" && /xml|json/.test(item.content.mimeType);
    if (isList) return await examineList(url, scope, tools, signal);
    const { statusCode } = item.http;
    // Nobody waits here to see whether it comes back.
    const isMissing = outcome === "missing" || outcome === "gone";
    const said = isMissing ? `The address answers ${statusCode}: there is no such page.` : reason;
    return { subject, ...problemOf(outcome, said) };
  } catch (error) {
    return { subject, outcome: "problem", detail: explain(error), remedy: "" };
  }
}

const NOTHING_WANTED = {
  outcome: "problem",
  detail: "Neither it nor anything it links to is wanted by include and exclude.",
  remedy: 'Correct include and exclude of the source: "/guide" is one page, "/guide/**" is all below it.',
} as const;

function problemOf(outcome: string, reason: string): Pick<Finding, "outcome" | "detail" | "remedy"> {
  const remedy =
    outcome === "refused"
      ? "Ask whoever runs the site to let the robot 'lockstep' in, or take another start address."
      : outcome === "failed"
        ? "Try again later. If it stays so, open the address in a browser from the same network."
        : "Correct start_urls of the source.";
  return { outcome: "problem", detail: reason, remedy };
}

async function examineList(url: string, scope: SiteScope, tools: WebTools, signal: AbortSignal): Promise<Finding> {
  const subject = `Start address ${url}`;
  const list = await readAddressList(url, {
    client: tools.client,
    isOfSite: (target) => scope.isOfSite(target),
    signal,
  });
  if (list.kind !== "list") return { subject, ...problemOf(list.kind === "failed" ? "failed" : "none", list.reason) };
  const named = [
    plural(list.addresses.length, "address", "addresses"),
    ...(list.lists.length > 0 ? [plural(list.lists.length, "further sitemap")] : []),
  ];
  return { subject, outcome: "ok", detail: `Names ${named.join(" and ")}.`, remedy: "" };
}

async function examineSitemaps(
  origin: string,
  scope: SiteScope,
  { client }: WebTools,
  signal: AbortSignal,
): Promise<Finding> {
  const subject = `Sitemap of ${origin}`;
  try {
    const [named = `${origin}/sitemap.xml`] = await client.sitemapsOf(origin, signal);
    const list = await readAddressList(named, { client, isOfSite: (target) => scope.isOfSite(target), signal });
    const detail =
      list.kind === "list"
        ? `Found at ${named}.`
        : `None at ${named} (${list.reason}). Pages are found by their links, which is fine.`;
    return { subject, outcome: list.kind === "list" ? "ok" : "not checked", detail, remedy: "" };
  } catch (error) {
    return { subject, outcome: "problem", detail: explain(error), remedy: "" };
  }
}

/**
 * Lists Markdown at the end: an `llms.txt` names it early, and the page whose text it is may come long after. What turned out to
 * be another page's by then is not listed at all.
 */
async function* markdownLast(listing: Listing): Listing {
  const held = new Map<ItemId, Sighting>();
  try {
    for (;;) {
      const { done, value } = await listing.next();
      if (done) {
        if (held.size > 0) yield [...held.values()];
        return value;
      }
      const rest = value.filter((each) => !isMarkdown(each));
      for (const each of value) if (isMarkdown(each)) held.set(each.itemId, each);
      for (const { itemId } of rest.filter(isDeparted)) held.delete(itemId);
      yield rest;
    }
  } finally {
    // Whoever stops listening stops the crawl, too.
    await listing.return("partial");
  }
}

function isMarkdown(each: Listed): each is Sighting {
  return each.kind === "sighting" && /\.(md|markdown)$/i.test(new URL(each.url).pathname);
}

function isDeparted(each: Listed): each is Departed {
  return each.kind === "departed";
}
