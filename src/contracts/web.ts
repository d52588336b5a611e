import { RemoteError } from "./errors.ts";
import type { ItemId } from "./ids.ts";
import type { ContentState, DateOrigin, IngestItem } from "./registry.ts";

/** What the User-Agent of every request to the web begins with. */
export const CRAWLER_AGENT = "lockstep/";

/** One request, one answer: redirects are answers like any other. */
export interface WebRequest {
  readonly url: string;
  readonly method: "GET" | "HEAD";
  /** What is known already: "not modified" will do. "" for nothing. */
  readonly etag?: string;
  readonly lastModified?: string;
  readonly accept?: string;
  /** Of the body, unpacked. */
  readonly maxBytes: number;
  /** The host's robots.txt is read again when that was longer ago. Without: when its own time is over, a day at most. */
  readonly robotsMaxAgeMs?: number;
  /** What becomes of a body with more; refused, unless told. What comes packed is never cut off. */
  readonly excess?: "refused" | "cut off";
  /** What servers set is told them again; without one, cookies are nobody's business. */
  readonly cookies?: WebCookies;
  /** Hears once of each rest and each pace of the host that takes seconds. */
  readonly tell?: Tell;
  readonly signal: AbortSignal;
}

export interface WebCookies {
  /** The values of `Set-Cookie` in an answer from there. */
  take(url: URL, fields: readonly string[]): void;
  /** For the header of a request, "" for none. */
  of(url: URL): string;
}

/** Hears what somebody who watches should know, in sentences. */
export type Tell = (line: string) => void;

export type WebResult =
  | WebResponse
  /** It must not be asked, or what came must not be taken; asking again changes nothing. */
  | { readonly kind: "refused"; readonly why: "robots" | "address" | "too large" | "broken"; readonly reason: string }
  /** Not now: no connection, no answer in time, 429, 5xx, a robots.txt that cannot be read. Never a sign that something is gone. */
  | {
      readonly kind: "unavailable";
      readonly reason: string;
      readonly status?: number;
      /** As the server asked for, an hour at most. */
      readonly retryAfterMs?: number;
      /** It was not even sent: the address or its host is to be left alone for so long. */
      readonly isDeferred?: boolean;
    };

export interface WebResponse {
  readonly kind: "response";
  readonly status: number;
  /** Lower-case names. */
  readonly headers: ReadonlyMap<string, string>;
  /** Unpacked bytes, once; throws BodyError when they do not arrive whole or are too many. */
  body(): Promise<Uint8Array>;
  /** The body is not wanted. Until it is asked for or cancelled, or its time is over, the request keeps its place with the host. */
  cancel(): Promise<void>;
}

/** The body could not be taken; the message is a sentence for people. unavailable: asking again may help. */
export class BodyError extends RemoteError {
  override readonly name: string = "BodyError";
  readonly why: "too large" | "broken" | "unavailable";
  constructor(message: string, why: BodyError["why"], options?: ErrorOptions) {
    super(message, options);
    this.why = why;
  }
}

/** Asks politely: robots.txt, one host at its pace, public addresses only. */
export interface WebClient {
  /** Throws CancelledError when the signal aborts, and nothing else. */
  send(request: WebRequest): Promise<WebResult>;
  /** Sitemaps that the host's robots.txt names, as it was within the last minute. Throws RemoteError when that cannot be read now. */
  sitemapsOf(origin: string, signal: AbortSignal): Promise<readonly string[]>;
  close(): Promise<void>;
}

/** What a web page says. Addresses are absolute and without fragment. */
export interface WebPage {
  readonly title: string;
  /** ISO 639-1, "" when nothing tells. */
  readonly language: string;
  /** What is indexed of it: begins with the title as a heading. */
  readonly markdown: string;
  readonly canonical: string;
  readonly noindex: boolean;
  readonly nofollow: boolean;
  /** In order of appearance, each once; none that is `rel=nofollow`. Empty when the page asks not to be followed. */
  readonly links: readonly string[];
  readonly images: readonly PageImage[];
  /** A Markdown variant that the page names (`<link rel="alternate" type="text/markdown">`), "" for none. */
  readonly markdownVariant: string;
  /** Feeds that the page names. */
  readonly feeds: readonly string[];
  /** When it says it was changed, the most trustworthy first. */
  readonly dates: readonly PageDate[];
  /** There is nothing to read unless its scripts run. */
  readonly needsScripts: boolean;
  /** Where it sends whoever opens it, within seconds (`<meta http-equiv="refresh">`); "" for nowhere. */
  readonly refresh: string;
  /** It asks for a password, and there is little else to read. */
  readonly isSignIn: boolean;
}

