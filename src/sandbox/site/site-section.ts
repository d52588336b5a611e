/** A page as a crawl ought to end up with it. */
export interface SitePage {
  /** Path and query, as the site itself spells it. */
  readonly path: string;
  /** A word that only this page has (and its copies, where a section makes some). */
  readonly word: string;
  /** Links from the front page. */
  readonly depth: number;
  /** What a crawl that knows the page is sent again although nothing changed: see `Validators`. */
  readonly resends: "never" | "once" | "always";
}

/**
 * What a page says of its version, and whether it is true.
 * both: ETag and Last-Modified. etag, date: only one. none: neither. deaf: an ETag, but conditions are not listened to.
 * restless: another ETag for every answer. stuck: the same ETag whatever changes.
 */
export type Validators = "both" | "etag" | "date" | "none" | "deaf" | "restless" | "stuck";

/** What lies at an address; made only when it is sent. */
export interface SiteDocument {
  readonly kind: "document";
  readonly contentType: string;
  readonly validators: Validators;
  readonly headers?: Readonly<Record<string, string>>;
  /** How long the server thinks about it first. */
  readonly delayMs?: number;
  body(): string | Uint8Array;
}

export interface SiteRedirect {
  readonly kind: "redirect";
  readonly status: 301 | 302 | 303 | 307 | 308;
  /** As it is sent: absolute, relative, or nonsense. */
  readonly location: string;
}

/** How an answer goes wrong. stall: half of the body, and then nothing any more. */
export type Trouble =
  | { readonly how: "status"; readonly status: number; readonly retryAfterSeconds?: number }
  | { readonly how: "cut" | "reset" | "stall" };

export interface SiteTrouble {
  readonly kind: "trouble";
  readonly trouble: Trouble;
}

export type SiteAnswer = SiteDocument | SiteRedirect | SiteTrouble;

export interface SiteAsked {
  /** As sent, still percent-encoded. */
  readonly path: string;
  /** With the question mark, or "". */
  readonly query: string;
  /** How often the path was asked for before, whatever the query. */
  readonly timesAsked: number;
  /** How often it was edited. */
  readonly revision: number;
  /** What the last edit added to it, "" for nothing in particular. */
  readonly note: string;
}

/** What a section may know of the site around it. */
export interface SiteAround {
  readonly seed: string;
  /** `http://127.0.0.1:port` */
  readonly origin: string;
  /** The same server under another name: another site to whoever goes by names. */
  readonly otherOrigin: string;
  isLinked(path: string): boolean;
  /** Answered 404 or 410 by request. */
  isDeleted(path: string): boolean;
}

/** One peculiarity of the web, below a path of its own. */
export interface SiteSection {
  /** `/<name>/…` is its own. */
  readonly name: string;
  /** Further first segments that belong to it: `/sitemap.xml`; `*`: those that are nobody's. */
  readonly alsoAt?: readonly string[];
  /** Links of the front page to it, as they are spelled there. */
  readonly entrances: readonly string[];
  /** Markup in the head of the front page. */
  readonly head?: string;
  /** Lines of robots.txt. */
  readonly robots?: readonly string[];
  /** Where a crawl ends up that goes so deep. Deleted and unlinked ones are left out by the site. */
  pages(maxDepth: number): Iterable<SitePage>;
  /** undefined: 404. */
  answer(asked: SiteAsked): SiteAnswer | undefined;
}

export type MakeSection = (around: SiteAround) => SiteSection;
