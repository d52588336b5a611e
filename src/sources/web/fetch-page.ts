import { BadInputError } from "../../contracts/errors.ts";
import type { ContentState, HttpState } from "../../contracts/registry.ts";
import type { VisitOptions } from "../../contracts/web.ts";
import { trimEnd } from "../../lib/text.ts";
import {
  endsInSlash,
  identifyTwin,
  isSameSite,
  isTwin,
  otherSlash,
  parseAddress,
  withSlash,
} from "../../plan/web/item-identity.ts";
import { hasDocument } from "../../plan/web/item-state.ts";
import { withoutSlots } from "../../plan/web/session-slots.ts";
import { type HostProbes, isNotFoundPage } from "./host-probes.ts";
import { type PageReading, readPage } from "./read-page.ts";
import {
  isReadAlike,
  type PageFailure,
  type PageRedirect,
  type PageRefusal,
  type PageUnchanged,
  type RequestOptions,
  type ResolvedUrl,
  requestPage,
  resolveUrl,
  type VisitorParts,
  withSpelling,
} from "./request-page.ts";

/** The result for a URL that is not a redirect. */
export type PageResult =
  | PageReading
  | PageUnchanged
  /** It was visited in this crawl; its record is used. */
  | { readonly kind: "fresh" }
  | { readonly kind: "missing"; readonly status: number }
  | PageRefusal
  | PageFailure;

/** A URL that led to another one. */
export interface RedirectHop {
  readonly resolved: ResolvedUrl;
  readonly http: Partial<HttpState>;
  readonly content?: Partial<ContentState>;
}

/** The redirects from a URL, and the result at their end. */
export interface RedirectChain {
  readonly hops: readonly RedirectHop[];
  readonly resolved: ResolvedUrl;
  readonly result: PageResult;
}

/** Without the address, which must not be written down again. */
const ERASED = "It leads to a page that was erased.";
const MAX_REDIRECTS = 10;
const FORCED_ROBOTS_AGE_MS = 5 * 60_000;
export const PERMANENT: ReadonlySet<number> = new Set([301, 308]);

/** Requests a URL and follows redirects, each with the validators of its own record. */
export class PageFetcher {
  readonly #parts: VisitorParts;
  readonly #options: VisitOptions;
  readonly #probes: HostProbes | undefined;
  readonly #now: Date;
  readonly #start: string;
  readonly #cookies = new CookieJar();

  constructor(parts: VisitorParts, options: VisitOptions, probes: HostProbes | undefined, now: Date, start: string) {
    this.#parts = parts;
    this.#options = options;
    this.#probes = probes;
    this.#now = now;
    this.#start = start;
  }