/** A date as it is written, and who wrote it. */
export interface PageDate {
  readonly from: DateOrigin;
  readonly text: string;
}

export interface PageImage {
  readonly url: string;
  readonly alt: string;
  readonly caption: string;
  /** Text of the nearest paragraph. */
  readonly surroundings: string;
  /** 0 for the first. */
  readonly position: number;
  /** The page names it as its picture (og:image, twitter:image): it may be called a logo. */
  readonly isPagePicture: boolean;
}

export interface WebPageReader {
  /** Changes whenever the same page would give another document. */
  readonly revision: string;
  /**
   * Whatever the bytes are, something can be said of them. `contentType` is the header. Throws ExtractError with a sentence when
   * it takes more time or memory than a page may have.
   */
  read(bytes: Uint8Array, contentType: string, url: string, signal: AbortSignal): Promise<WebPage>;
  /** The text of Markdown or plain text and the addresses it links to. */
  readMarkdown(bytes: Uint8Array, contentType: string, url: string, signal: AbortSignal): Promise<WebPage>;
}

/** Shows a page as a browser would. */
export interface PageRenderer {
  /** The page's HTML after its scripts ran. Throws with a sentence. `tell` hears of a browser that has no sandbox, once. */
  render(url: string, signal: AbortSignal, tell?: Tell): Promise<Uint8Array>;
  close(): Promise<void>;
}

/** The document of each item as it was last seen, and on request the answers it was made of. Bounded by age. */
export interface WebDocuments {
  put(id: ItemId, bytes: Uint8Array): Promise<void>;
  /** `contentHash` is `sha256:…` of its bytes, in hexadecimal. undefined: it is not here (any more), or another content is. */
  get(id: ItemId, contentHash: string): Promise<Uint8Array | undefined>;
  /** Keeps the answer as it came, for as long as snapshots are kept (not at all by default). */
  keepSnapshot(id: ItemId, at: string, bytes: Uint8Array, mimeType: string): Promise<void>;
  snapshots(id: ItemId): Promise<readonly { readonly at: string; readonly bytes: number; readonly path: string }[]>;
  delete(id: ItemId): Promise<void>;
  /** Removes what is older than it has to be. Returns how many files left. */
  removeOld(now: Date): Promise<number>;
}

/** A picture of a page, worth keeping. */
export interface StoredImage extends PageImage {
  /** `img_…`, from its bytes. */
  readonly id: string;
  readonly parentPageId: ItemId;
  readonly parentPageUrl: string;
  readonly contentHash: string;
  readonly width: number;
  readonly height: number;
  readonly bytes: number;
  readonly mimeType: string;
}

/** The pictures of pages, under the page's id. */
export interface WebImages {
  /** Fetches, sorts out and keeps the pictures of a page; what it had before and is not in `images` leaves. Returns how many are kept. */
  replace(page: IngestItem, images: readonly PageImage[], signal: AbortSignal): Promise<number>;
  of(page: ItemId): Promise<readonly StoredImage[]>;
  /** undefined when there is none. */
  read(
    page: ItemId,
    image: string,
    size: "full" | "thumbnail",
  ): Promise<{ readonly bytes: Uint8Array; readonly mimeType: string } | undefined>;
  delete(page: ItemId): Promise<void>;
}

/** What a page shows now, and what it showed before, as digests without what changes with every answer. */
export interface TextChange {
  readonly now: string;
  /** "" when nothing is known of it. */
  readonly before: string;
}

