import type { TextReader } from "../../contracts/document.ts";
import { CancelledError } from "../../contracts/errors.ts";
import type { ItemId } from "../../contracts/ids.ts";
import type { HttpState, IngestItem, RegisteredItem, Registry } from "../../contracts/registry.ts";
import type {
  PageRenderer,
  Tell,
  WebClient,
  WebCookies,
  WebDocuments,
  WebImages,
  WebPageReader,
  WebResponse,
  WebResult,
} from "../../contracts/web.ts";
import { sha256Of } from "../../lib/hash.ts";
import { parseRefresh } from "../../lib/html.ts";
import { toInstant } from "../../lib/time.ts";
import {
  endsInSlash,
  type Identity,
  type IdentityRules,
  identifyTwin,
  identifyUrl,
} from "../../plan/web/item-identity.ts";
import { type CheckPolicy, newItem } from "../../plan/web/item-state.ts";
import { beginVisit, type VisitContext } from "../../plan/web/item-transitions.ts";

/** What visits of pages work with. */
export interface VisitorParts {
  readonly client: WebClient;
  readonly registry: Registry;
  readonly reader: WebPageReader;
  /** Reads other formats: PDF, Office. */
  readonly texts: TextReader;
  readonly documents: WebDocuments;
  readonly images: WebImages;
  /** undefined: pages that need scripts are reported, not rendered. */
  readonly renderer: PageRenderer | undefined;
  readonly rules: IdentityRules;
  readonly policy: CheckPolicy;
  /** Extensions that are fetched, without dot. */
  readonly acceptedTypes: ReadonlySet<string>;
  readonly maxBytes: number;
  readonly now?: () => Date;
}

/** The response to one request, before its body is read. */
type PageResponse =
  | { readonly kind: "body"; readonly response: WebResponse }
  | PageRedirect
  | PageUnchanged
  | { readonly kind: "missing"; readonly status: number }
  | PageRefusal
  | PageFailure;

export interface PageRedirect {
  readonly kind: "redirect";
  readonly status: number;
  readonly target: string;
  /** A `refresh`, not a 3xx: the response has a page that can be read instead. */
  readonly isRefresh?: boolean;
}

export interface PageUnchanged {
  readonly kind: "unchanged";
  readonly http: Partial<HttpState>;
  /** `X-Robots-Tag` of this response says noindex. */
  readonly noindex: boolean;
}

export interface PageRefusal {
  readonly kind: "refused";
  readonly why: "robots" | "other";
  readonly reason: string;
  /** Validators of the refused response: a later 304 means that it is still refused. */
  readonly http?: Partial<HttpState>;
  readonly mimeType?: string;
  /** Reader revision that refused it; default: the reader's own. */
  readonly revision?: string;
  /** What replaced the document. Such a refusal of a known document must be confirmed by later visits; without it, it counts at once. */
  readonly instead?: string;
}

/** Temporary, unless `isLasting`. */
export interface PageFailure {
  readonly kind: "failed";
  readonly reason: string;
  readonly statusCode?: number;
  readonly retryAfterMs?: number;
  /** Caused by the host, not by the page. */
  readonly isHostFailure?: boolean;
  /** No request was sent. */
  readonly isDeferred?: boolean;
  /** A retry will hardly help: an unknown URL is refused. A known document stays. */
  readonly isLasting?: boolean;
}

/** Markdown first: pages are converted to it anyway. */
const ACCEPT = "text/markdown, text/html;q=0.9, application/xhtml+xml;q=0.9, */*;q=0.5";
/** Larger files are checked with HEAD first. */
const LARGE_BYTES = 1024 * 1024;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);

export interface RequestOptions {
  /** Do not send validators. */
  readonly unconditional: boolean;
  readonly robotsMaxAgeMs?: number;
  /** Read the page even if it has a `refresh`. */
  readonly staysPut?: boolean;
  readonly cookies?: WebCookies;
  readonly tell?: Tell | undefined;
  readonly signal: AbortSignal;
}

