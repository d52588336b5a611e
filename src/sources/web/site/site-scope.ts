import { matchGlob } from "../../../lib/glob.ts";
import { trimEnd } from "../../../lib/text.ts";
import { isSameSite, parseAddress } from "../../../plan/web/item-identity.ts";
import type { WebSourceConfig } from "../web-source-codec.ts";

const MAX_ORIGINS = 10_000;

type Test = (path: string) => boolean;

/** Decides which URLs belong to a web source. */
export class SiteScope {
  readonly #starts: readonly string[];
  readonly #include: readonly Test[];
  readonly #exclude: readonly Test[];
  readonly #origins = new Map<string, boolean>();

  constructor({ startUrls, include, exclude }: WebSourceConfig) {
    this.#starts = startUrls;
    this.#include = include.map(matchGlob);
    this.#exclude = exclude.map(matchGlob);
  }

  /** Whether the URL has the registrable domain of a start URL. */
  isOfSite(url: string): boolean {
    // Called for every link of every page: parses a URL once per origin.
    const end = url.indexOf("/", "https://".length);
    const origin = end < 0 ? url : url.slice(0, end);
    const known = this.#origins.get(origin);
    if (known !== undefined) return known;
    const isOurs = /^https?:/.test(url) && this.#starts.some((start) => isSameSite(start, url));
    if (this.#origins.size < MAX_ORIGINS) this.#origins.set(origin, isOurs);
    return isOurs;
  }

  /** Returns the links that belong to the site, without secrets. */
  linksOf(links: readonly string[]): string[] {
    const own = links.filter((link) => this.isOfSite(link));
    return own.map((link) => (/[?@]/.test(link) ? parseAddress(link).href : link));
  }

  /** Whether the URL belongs to the site and passes include and exclude. */
  has(url: string): boolean {
    if (!this.isOfSite(url)) return false;
    if (this.#include.length + this.#exclude.length === 0) return true;
    const { pathname, search, href, hash } = new URL(url);
    const path = decodedPath(pathname);
    const forms = [path, trimEnd(path, "/") || "/", path + search, href.slice(0, href.length - hash.length)];
    const matches = (match: Test): boolean => forms.some((form) => match(form));
    return (this.#include.length === 0 || this.#include.some(matches)) && !this.#exclude.some(matches);
  }
}

function decodedPath(pathname: string): string {
  try {
    return decodeURI(pathname);
  } catch {
    return pathname;
  }
}