export interface VisitOptions {
  /** Asks regardless of what is known. */
  readonly force: boolean;
  /** May this address be followed to, by redirect or canonical link? Without it: the registrable domain of the page. */
  readonly inScope?: (url: string) => boolean;
  readonly includeImages?: boolean;
  /** Visits of one crawl share what they find out about hosts: what they answer for pages they do not have, where Markdown is. */
  readonly crawl?: object;
  /** Was this item looked at a moment ago? Then an address that leads to it takes what is known of it, and nobody is asked again. */
  readonly isFresh?: (id: ItemId) => boolean;
  /** When the page was changed, as a list says that names it (`lastmod` of a sitemap). */
  readonly listedDate?: string | undefined;
  /** Which item shows the same under another address of the same path? Then this address is one of its names, for as long as it does. */
  readonly duplicateOf?: (found: IngestItem, url: string, content: ContentState) => Promise<IngestItem | undefined>;
  /** How many pages that used to differ show the same now, 0 for few; undefined: that is not known yet. */
  readonly countSharedText?: (id: ItemId, likenesses: readonly TextChange[]) => number | undefined;
  /** Looks, and remembers nothing. */
  readonly dryRun?: boolean;
  /** Hears, once for each reason, why it takes long. The same for all visits of a crawl. */
  readonly tell?: Tell;
  readonly signal: AbortSignal;
}

/** What came of looking at one address. The registry has it already. */
export interface Visit {
  /**
   * new, changed: there is a document that was not there. unchanged: as it was. gone: 404 or 410 often enough. missing: 404 or
   * 410, not yet often enough. refused: robots.txt, noindex, not an address or type to take, or one that was never there and
   * is not shown to us (403, redirects in a circle). failed: not now; what was known stays.
   */
  readonly outcome: "new" | "changed" | "unchanged" | "missing" | "gone" | "refused" | "failed";
  /** The item the address turned out to be; where it is an alias, the one it stands for. */
  readonly item: IngestItem;
  /** Addresses that led to it, by their ids: those of the alias records. */
  readonly aliases: readonly ItemId[];
  /**
   * What the page links to, and any page on the way that names it as the canonical one, by their ids. undefined: it was not
   * read again, and links to what it linked to.
   */
  readonly links: ReadonlyMap<ItemId, readonly string[] | undefined>;
  readonly feeds: readonly string[];
  /** Of what the page shows beside the date in its address. Without: it was not read again, or has no such address. */
  readonly undated?: string;
  /** It failed because its host gave no answer, half of one, or "not now": asking again may help. */
  readonly isHostFailure?: boolean;
  /** Nobody asked, because the address or its host is to be left alone for a while: nothing of it changed. */
  readonly isDeferred?: boolean;
  /** For people: why it failed or was refused, or what is worth knowing (a page that needs scripts). */
  readonly reason: string;
  /** Nothing is settled or written down yet: what it shows is to be compared with what others show. To be called when those were looked at. */
  readonly resume?: (options: Pick<VisitOptions, "duplicateOf">) => Promise<Visit>;
}

/** Looks at one address: asks, follows, reads, and writes down in the registry what was learnt. */
export interface PageVisitor {
  visit(url: string, options: VisitOptions): Promise<Visit>;
  /** The document of an item, from what was kept, or asked for anew. undefined: it is gone or refused. Throws when it cannot be had now. */
  document(item: IngestItem, signal: AbortSignal): Promise<Uint8Array | undefined>;
}

/** Looks at an item of the registry, whatever kind it is of; otherwise as PageVisitor. */
export interface ItemVisitor {
  visit(item: IngestItem, options: VisitOptions): Promise<Visit>;
  document(item: IngestItem, signal: AbortSignal): Promise<Uint8Array | undefined>;
}

/** Looks at single files and blobs. */
export interface FileVisitor extends ItemVisitor {
  /** BadInputError with a sentence when a file at this place must not be read, whether it is there or not. */
  check(source: string): Promise<void>;
}

export interface ItemVisitOptions {
  /** For people: who has the item meanwhile. */
  readonly worker: string;
  /** due: only when its time has come. */
  readonly when: "due" | "always";
  /** Asks regardless of what is known, also when nobody requested it. */
  readonly force: boolean;
  readonly tell?: Tell;
  readonly signal: AbortSignal;
  /** Called now and then while it takes; false: give it up. */
  readonly heartbeat?: () => Promise<boolean>;
}

export type ItemVisitResult =
  | { readonly kind: "visited"; readonly visit: Visit }
  | { readonly kind: "absent" | "not due" }
  /** Somebody else is at it, and has it at most until then unless they renew. */
  | { readonly kind: "busy"; readonly until: string };

/** Looks at items of the registry, at each of them one at a time, in whichever process. */
export interface ItemFetcher {
  fetch(id: ItemId, options: ItemVisitOptions): Promise<ItemVisitResult>;
}
