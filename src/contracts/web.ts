import { RemoteError } from "./errors.ts";
import type { ItemId } from "./ids.ts";
import type { ContentState, DateOrigin, IngestItem } from "./registry.ts";

/** Prefix of the User-Agent of every web request. */
export const CRAWLER_AGENT = "lockstep/";

/** One HTTP request. Redirects are not followed. */
export interface WebRequest {
  readonly url: string;
  readonly method: "GET" | "HEAD";
  /** Validators of the known version; 304 is then a possible response. "" for none. */
  readonly etag?: string;
  readonly lastModified?: string;
  readonly accept?: string;
  /** Maximum size of the decompressed body. */
  readonly maxBytes: number;
  /** Maximum age of the cached robots.txt. Default: its own cache lifetime, at most a day. */
  readonly robotsMaxAgeMs?: number;
  /** What to do with a larger body; refused by default. Compressed bodies are never cut off. */
  readonly excess?: "refused" | "cut off";
  /** Receives and sends cookies. Without it, cookies are ignored. */
  readonly cookies?: WebCookies;
  /** Called once for each pause or delay of the host that takes seconds. */
  readonly tell?: Tell;
  readonly signal: AbortSignal;
}

export interface WebCookies {
  /** Stores the values of `Set-Cookie` in a response from `url`. */
  take(url: URL, fields: readonly string[]): void;
  /** Returns the value of the `Cookie` header, "" for none. */
  of(url: URL): string;
}

/** Writes a line to the job's log. */
export type Tell = (line: string) => void;

export type WebResult =
  | WebResponse
  /** The request is not allowed, or the response cannot be accepted. A retry does not help. */
  | { readonly kind: "refused"; readonly why: "robots" | "address" | "too large" | "broken"; readonly reason: string }
  /** Temporary: no connection, timeout, 429, 5xx, an unreadable robots.txt. Never means that something is gone. */
  | {
      readonly kind: "unavailable";
      readonly reason: string;
      readonly status?: number;
      /** From `Retry-After`, at most an hour. */
      readonly retryAfterMs?: number;
      /** The request was not sent: the URL or its host asked for a pause of this length. */
      readonly isDeferred?: boolean;
    };

export interface WebResponse {
  readonly kind: "response";
  readonly status: number;
  /** Lower-case names. */
  readonly headers: ReadonlyMap<string, string>;
  /** Returns the decompressed body; can be called once. Throws BodyError if it is incomplete or too large. */
  body(): Promise<Uint8Array>;
  /** Discards the body. Until it is read or cancelled, or times out, the request occupies a slot of the host. */
  cancel(): Promise<void>;
}

/** The body could not be read; the message is a sentence for people. unavailable: a retry may help. */
export class BodyError extends RemoteError {
  override readonly name: string = "BodyError";
  readonly why: "too large" | "broken" | "unavailable";
  constructor(message: string, why: BodyError["why"], options?: ErrorOptions) {
    super(message, options);
    this.why = why;
  }
}

/** A polite HTTP client: obeys robots.txt, limits the rate per host, connects to public addresses only. */
export interface WebClient {
  /** Throws CancelledError when the signal aborts, and nothing else. */
  send(request: WebRequest): Promise<WebResult>;
  /** Returns the sitemaps named in robots.txt (cached for a minute). Throws RemoteError if it cannot be read. */
  sitemapsOf(origin: string, signal: AbortSignal): Promise<readonly string[]>;
  close(): Promise<void>;
}

/** The content of a web page. URLs are absolute and without fragment. */
export interface WebPage {
  readonly title: string;
  /** ISO 639-1, "" when nothing tells. */
  readonly language: string;
  /** The indexed text: begins with the title as a heading. */
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
  /** Modification dates, the most reliable first. */
  readonly dates: readonly PageDate[];
  /** The page is empty unless its scripts run. */
  readonly needsScripts: boolean;
  /** Target of `<meta http-equiv="refresh">` within a few seconds, "" for none. */
  readonly refresh: string;
  /** A page with a password field and little other text. */
  readonly isSignIn: boolean;
}

