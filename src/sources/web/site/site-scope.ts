import { matchGlob } from "../../../lib/glob.ts";
import { trimEnd } from "../../../lib/text.ts";
import { isSameSite, parseAddress } from "../../../plan/web/item-identity.ts";
import type { WebSourceConfig } from "../web-source-codec.ts";

const MAX_ORIGINS = 10_000;

type Test = (path: string) => boolean;

/** Which addresses belong to a web source. */
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

  /** Of the registrable domain of a start address. */
  isOfSite(url: string): boolean {
    // Asked for every link of every page: an address is taken apart once for each host.
    const end = url.indexOf("/", "https://".length);
    const origin = end < 0 ? url : url.slice(0, end);
    const known = this.#origins.get(origin);
    if (known !== undefined) return known;
    const isOurs = /^https?:/.test(url) && this.#starts.some((start) => isSameSite(start, url));
    if (this.#origins.size < MAX_ORIGINS) this.#origins.set(origin, isOurs);
    return isOurs;
  }

  /** Of what a page links to, what is of the site, without what nobody should write down. */
  linksOf(links: readonly string[]): string[] {
    const own = links.filter((link) => this.isOfSite(link));
    return own.map((link) => (/[?@]/.test(link) ? parseAddress(link).href : link));
  }

  /** Of the site, and wanted by the rules of the source. */
  has(url: string): boolean {
    if (!this.isOfSite(url)) return false;
    if (this.#include.length + this.#exclude.length === 0) return true;
    const { pathname, search, href, hash } = new URL(url);
    const path = readable(pathname);
    const forms = [path, trimEnd(path, "/") || "/", path + search, href.slice(0, href.length - hash.length)];
    const isMet = (match: Test): boolean => forms.some((form) => match(form));
    return (this.#include.length === 0 || this.#include.some(isMet)) && !this.#exclude.some(isMet);
  }
}

function readable(pathname: string): string {
  try {
    return decodeURI(pathname);
  } catch {
    return pathname;
  }
}
