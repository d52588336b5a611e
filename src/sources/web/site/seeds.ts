import { explain } from "../../../contracts/errors.ts";
import type { ReadList, SiteMemory } from "../../../contracts/site-memory.ts";
import { throwIfStopped } from "../request-page.ts";
import { type AddressList, MAX_ADDRESSES, readAddressList } from "./address-list.ts";
import { isPresent, withoutPeriod } from "./list-visit.ts";
import type { WebTools } from "./open-web-site.ts";
import type { SiteScope } from "./site-scope.ts";

/** Limit for sitemaps, which may name further ones, and feeds. */
const MAX_LISTS = 1000;
const MAX_FEEDS = 20;
const UNTAGGED = { etag: "", lastModified: "" };

/** Whether the file name is one of a sitemap or feed, never of a page. */
export function isListName(url: string): boolean {
  const name = new URL(url).pathname.split("/").at(-1) ?? "";
  return /\.(xml|xml\.gz|rss|atom)$/i.test(name) || (/\.txt(\.gz)?$/i.test(name) && /sitemap|urls|urllist/i.test(name));
}

export interface Seeds {
  /** Receives the URLs of a list. */
  readonly onAddresses: (urls: readonly string[], dates?: readonly string[]) => Promise<void>;
  /** A list could not be read: pages may be missing. */
  readonly onProblem: (problem: string) => void;
}

/** Reads sitemaps, the sitemaps they name, feeds and `llms.txt`. Reads each once. */
export class SeedReader {
  readonly #tools: Pick<WebTools, "client" | "visitor" | "log">;
  readonly #scope: SiteScope;
  readonly #memory: SiteMemory;
  readonly #signal: AbortSignal;
  readonly #read = new Set<string>();
  readonly #feeds = new Set<string>();

  constructor(
    tools: Pick<WebTools, "client" | "visitor" | "log">,
    scope: SiteScope,
    memory: SiteMemory,
    signal: AbortSignal,
  ) {
    this.#tools = tools;
    this.#scope = scope;
    this.#memory = memory;
    this.#signal = signal;
  }