/** Sends one request, conditional where a 304 is enough. Throws only when the signal aborts. */
export async function requestPage(
  resolved: ResolvedUrl,
  parts: VisitorParts,
  options: RequestOptions,
): Promise<PageResponse> {
  const { http } = resolved.item;
  const known = options.unconditional ? NOTHING : { etag: http.etag, lastModified: http.lastModified };
  const isConditional = known.etag !== "" || known.lastModified !== "";
  // A 304 need not repeat the header for which the page was refused.
  const isRefused = isRefusedByHeader(resolved.item, parts);
  if (isConditional && (isRefused || isLarge(resolved.item))) {
    const head = await send(resolved, parts, "HEAD", isRefused ? NOTHING : known, options);
    const answer = judgeHead(head, resolved, { isRefused });
    if (answer) return answer;
    return judge(await send(resolved, parts, "GET", NOTHING, options), resolved, NOTHING, options);
  }
  return judge(await send(resolved, parts, "GET", known, options), resolved, known, options);
}

interface Validators {
  readonly etag: string;
  readonly lastModified: string;
}
const NOTHING: Validators = { etag: "", lastModified: "" };

async function send(
  { url }: ResolvedUrl,
  { client, maxBytes }: VisitorParts,
  method: "GET" | "HEAD",
  known: Validators,
  { tell, robotsMaxAgeMs, cookies, signal }: RequestOptions,
): Promise<WebResult> {
  const rules = { ...(robotsMaxAgeMs !== undefined && { robotsMaxAgeMs }), ...(cookies && { cookies }) };
  const request = { url, method, ...known, accept: ACCEPT, maxBytes, ...rules, signal };
  const answer = await client.send(tell ? { ...request, tell } : request);
  if (signal.aborted && answer.kind === "response") await answer.cancel();
  throwIfStopped(signal);
  return answer;
}

/** Whether a HEAD request pays off: large documents, and registered files. */
function isLarge({ http, content, watched }: IngestItem): boolean {
  return http.contentLength > LARGE_BYTES || (watched && content.documentType !== "md" && content.documentType !== "");
}

/** Returns undefined if a GET is needed. */
function judgeHead(
  answer: WebResult,
  resolved: ResolvedUrl,
  { isRefused }: { readonly isRefused: boolean },
): PageResponse | undefined {
  const { http } = resolved.item;
  if (answer.kind !== "response") return refusalOf(answer, resolved.item);
  const { status, headers } = answer;
  const unchanged = unchangedBy(answer, resolved, { statusCode: status });
  if (isRefused && !unchanged.noindex) return undefined;
  if (status === 304) return unchanged;
  if (status !== 200) return undefined;
  const etag = headers.get("etag") ?? "";
  const isSame =
    etag !== "" && http.etag !== ""
      ? etag === http.etag
      : http.lastModified !== "" &&
        isSameInstant(headers.get("last-modified") ?? "", http.lastModified) &&
        Number(headers.get("content-length") ?? -1) === http.contentLength;
  return isSame ? unchanged : undefined;
}

/** Records of earlier versions hold the header unparsed. */
function isSameInstant(header: string, known: string): boolean {
  return toInstant(header) !== "" && toInstant(header) === toInstant(known);
}

function unchangedBy({ headers }: WebResponse, { url }: ResolvedUrl, http: Partial<HttpState>): PageUnchanged {
  return { kind: "unchanged", http, noindex: readHeaderDirectives(headers, url).noindex };
}

async function judge(
  answer: WebResult,
  resolved: ResolvedUrl,
  known: Validators,
  { staysPut = false }: RequestOptions,
): Promise<PageResponse> {
  if (answer.kind !== "response") return refusalOf(answer, resolved.item);
  const { status, headers } = answer;
  if (status === 200 || status === 203) {
    const isSame = known.etag !== "" && !known.etag.startsWith("W/") && headers.get("etag") === known.etag;
    const elsewhere = staysPut ? "" : refreshTarget(headers.get("refresh") ?? "", resolved.url);
    if (elsewhere !== "") {
      await answer.cancel();
      return { kind: "redirect", status, target: elsewhere, isRefresh: true };
    }
    if (!isSame) return { kind: "body", response: answer };
    await answer.cancel();
    return unchangedBy(answer, resolved, { statusCode: status });
  }
  await answer.cancel();
  const isConditional = known.etag !== "" || known.lastModified !== "";
  if (status === 304 && isConditional) return unchangedBy(answer, resolved, { statusCode: status });
  if (status === 404 || status === 410) return { kind: "missing", status };
  const location = headers.get("location") ?? "";
  const target = REDIRECTS.has(status) && location !== "" ? URL.parse(location, resolved.url)?.href : undefined;
  if (target !== undefined) return { kind: "redirect", status, target };
  return { kind: "failed", reason: whyNot(status, location), statusCode: status, isLasting: status !== 304 };
}

