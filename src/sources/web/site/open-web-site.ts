import type { BlockedItems } from "../../../contracts/erasure.ts";
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

/** Dependencies of a web source. */
export interface WebTools {
  readonly domainId: DomainId;
  readonly client: WebClient;
  readonly visitor: PageVisitor;
  readonly registry: Registry;
  readonly members: Members;
  readonly rules: IdentityRules;
  /** Opens the state kept between and during crawls. */
  readonly openMemory: (head: CrawlHead) => Promise<SiteMemory>;
  /** Writes nothing, neither to the registry nor to disk. */
  readonly dryRun: boolean;
  /** Requests every page unconditionally. */
  readonly force: boolean;
  readonly pagesAtOnce: number;
  /** Erased pages: not visited, nor followed to. */
  readonly blocked?: () => Promise<BlockedItems>;
  readonly log: (line: string) => void;
}

/** Opens a web site: all pages that can be reached from its start URLs. Listing it crawls it. */
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
      return document ? { status: "fetched", body: singleChunk(document) } : { status: "gone" };
    },
    diagnose: (signal) => diagnoseSite(config, tools, signal),
  };
}

export async function* singleChunk(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

/** Checks each start URL and the sitemaps; stores nothing. */
async function* diagnoseSite(
  config: WebSourceConfig,
  tools: WebTools,
  signal: AbortSignal,
): AsyncGenerator<Finding, void> {
  const scope = new SiteScope(config);
  for (const url of config.startUrls) {
    yield isListName(url)
      ? await diagnoseList(url, scope, tools, signal)
      : await diagnoseStart(url, scope, tools, signal);
  }
  for (const origin of new Set(config.startUrls.map((url) => new URL(url).origin))) {
    yield await diagnoseSitemaps(origin, scope, tools, signal);
  }
}

async function diagnoseStart(url: string, scope: SiteScope, tools: WebTools, signal: AbortSignal): Promise<Finding> {
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
    if (isList) return await diagnoseList(url, scope, tools, signal);
    const { statusCode } = item.http;
    // The diagnosis does not wait for further crawls to confirm that the page is missing.
    const isMissing = outcome === "missing" || outcome === "gone";
    const detail = isMissing ? `The address answers ${statusCode}: there is no such page.` : reason;
    return { subject, ...problemOf(outcome, detail) };
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
  const usual =
    outcome === "refused"
      ? "Ask the owner of the site to let the robot 'lockstep' in, or take another start address."
      : outcome === "failed"
        ? "Try again later. If it stays so, open the address in a browser from the same network."
        : "Correct start_urls of the source.";
  return { outcome: "problem", detail: reason, remedy: remedyForPrivate(reason) ?? usual };
}

function remedyForPrivate(reason: string): string | undefined {
  if (!reason.includes("WEB_ALLOW_PRIVATE_NETWORKS")) return undefined;
  return "If it is a site of your own network, set WEB_ALLOW_PRIVATE_NETWORKS=true where lockstep runs, and start it again.";
}

/** What to do about an address that failed for this reason. */
export function remedyForAddress(reason: string): string | undefined {
  // One that cannot be read refuses nothing: the reason is the network's, or the server's.
  if (/robots\.txt(?!.* cannot be read)|disallow/.test(reason)) {
    return "Ask the owner of the site to let the robot 'lockstep' in, or exclude the address.";
  }
  if (/\b40[13]\b|sign-in|password/.test(reason)) {
    return "The site shows it only to those who sign in, which lockstep does not. Exclude it, or acknowledge it.";
  }
  if (/\b(?:404|410)\b/.test(reason))
    return "There is no such page any more. Correct the link or the start address; a crawl settles it.";
  if (reason.includes("WEB_MAX_MEGABYTES"))
    return "Set a higher WEB_MAX_MEGABYTES where lockstep runs, or exclude the address.";
  return remedyForPrivate(reason);
}

async function diagnoseList(url: string, scope: SiteScope, tools: WebTools, signal: AbortSignal): Promise<Finding> {
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

async function diagnoseSitemaps(
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
 * Lists Markdown files last: `llms.txt` names them early, and the page with the same text may be found much later. A
 * Markdown file that turned out to be a variant of a page is not listed.
 */
async function* markdownLast(listing: Listing): Listing {
  const postponed = new Map<ItemId, Sighting>();
  try {
    for (;;) {
      const { done, value } = await listing.next();
      if (done) {
        if (postponed.size > 0) yield [...postponed.values()];
        return value;
      }
      const rest = value.filter((entry) => !isMarkdown(entry));
      for (const entry of value) if (isMarkdown(entry)) postponed.set(entry.itemId, entry);
      for (const { itemId } of rest.filter(isDeparted)) postponed.delete(itemId);
      yield rest;
    }
  } finally {
    // A consumer that stops early also ends the crawl.
    await listing.return("partial");
  }
}

function isMarkdown(entry: Listed): entry is Sighting {
  return entry.kind === "sighting" && /\.(md|markdown)$/i.test(new URL(entry.url).pathname);
}

function isDeparted(entry: Listed): entry is Departed {
  return entry.kind === "departed";
}
