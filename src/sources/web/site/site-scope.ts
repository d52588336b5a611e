import { matchGlob } from "../../../lib/glob/match-glob.ts";
import { trimEnd } from "../../../lib/trim-end.ts";
import { isSameSite, parseAddress } from "../../../plan/web/web-identity.ts";
import type { WebSourceConfig } from "../web-source-codec.ts";

const MAX_ADDRESS_CHARACTERS = 2000;
const MAX_EQUAL_SEGMENTS = 3;
const MAX_ORIGINS = 10_000;
/** A visitor's number in the address: the page is the same without it. */
const SESSION = /^(phpsessid|jsessionid|aspsessionid\w*|cfid|cftoken)$/i;
/** The like, or the number of an article: the value tells. */
const MAYBE_SESSION = /^(sid|sessid|session_?id)$/i;
const SESSION_VALUE = /^[\w-]{16,}$/;
const SESSION_IN_PATH = /;(?:(?:jsessionid|phpsessid)=[^/?#]*|sid=[\w-]{16,})/gi;

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

/** The address without a session's number; undefined: one that only a site without end would link to. */
export function withoutTraps(url: string): string | undefined {
  if (url.length > MAX_ADDRESS_CHARACTERS) return undefined;
  const mayHaveSession = /[?;]/.test(url) && /sess|sid|cfid|cftoken/i.test(url);
  const address = mayHaveSession ? withoutSession(url) : url;
  const path = /^[^:]+:\/\/[^/?#]*([^?#]*)/.exec(address)?.[1] ?? "";
  return repeatsItself(path) ? undefined : address;
}

function withoutSession(url: string): string {
  const parsed = URL.parse(url);
  if (!parsed) return url;
  const isSession = ([name, value]: [string, string]): boolean =>
    SESSION.test(name) || (MAYBE_SESSION.test(name) && SESSION_VALUE.test(value));
  const sessions = [...parsed.searchParams].filter(isSession).map(([name]) => name);
  const path = parsed.pathname.replaceAll(SESSION_IN_PATH, "");
  if (sessions.length === 0 && path === parsed.pathname) return url;
  for (const name of sessions) parsed.searchParams.delete(name);
  parsed.pathname = path;
  return parsed.href;
}

/** `/a/b/a/b/a/b/a/b`: what a relative link on a page that answers under every address leads to. */
function repeatsItself(path: string): boolean {
  const segments = path.split("/").filter((segment) => segment !== "");
  if (segments.length <= MAX_EQUAL_SEGMENTS) return false;
  const counts = new Map<string, number>();
  for (const segment of segments) {
    const count = (counts.get(segment) ?? 0) + 1;
    if (count > MAX_EQUAL_SEGMENTS) return true;
    counts.set(segment, count);
  }
  return false;
}