  /** `isTwin`: see `identifyTwin`. */
  resolveUrl(address: string, { isTwin = false } = {}): Promise<ResolvedUrl> {
    const { force } = this.#options;
    return resolveUrl(address, this.#parts, this.#now, { force, isTwin });
  }

  isInScope(url: string): boolean {
    return this.#options.inScope ? this.#options.inScope(url) : isSameSite(url, this.#start);
  }

  async chain(from: ResolvedUrl, before: readonly RedirectHop[] = []): Promise<RedirectChain> {
    const hops = [...before];
    /** URLs requested so far, and how many cookies were sent. */
    const asked = new Map<string, number>();
    let missing: RedirectChain | undefined;
    let resolved = from;
    for (let redirects = 0; ; redirects += 1) {
      if (hops.length > 0 && this.#isFresh(resolved, hops)) {
        // The record may have been read before that visit wrote it.
        const visited = await this.resolveUrl(resolved.identity.foundSource);
        if (this.#isFresh(visited, hops)) return { hops, resolved: visited, result: { kind: "fresh" } };
      }
      asked.set(resolved.url, this.#cookies.count);
      const isForced = hops.some((each) => each.resolved.context.isForced);
      const result = await this.request(resolved, { hops, ...(isForced && { unconditional: true }) });
      if (result.kind === "missing") {
        missing ??= { hops: [...hops], resolved, result };
        const spellings = (await this.#hasTwin(resolved)) ? [] : [resolved.otherUrl, otherSpelling(resolved.url)];
        const other = spellings.find((url) => url !== "" && !asked.has(url));
        if (other === undefined) return missing;
        resolved = withSpelling(resolved, other);
        continue;
      }
      // If the other spelling is refused or fails, the first one is still missing.
      const notThere = missing?.resolved.id === resolved.id ? missing : undefined;
      if (missing && result.kind === "refused") return missing;
      if (notThere && result.kind === "failed") return notThere;
      if (result.kind !== "redirect") return { hops, resolved, result };
      const next = await this.#next(resolved, result);
      if ("kind" in next) return notThere ?? { hops, resolved, result: next };
      const isCircle = asked.get(next.url) === this.#cookies.count;
      const problem = isCircle ? "in a circle" : redirects >= MAX_REDIRECTS ? `more than ${MAX_REDIRECTS} times` : "";
      if (problem && missing) return missing;
      if (problem && result.isRefresh) return { hops, resolved, result: await this.#read(resolved) };
      if (problem) {
        const reason = `It is redirected ${problem}.`;
        return { hops, resolved, result: { kind: "failed", reason, statusCode: result.status, isLasting: true } };
      }
      if (next.id !== resolved.id) hops.push({ resolved, http: redirectedHttp(result.status, next.url) });
      // Back at an earlier URL, now with a cookie: the hops between only served to set it.
      const met = asked.has(next.url) ? hops.findIndex((each) => each.resolved.id === next.id) : -1;
      if (met >= 0) hops.splice(met);
      resolved = next;
    }
  }

  /** Whether the URL with or without a slash at its end is another item. */
  async #hasTwin({ identity: { type, normalizedSource, foundSource } }: ResolvedUrl): Promise<boolean> {
    if (isTwin({ type, normalizedSource })) return true;
    const twin = await this.#parts.registry.get(identifyTwin(foundSource, this.#parts.rules).id);
    return twin !== undefined && hasDocument(twin.item);
  }

  /** Reads a page whose `refresh` leads in a circle. */
  async #read(resolved: ResolvedUrl): Promise<Exclude<PageResult, { kind: "fresh" }>> {
    const result = await this.request(resolved, { unconditional: true, staysPut: true });
    return result.kind === "redirect" ? { kind: "failed", reason: "It changed during the visit." } : result;
  }

  /** Requests one URL and reads the response. Does not follow redirects. */
  async request(
    resolved: ResolvedUrl,
    {
      unconditional = !this.#mayBeUnchanged(resolved),
      staysPut = false,
      hops = [],
    }: { unconditional?: boolean; staysPut?: boolean; hops?: readonly RedirectHop[] } = {},
  ): Promise<Exclude<PageResult, { kind: "fresh" }> | PageRedirect> {
    const { tell, signal } = this.#options;
    const options = { ...this.#rulesFor(resolved), unconditional, staysPut, cookies: this.#cookies, tell, signal };
    const answer = await requestPage(resolved, this.#parts, options);
    if (answer.kind !== "body") return answer;
    const { listedDate } = this.#options;
    const reading = await readPage(answer.response, resolved, this.#parts, { tell, listedDate, signal });
    if (reading.kind !== "read" || !reading.isHtml || !reading.page) return reading;
    if (reading.page.isSignIn) return signInAt(resolved, reading, hops);
    const { refresh } = reading.page;
    if (refresh !== "" && refresh !== resolved.url && !staysPut) {
      return { kind: "redirect", status: answer.response.status, target: refresh, isRefresh: true };
    }
    const isNotFound =
      isNotFoundPage(reading.page) || ((await this.#probes?.isNotFound(resolved.url, reading.page, signal)) ?? false);
    return isNotFound ? { kind: "missing", status: 404 } : reading;
  }

  /** Each crawl reads robots.txt again; a forced visit does not use one older than a few minutes. */
  #rulesFor({ context }: ResolvedUrl): Pick<RequestOptions, "robotsMaxAgeMs"> {
    if (this.#probes) return { robotsMaxAgeMs: this.#probes.ageMs };
    return this.#options.force || context.isForced ? { robotsMaxAgeMs: FORCED_ROBOTS_AGE_MS } : {};
  }

  async #next(
    resolved: ResolvedUrl,
    { status, target }: PageRedirect,
  ): Promise<ResolvedUrl | PageRefusal | PageFailure> {
    try {
      if (isSameButForSession(target, resolved.url)) {
        const { keptUrl = resolved.url } = resolved;
        return { ...withSpelling(resolved, parseAddress(target).href), keptUrl };
      }
      const plain = (await this.#options.withoutSession?.(target)) ?? target;
      const next = await this.resolveUrl(plain);
      // Keeps tracking parameters on which the server insists.
      if (next.id === resolved.id || leadsToItself(target, resolved, next)) {
        return withSpelling(resolved, parseAddress(target).href);
      }
      if (this.#options.isErased?.(next.id)) return { kind: "refused", why: "other", reason: ERASED };
      if (this.isInScope(next.url)) return next;
      const { displaySource } = next.identity;
      // A redirect to a sign-in page does not mean that the page is gone.
      if (leadsToSignIn(next.url, resolved.url)) {
        const reason = `It redirects out of the site to sign in at ${displaySource}.`;
        return { kind: "failed", reason, statusCode: status, isLasting: true };
      }
      const reason = `It redirects out of the site to ${displaySource}.`;
      return { kind: "refused", why: "other", reason, instead: "site" };
    } catch (error) {
      if (error instanceof BadInputError) {
        const reason = "It is redirected to something that is no web address.";
        return { kind: "failed", reason, statusCode: status, isLasting: true };
      }
      throw error;
    }
  }

  /** The record does not tell everything about a refusal, so a refused target is requested again if a document depends on it. */
  #isFresh({ id, registered }: ResolvedUrl, hops: readonly RedirectHop[]): boolean {
    // The record of an item tells nothing of its visit in a dry run, which stored nothing: it is requested again.
    if (!registered || this.#options.dryRun || !this.#options.isFresh?.(id)) return false;
    return registered.item.status !== "OutOfScope" || !hops.some(({ resolved }) => hasDocument(resolved.item));
  }

  /** Whether a 304 would be enough. */
  #mayBeUnchanged({ item, context }: ResolvedUrl): boolean {
    const { force, includeImages = false } = this.#options;
    const isOut = item.status === "OutOfScope";
    const lacksImages = includeImages && !item.includeImages && !isOut;
    if (force || context.isForced || lacksImages) return false;
    const isKnown = item.content.contentHash !== "" || isOut;
    return isKnown && isReadAlike(item, this.#parts);
  }
}

/** Whether a twin is redirected to its own spelling: to have a cookie set, or with tracking parameters. */
function leadsToItself(target: string, { identity, url }: ResolvedUrl, next: ResolvedUrl): boolean {
  const isSame = isTwin(identity) && identity.normalizedSource === withSlash(next.identity.normalizedSource);
  return isSame && endsInSlash(target) === endsInSlash(url);
}

/** Whether a URL leads to itself with a session. */
function isSameButForSession(target: string, url: string): boolean {
  const [to] = withoutSlots(target);
  return to !== undefined && to.url === (withoutSlots(url)[0]?.url ?? url);
}

/** A sign-in form in place of a document counts like 403. A page that always was a sign-in form is refused. */
function signInAt(
  { item }: ResolvedUrl,
  { content, http }: PageReading,
  hops: readonly RedirectHop[],
): PageRefusal | PageFailure {
  const reason = "It is a sign-in form: the page is not shown to everybody.";
  const isInPlace = hops.some(({ resolved }) => hasDocument(resolved.item));
  if (!isInPlace && content.contentHash === item.content.contentHash) return { kind: "refused", why: "other", reason };
  return { kind: "failed", reason, statusCode: http.statusCode ?? 200, isLasting: true };
}

const SIGN_IN = /^(?:(?:wp-)?log[-_]?[io]n|sign[-_]?[io]n|sso|oauth2?|openid|authenticate|authorize|saml2?|adfs|idp)$/i;
/** Also names of ordinary pages: they count only with a query. */
const MAYBE_SIGN_IN = /^(?:auth|authentication|cas|accounts?|identity)$/i;
const HANDS_OVER = /\/(?:adfs|idp|oauth2?|openid-connect|saml2?)\//i;

/** Whether `target` looks like a sign-in page: by its name, or because a parameter leads back to `from`. A page that keeps its name has moved. */
function leadsToSignIn(target: string, from: string): boolean {
  const to = new URL(target);
  const page = new URL(from);
  const isCalledSo = (name: string): boolean => SIGN_IN.test(name) || (to.search !== "" && MAYBE_SIGN_IN.test(name));
  if (isCalledSo(to.hostname.split(".")[0] ?? "")) return true;
  const [name, known] = [to, page].map(({ pathname }) => trimEnd(pathname, "/").split("/").at(-1) ?? "");
  if (name !== "" && name === known) return false;
  const isBack = [...to.searchParams.values()].some((value) => {
    const back = /^(?:\/.|https?:)/i.test(value) ? URL.parse(value, page.origin) : null;
    return back?.host === page.host && trimEnd(back.pathname, "/") === trimEnd(page.pathname, "/");
  });
  const isHandedOver = to.search !== "" && HANDS_OVER.test(to.pathname);
  return isBack || isHandedOver || isCalledSo((name ?? "").replace(/\.[a-z]{2,5}$/i, ""));
}

/** Returns the spelling that some servers know alone; "" for a file or the front page. */
function otherSpelling(url: string): string {
  const { pathname } = new URL(url);
  const isFile = pathname.slice(pathname.lastIndexOf("/")).includes(".");
  return pathname === "/" || isFile ? "" : otherSlash(url);
}

function redirectedHttp(statusCode: number, target: string): Partial<HttpState> {
  return { statusCode, redirectChain: [target], etag: "", lastModified: "", canonicalUrl: "" };
}

const MAX_COOKIES = 50;
const MAX_CHARACTERS = 4096;

interface Cookie {
  readonly value: string;
  readonly domain: string;
}

/** Cookies of one visit: some servers redirect until their cookie is sent. Never stored. */
class CookieJar {
  readonly #cookies = new Map<string, Cookie>();
  #names = new Set<string>();

  /** Number of different cookies received; a new value of a known one does not count. */
  get count(): number {
    return this.#names.size;
  }

  take(url: URL, fields: readonly string[]): void {
    for (const field of fields) {
      const [pair = "", ...attributes] = field.slice(0, MAX_CHARACTERS).split(";");
      const at = pair.indexOf("=");
      const name = pair.slice(0, Math.max(at, 0)).trim();
      const value = pair.slice(at + 1).trim();
      if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name) || /[^\x21-\x7e]/.test(value)) continue;
      const domain = domainOf(url, attributes);
      const key = `${name};${domain}`;
      if (attributes.some((each) => /^max-age\s*=\s*(?:-\d*|0*)$/i.test(each.trim()))) this.#cookies.delete(key);
      else if (this.#cookies.size < MAX_COOKIES || this.#cookies.has(key)) {
        this.#cookies.set(key, { value, domain });
        this.#names.add(key);
      }
    }
  }

  /** Returns the value of the `Cookie` header, "" for none. */
  of({ hostname }: URL): string {
    const own = [...this.#cookies].filter(([, { domain }]) => hostname === domain || hostname.endsWith(`.${domain}`));
    return own.map(([key, { value }]) => `${key.slice(0, key.indexOf(";"))}=${value}`).join("; ");
  }
}

/** Returns the cookie's `Domain` if the host lies below it, else the host. */
function domainOf(url: URL, attributes: readonly string[]): string {
  const named = attributes
    .map((each) => /^domain\s*=\s*\.?([\w.-]+)$/i.exec(each.trim())?.[1]?.toLowerCase())
    .find(Boolean);
  const isAbove =
    named?.includes(".") && url.hostname.endsWith(`.${named}`) && isSameSite(url.href, `https://${named}/`);
  return named && isAbove ? named : url.hostname;
}