const MAX_REFRESH_SECONDS = 5;

/** Returns the target of a `Refresh` header within a few seconds, "" for none. */
function refreshTarget(header: string, url: string): string {
  const refresh = parseRefresh(header);
  if (!refresh || refresh.seconds > MAX_REFRESH_SECONDS) return "";
  const target = URL.parse(refresh.target, url);
  if (!target || !/^https?:$/.test(target.protocol)) return "";
  target.hash = "";
  return target.href === url ? "" : target.href;
}

function whyNot(status: number, location: string): string {
  if (status === 401 || status === 403) return `The server answered ${status}: the page is not shown to everybody.`;
  if (status === 304) return 'The server answered 304 "not modified" although nothing was known of the page.';
  if (REDIRECTS.has(status)) {
    return location
      ? `The server answered ${status} and leads to something that is no address.`
      : `The server answered ${status} without saying where the page is.`;
  }
  return `The server answered ${status}.`;
}

function refusalOf(answer: Exclude<WebResult, WebResponse>, item: IngestItem): PageRefusal | PageFailure {
  if (answer.kind === "refused") {
    const { why, reason } = answer;
    // A known page is not removed because its host resolves to another address today, or sends a body that cannot be decompressed.
    const isKnown = item.content.contentHash !== "";
    if (isKnown && (why === "broken" || why === "address")) return { kind: "failed", reason };
    if (why === "robots") return { kind: "refused", why, reason };
    return { kind: "refused", why: "other", reason, instead: why };
  }
  const { reason, status, retryAfterMs, isDeferred = false } = answer;
  return {
    kind: "failed",
    reason,
    isHostFailure: true,
    isDeferred,
    ...(status !== undefined && { statusCode: status }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  };
}

/** A URL with its identity and its registry record. */
export interface ResolvedUrl {
  readonly id: ItemId;
  readonly identity: Identity;
  /** The URL that is requested. */
  readonly url: string;
  /** The URL that is kept, if the requested one has a session. */
  readonly keptUrl?: string;
  /** The spelling found this time, if it differs from the recorded one; else "". */
  readonly otherUrl: string;
  readonly registered: RegisteredItem | undefined;
  /** The registry record, or a new one. */
  readonly item: IngestItem;
  readonly context: VisitContext;
}

/**
 * Looks up the registry record of a URL. The spelling that responded last time is requested, however it is spelt now.
 * `isTwin`: see `identifyTwin`; the slash at its end is requested as it is given.
 */
export async function resolveUrl(
  address: string,
  { registry, rules }: Pick<VisitorParts, "registry" | "rules">,
  now: Date,
  { force = false, isTwin = false } = {},
): Promise<ResolvedUrl> {
  const identity = isTwin ? identifyTwin(address, rules) : identifyUrl(address, rules);
  const registered = await registry.get(identity.id);
  const item = registered?.item ?? newItem(identity, now);
  const isRespelt = isTwin && endsInSlash(item.foundSource) !== endsInSlash(identity.foundSource);
  const url = isRespelt ? identity.foundSource : item.foundSource;
  const otherUrl = url === identity.foundSource ? "" : identity.foundSource;
  return { id: identity.id, identity, url, otherUrl, registered, item, context: beginVisit(item, now, { force }) };
}

/** Returns the same item with another spelling of its URL. */
export function withSpelling(resolved: ResolvedUrl, url: string): ResolvedUrl {
  return { ...resolved, url, otherUrl: "" };
}

/** Directives in the response headers. */
export interface HeaderDirectives {
  readonly noindex: boolean;
  readonly nofollow: boolean;
  /** Absolute, "" for none. */
  readonly canonical: string;
  /** The page in other languages. */
  readonly alternates: readonly string[];
  /** Filename of a download, "" for none. */
  readonly filename: string;
}

const OURS = "lockstep";
/** Directives that have a colon themselves. */
const WITH_VALUE = new Set(["unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"]);

export function readHeaderDirectives(headers: ReadonlyMap<string, string>, url: string): HeaderDirectives {
  const directives = new Set(robotsDirectives(headers.get("x-robots-tag") ?? ""));
  const none = directives.has("none");
  return {
    noindex: none || directives.has("noindex"),
    nofollow: none || directives.has("nofollow"),
    canonical: linksIn(headers.get("link") ?? "", url, /;\s*rel\s*=\s*(?:"[^"]*\bcanonical\b|canonical\b)/i)[0] ?? "",
    alternates: linksIn(headers.get("link") ?? "", url, /;\s*hreflang\s*=/i),
    filename: filenameIn(headers.get("content-disposition") ?? ""),
  };
}

