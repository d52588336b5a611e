import type { ItemId } from "./ids.ts";
import type { Visit } from "./web.ts";

/** Whose crawl it is. */
export interface CrawlHead {
  /** Of everything that decides which pages are looked at and how. */
  readonly digest: string;
  /** Of the start addresses: links are remembered within their sites only. */
  readonly site: string;
  readonly startedAt: string;
}

/** A page that a crawl looked at, or read on the way to one. */
export interface CrawledPage {
  readonly id: ItemId;
  readonly url: string;
  /** Links from a start address. */
  readonly depth: number;
  readonly outcome: Visit["outcome"];
  /** The item it turned out to be; "" when it was only read on the way to that. */
  readonly item: ItemId | "";
  readonly aliases: readonly ItemId[];
  /** Within the site, whether or not they were followed. */
  readonly links: readonly string[];
  readonly feeds: readonly string[];
  /** Of what it shows beside the date in its address, "" for none. */
  readonly undated: string;
  /** What it links to is not known, or only a part of it. */
  readonly isBlind: boolean;
}

/** A sitemap, a feed or an `llms.txt` that was read. */
export interface ReadList {
  readonly url: string;
  readonly etag: string;
  readonly lastModified: string;
  readonly addresses: readonly string[];
  /** When each was changed, as it is written there, "" for those that say nothing; [] when none does. */
  readonly dates: readonly string[];
  /** Further sitemaps. */
  readonly lists: readonly string[];
  /** It names more than is taken from one list, or breaks off. */
  readonly isCut: boolean;
}

/** What a crawl of a web site has looked at so far, and what the pages of earlier ones link to. */
export interface SiteMemory {
  /** When the crawl began that was cut off and is gone on with, and how many pages it had looked at; "" when this is a new one. */
  readonly resumes: { readonly startedAt: string; readonly pages: number };
  /** The crawl that is gone on with did not see all that some page links to. */
  readonly isBlind: boolean;
  /** undefined: nothing is remembered of it, or not all. */
  recall(id: ItemId): Promise<Pick<CrawledPage, "links" | "feeds" | "undated"> | undefined>;
  recallList(url: string): Promise<ReadList | undefined>;
  /** Remembered at once, and written by the next flush, all in one transaction. Nothing is in a dry run. */
  put(pages: readonly CrawledPage[]): void;
  putList(list: ReadList): void;
  flush(): Promise<void>;
  /** Flushes when there is something worth a transaction. */
  flushNowAndThen(): Promise<void>;
  /** The pages that it had looked at and that did not fail, without their links. In pages. */
  lookedAt(): AsyncIterable<readonly CrawledPage[]>;
  /** Whatever it had read, those next to a start address first. */
  earlier(): AsyncIterable<readonly CrawledPage[]>;
  /** The crawl came to its end: what it did not meet is forgotten. */
  finish(): Promise<void>;
}