  /** Reads a list and those it names. Returns the kind of the first one. `isNamed`: the site says that there is one. */
  async read(url: string, seeds: Seeds, { isNamed = false } = {}): Promise<AddressList["kind"]> {
    const waiting = [url];
    let first: AddressList["kind"] | undefined;
    for (let at = waiting.shift(); at !== undefined; at = waiting.shift()) {
      if (this.#read.has(at) || !this.#scope.isOfSite(at)) continue;
      if (this.#read.size >= MAX_LISTS) {
        seeds.onProblem(`there are more than ${MAX_LISTS} sitemaps and feeds`);
        break;
      }
      this.#read.add(at);
      const list = await this.#readList(at);
      first ??= list.kind;
      if (list.kind === "none" && (isNamed || at !== url)) {
        this.#tools.log(`WARNING: the sitemap ${at} is skipped, and pages that only it names: ${list.reason}.`);
      }
      if (list.kind === "failed") seeds.onProblem(`${at} could not be read: ${list.reason}`);
      if (list.known?.isCut)
        seeds.onProblem(`${at} names more than ${MAX_ADDRESSES} addresses (the rest is skipped), or is truncated`);
      await seeds.onAddresses(list.known?.addresses ?? [], list.known?.dates);
      waiting.push(...(list.known?.lists ?? []));
    }
    return first ?? "none";
  }

  /** Reads one list. If it fails, the URLs remembered from last time are used: they are still valid seeds. */
  async #readList(url: string): Promise<AddressList & { readonly known?: ReadList | undefined }> {
    const known = await this.#memory.recallList(url);
    const isOfSite = (target: string): boolean => this.#scope.isOfSite(target);
    const { client, log: tell } = this.#tools;
    const list = await readAddressList(url, { client, isOfSite, known, tell, signal: this.#signal });
    const read = list.kind === "list" ? { ...list, ...this.#ofSite(list) } : undefined;
    const remembered = read ?? (list.kind === "failed" ? known : undefined);
    if (remembered) this.#memory.putList(remembered);
    return { ...list, known: remembered };
  }

  #ofSite({ addresses, dates }: ReadList): Pick<ReadList, "addresses" | "dates"> {
    if (dates.length === 0) return { addresses: this.#scope.linksOf(addresses), dates };
    const own = addresses.flatMap((address, at) =>
      this.#scope.linksOf([address]).map((link) => ({ link, date: dates[at] ?? "" })),
    );
    return { addresses: own.map(({ link }) => link), dates: own.map(({ date }) => date) };
  }

  /** Reads feeds that pages name. Some sites have one per page: the first ones are the site's. */
  async readFeeds(urls: readonly string[], seeds: Seeds): Promise<void> {
    for (const url of urls) {
      if (this.#feeds.size >= MAX_FEEDS) return;
      this.#feeds.add(url);
      await this.read(url, seeds);
    }
  }

  /** Reads what the start hosts offer without a link: sitemaps and `llms.txt`. */
  async discover(starts: readonly string[], seeds: Seeds): Promise<void> {
    for (const origin of new Set(starts.map((url) => new URL(url).origin))) {
      for (const url of await this.#named(origin, seeds)) await this.read(url, seeds, { isNamed: true });
      await this.read(`${origin}/sitemap.xml`, seeds);
      await this.#readText(`${origin}/llms.txt`, seeds);
    }
  }

  async #named(origin: string, { onProblem }: Seeds): Promise<readonly string[]> {
    try {
      return await this.#tools.client.sitemapsOf(origin, this.#signal);
    } catch (error) {
      throwIfStopped(this.#signal);
      onProblem(`the robots.txt of ${origin} could not be read: ${explain(error)}`);
      return [];
    }
  }

  /** Whether the file is unchanged, by a HEAD request. If not, the visitor reads it. */
  async #isAsKnown({ url, etag, lastModified }: ReadList): Promise<boolean> {
    if (etag === "" && lastModified === "") return false;
    const request = { url, method: "HEAD", etag, lastModified, maxBytes: 0, signal: this.#signal } as const;
    const answer = await this.#tools.client.send({ ...request, ...(this.#tools.log && { tell: this.#tools.log }) });
    if (answer.kind !== "response") return false;
    await answer.cancel();
    return answer.status === 304 || (answer.status === 200 && etag !== "" && answer.headers.get("etag") === etag);
  }

  /** Reads `llms.txt`, a table of contents: its links are followed, the file itself is not indexed. */
  async #readText(url: string, { onAddresses, onProblem }: Seeds): Promise<void> {
    const known = await this.#memory.recallList(url);
    if (known && (await this.#isAsKnown(known))) {
      this.#memory.putList(known);
      return await onAddresses(known.addresses);
    }
    const options = { force: true, dryRun: true, tell: this.#tools.log, signal: this.#signal };
    const visit = await this.#tools.visitor.visit(url, options);
    const { outcome, item, links, reason, isHostFailure } = visit;
    const isText = isPresent(outcome) && /^text\/(plain|markdown)$/.test(item.content.mimeType);
    const isNone = outcome === "missing" || outcome === "gone" || (!known && !isHostFailure);
    if (!isText && isNone) return;
    if (!isText) onProblem(`${url} could not be read: ${withoutPeriod(reason) || "it is no text"}`);
    const found = [...links.values()].flatMap((urls) => urls ?? []).slice(0, MAX_ADDRESSES);
    // After a redirect the validators belong to another URL.
    const { etag, lastModified } = item.foundSource === url ? item.http : UNTAGGED;
    const read = { url, etag, lastModified, addresses: this.#scope.linksOf(found), dates: [], lists: [], isCut: false };
    const list = isText ? read : known;
    if (list) this.#memory.putList(list);
    await onAddresses(list?.addresses ?? []);
  }
}