/** RFC 6266: the one in UTF-8 counts first. */
function filenameIn(disposition: string): string {
  const text = disposition.slice(0, 2000);
  const encoded = /;\s*filename\*\s*=\s*"?[\w-]*'[\w-]*'([^;"\s]+)/i.exec(text)?.[1];
  const [, quoted, plain] = /;\s*filename\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^;\s]+))/i.exec(text) ?? [];
  const name = decoded(encoded ?? "") || (quoted?.replaceAll(/\\(.)/g, "$1") ?? plain ?? "");
  return name.split(/[/\\]/).at(-1)?.trim() ?? "";
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}

/**
 * `noindex, otherbot: nofollow`. Several headers arrive as one, so it cannot be told where those for another robot end:
 * what has no name before it counts as meant for everybody.
 */
function robotsDirectives(header: string): string[] {
  if (header === "") return [];
  return header
    .toLowerCase()
    .split(",")
    .flatMap((part) => {
      const [name = "", directive] = part.split(":", 2).map((text) => text.trim());
      if (directive === undefined || WITH_VALUE.has(name)) return [name];
      return name === OURS || name === "*" ? [directive] : [];
    });
}

const MAX_LINK_HEADER = 8192;

/** Returns the targets of `<https://example.com/a>; rel="canonical"` whose parameters match `wanted`. */
function linksIn(header: string, url: string, wanted: RegExp): string[] {
  if (header === "") return [];
  return header
    .slice(0, MAX_LINK_HEADER)
    .split(/,(?=\s*<)/)
    .flatMap((part) => {
      const [, target, parameters = ""] = /^\s*<([^>]*)>(.*)$/s.exec(part) ?? [];
      return target === undefined || !wanted.test(parameters) ? [] : (URL.parse(target, url)?.href ?? []);
    });
}

/** What besides the reader's revision decides how a response is read. */
type ReadWith =
  /** Nothing else. */
  | "reader"
  /** Its scripts did not run; a browser would show more. */
  | "no browser"
  /** It was not read because its type is not accepted. */
  | "accepted types"
  /** It was refused because of its headers. */
  | "headers";

const ALL_WAYS: readonly ReadWith[] = ["reader", "no browser", "accepted types", "headers"];

/** Returns a revision that changes when the same response would be read differently; "" if every reading may differ. */
export function readingRevision(parts: VisitorParts, how: ReadWith): string {
  const { revision } = parts.reader;
  if (how === "reader") return revision;
  if (how === "no browser") return parts.renderer ? "" : `${revision} without a browser`;
  if (how === "headers") return `${revision} by its headers`;
  return `${revision} for ${digestOf(parts.acceptedTypes)}`;
}

/** Whether the item would be read the same way again. */
export function isReadAlike({ content }: IngestItem, parts: VisitorParts): boolean {
  const now = ALL_WAYS.map((how) => readingRevision(parts, how));
  return content.readerRevision !== "" && now.includes(content.readerRevision);
}

/** Whether the item was refused because of its headers: it may be indexed as soon as they change. */
function isRefusedByHeader({ content }: IngestItem, parts: VisitorParts): boolean {
  return content.readerRevision === readingRevision(parts, "headers");
}

const digests = new WeakMap<ReadonlySet<string>, string>();

function digestOf(types: ReadonlySet<string>): string {
  const known = digests.get(types);
  if (known) return known;
  const digest = sha256Of([...types].sort().join()).slice(0, 8);
  digests.set(types, digest);
  return digest;
}

/** Throws the signal's own CancelledError if it has one, so that the caller's reason survives. */
export function throwIfStopped(signal: AbortSignal): void {
  if (!signal.aborted) return;
  if (signal.reason instanceof CancelledError) throw signal.reason;
  throw new CancelledError("visit web pages: stopped", { cause: signal.reason });
}