/** A date as written, and where it was found. */
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
  /** Named by og:image or twitter:image; kept even if its name looks like a logo. */
  readonly isPagePicture: boolean;
}

export interface WebPageReader {
  /** Changes whenever the same page would give another document. */
  readonly revision: string;
  /**
   * Accepts any bytes. `contentType` is the header. Throws ExtractError with a sentence if it takes more time or memory
   * than a page may use.
   */
  read(bytes: Uint8Array, contentType: string, url: string, signal: AbortSignal): Promise<WebPage>;
  /** Returns the text of Markdown or plain text, and its links. */
  readMarkdown(bytes: Uint8Array, contentType: string, url: string, signal: AbortSignal): Promise<WebPage>;
}

/** Renders pages in a browser. */
export interface PageRenderer {
  /** Returns the HTML after scripts ran. Throws with a sentence. `tell` is warned once of a browser without a sandbox. */
  render(url: string, signal: AbortSignal, tell?: Tell): Promise<Uint8Array>;
  close(): Promise<void>;
}

/** The last document of each item, and, if configured, the responses it was made from. Limited by age. */
export interface WebDocuments {
  put(id: ItemId, bytes: Uint8Array): Promise<void>;
  /** Returns the document if its bytes have this hash (`sha256:…`), else undefined. */
  get(id: ItemId, contentHash: string): Promise<Uint8Array | undefined>;
  /** Stores the unmodified response for the snapshot retention time (none by default). */
  keepSnapshot(id: ItemId, at: string, bytes: Uint8Array, mimeType: string): Promise<void>;
  snapshots(id: ItemId): Promise<readonly { readonly at: string; readonly bytes: number; readonly path: string }[]>;
  delete(id: ItemId): Promise<void>;
  /** Deletes its snapshots, too, whether any are kept by now or not. */
  erase(id: ItemId): Promise<void>;
  /** Deletes expired files; returns how many. */
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
  /** Fetches, filters and stores the pictures of a page; deletes stored ones that are not in `images`. Returns the number stored. */
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

/** Digests of a page's text now and before, without parts that differ in every response (times, request ids). */
export interface TextChange {
  readonly now: string;
  /** "" when nothing is known of it. */
  readonly before: string;
}

export interface VisitOptions {
  /** Sends unconditional requests. */
  readonly force: boolean;
  /** Whether a redirect or canonical link may lead to `url`. Default: the same registrable domain. */
  readonly inScope?: (url: string) => boolean;
  readonly includeImages?: boolean;
  /** The URL is an item of its own, beside the one with or without a slash at its end (`identifyTwin`). */
  readonly isTwin?: boolean;
  /** Identifies the crawl; its visits share the results of host probes (soft 404, Markdown variants). */
  readonly crawl?: object;
  /** Whether the item was visited in this crawl. A redirect to it then uses its record and sends no request. */
  readonly isFresh?: (id: ItemId) => boolean;
  /** Whether the item was erased. Nothing that leads there is followed. */
  readonly isErased?: (id: ItemId) => boolean;
  /** `lastmod` of the page in a sitemap. */
  readonly listedDate?: string | undefined;
  /** Returns the item that shows the same content under another URL of the same path. This URL becomes its alias while that holds. */
  readonly duplicateOf?: (found: IngestItem, url: string, content: ContentState) => Promise<IngestItem | undefined>;
  /** Returns how many pages that used to differ now show this text, 0 for few; undefined: not known before the rest was visited. */
  readonly countSharedText?: (id: ItemId, likenesses: readonly TextChange[]) => number | undefined;
  /** Returns the URL without a session, where that shows the same. */
  readonly withoutSession?: (url: string) => Promise<string>;
  /** Writes nothing. */
  readonly dryRun?: boolean;
  /** Called once for each reason to wait. One function for all visits of a crawl. */
  readonly tell?: Tell;
  readonly signal: AbortSignal;
}

/** The result of visiting one URL. The registry is already updated. */
export interface Visit {
  /**
   * new, changed: there is a document that was not there. unchanged: as it was. gone: 404 or 410 often enough. missing: 404 or
   * 410, not yet often enough. refused: robots.txt, noindex, not an address or type to take, or one that was never there and
   * is not shown to us (403, redirects in a circle). failed: not now; what was known stays.
   */
  readonly outcome: "new" | "changed" | "unchanged" | "missing" | "gone" | "refused" | "failed";
  /** The item behind the URL; for an alias, its target. */
  readonly item: IngestItem;
  /** Ids of the aliases that led to the item. */
  readonly aliases: readonly ItemId[];
  /**
   * What the page links to, and any page on the way that names it as the canonical one, by their ids. undefined: it was not
   * read again, and links to what it linked to.
   */
  readonly links: ReadonlyMap<ItemId, readonly string[] | undefined>;
  readonly feeds: readonly string[];
  /** Digest of the text without dates, for a URL with a date. Absent if the page was not read again. */
  readonly undated?: string;
  /** The host gave no complete response, or 429 or 5xx: a retry may help. */
  readonly isHostFailure?: boolean;
  /** No request was sent because the URL or its host asked for a pause. The record is unchanged. */
  readonly isDeferred?: boolean;
  /** For people: why it failed or was refused, or what is worth knowing (a page that needs scripts). */
  readonly reason: string;
  /** Present if the visit is suspended and nothing is stored: call it after the other pages were visited, to compare their texts. */
  readonly resume?: (options: Pick<VisitOptions, "duplicateOf">) => Promise<Visit>;
}

/** What is compared of a page. */
export interface InspectedPage {
  /** Hash of the text without what may be a session in an address, of the bytes of a file; "" if there is no such page. */
  readonly likeness: string;
  readonly contentHash: string;
  readonly textHash: string;
}

/** Visits a URL: requests it, follows redirects, reads the page and updates the registry. */
export interface PageVisitor {
  visit(url: string, options: VisitOptions): Promise<Visit>;
  /** Fetches what a URL shows, and writes nothing. undefined: not now, or nothing that could be compared. */
  inspect(url: string, options: Omit<VisitOptions, "force">): Promise<InspectedPage | undefined>;
  /** Returns the stored document, or fetches it again. undefined: gone or refused. Throws if it is unavailable. */
  document(item: IngestItem, signal: AbortSignal): Promise<Uint8Array | undefined>;
}

/** Like PageVisitor, for registry items of any type. */
export interface ItemVisitor {
  visit(item: IngestItem, options: VisitOptions): Promise<Visit>;
  document(item: IngestItem, signal: AbortSignal): Promise<Uint8Array | undefined>;
}

/** Visits single files and blobs. */
export interface FileVisitor extends ItemVisitor {
  /** BadInputError with a sentence when a file at this place must not be read, whether it is there or not. */
  check(source: string): Promise<void>;
}

export interface ItemVisitOptions {
  /** Name of the lock's owner, for people. */
  readonly worker: string;
  /** due: only if `nextCrawlAt` has passed. */
  readonly when: "due" | "always";
  /** Sends unconditional requests even if no reindex was requested. */
  readonly force: boolean;
  readonly tell?: Tell;
  readonly signal: AbortSignal;
  /** Called regularly during the visit; false: abort. */
  readonly heartbeat?: () => Promise<boolean>;
}

export type ItemVisitResult =
  | { readonly kind: "visited"; readonly visit: Visit }
  | { readonly kind: "absent" | "not due" }
  /** Another worker holds the lock until then, unless it renews. */
  | { readonly kind: "busy"; readonly until: string };

/** Locks registry items and visits them; one visit per item at a time across processes. */
export interface ItemFetcher {
  fetch(id: ItemId, options: ItemVisitOptions): Promise<ItemVisitResult>;
}
