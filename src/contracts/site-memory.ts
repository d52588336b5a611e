import type { ItemId } from "./ids.ts";
import type { Visit } from "./web.ts";

/** Identifies a crawl. */
export interface CrawlHead {
  /** Digest of the settings that decide which pages are fetched, and how. */
  readonly digest: string;
  /** Digest of the start addresses: links are stored within their sites only. */
  readonly site: string;
  readonly startedAt: string;
}

/** A page that a crawl fetched, or passed on the way to one. */
export interface CrawledPage {
  readonly id: ItemId;
  readonly url: string;
  /** Distance from a start address, in links. */
  readonly depth: number;
  readonly outcome: Visit["outcome"];
  /** The item behind it; "" for a page on the way to another. */
  readonly item: ItemId | "";
  readonly aliases: readonly ItemId[];
  /** Links within the site, followed or not. */
  readonly links: readonly string[];
  readonly feeds: readonly string[];
  /** Digest of its text without the date in its address, or "". */
  readonly undated: string;
  /** Its links are unknown or incomplete. */
  readonly isBlind: boolean;
}

/** A sitemap, a feed or an `llms.txt` that was read. */
export interface ReadList {
  readonly url: string;
  readonly etag: string;
  readonly lastModified: string;
  readonly addresses: readonly string[];
  /** Modification date of each address as written, "" if missing; [] if none has one. */
  readonly dates: readonly string[];
  /** Further sitemaps. */
  readonly lists: readonly string[];
  /** Truncated: it has more addresses than are read from one list, or is incomplete. */
  readonly isCut: boolean;
}

/** The pages that a crawl of a web site has fetched so far, and the links found by earlier crawls. */
export interface SiteMemory {
  /** Start of the interrupted crawl that is continued, and its number of pages; "" for a new crawl. */
  readonly resumes: { readonly startedAt: string; readonly pages: number };
  /** The continued crawl did not see all links of some page. */
  readonly isBlind: boolean;
  /** undefined: nothing is stored for it, or it is incomplete. */
  recall(id: ItemId): Promise<Pick<CrawledPage, "links" | "feeds" | "undated"> | undefined>;
  recallList(url: string): Promise<ReadList | undefined>;
  /** Visible at once; the next flush writes everything in one transaction. A dry run writes nothing. */
  put(pages: readonly CrawledPage[]): void;
  putList(list: ReadList): void;
  flush(): Promise<void>;
  /** Flushes if enough has been collected. */
  flushNowAndThen(): Promise<void>;
  /** The fetched pages that did not fail, without their links. In pages. */
  visitedPages(): AsyncIterable<readonly CrawledPage[]>;
  /** Pages of earlier crawls, closest to a start address first. */
  earlier(): AsyncIterable<readonly CrawledPage[]>;
  /** Ends the crawl: pages that it did not meet are deleted. */
  finish(): Promise<void>;
}
