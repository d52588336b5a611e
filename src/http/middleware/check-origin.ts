import { RefusedError } from "../routing/failure.ts";

/**
 * Refuses requests from other sites and prefetches: a link, image or form elsewhere must not start a crawl or delete a domain.
 * Browsers say where a request comes from; clients that do not (curl, scripts) pass, unless they carry a session cookie.
 */
export function refuseCrossSite(request: Request, { exceptSilent = false } = {}): void {
  const from = provenanceOf(request);
  if (from === "foreign" || (from === "silent" && !exceptSilent)) {
    throw new RefusedError(403, "Request refused: it comes from another site.");
  }
  const purpose = ["purpose", "sec-purpose", "x-moz", "x-purpose"].map((name) => request.headers.get(name) ?? "");
  if (purpose.some((value) => /prefetch|prerender|preview/i.test(value))) {
    throw new RefusedError(403, "Request refused: this address changes something and must not be prefetched.");
  }
}

/** Refuses requests that one of our pages did not send. */
export function requireOwnPage(request: Request): void {
  refuseCrossSite(request);
  if (provenanceOf(request) !== "own")
    throw new RefusedError(403, "Request refused: it does not come from a page of this server.");
}

/**
 * Where a request comes from. `own`: one of our pages. `foreign`: another site. `typed`: a person typed the address, or followed a
 * link in a mail or a document. `silent`: unknown, but with a session cookie, so from a browser. `program`: anything else.
 */
export type Provenance = "own" | "foreign" | "typed" | "silent" | "program";

export function provenanceOf(request: Request): Provenance {
  const site = request.headers.get("sec-fetch-site");
  if (site === "none") return carriesKey(request) ? "program" : "typed";
  const from = request.headers.get("origin") ?? request.headers.get("referer");
  if (site === "same-origin") return from === null && opensAddress(request) && !carriesKey(request) ? "typed" : "own";
  if (site !== null) return "foreign";
  // Browsers omit Sec-Fetch-Site without https, and Origin for most GET requests.
  if (from !== null) return isOwn(from, request) ? "own" : "foreign";
  if (carriesSession(request)) return "silent";
  return !carriesKey(request) && isBrowser(request) ? "typed" : "program";
}

/** Whether the browser opens a page. Without a referrer, it did not follow one of our links: links in documents are `noreferrer`. */
function opensAddress({ headers }: Request): boolean {
  return headers.get("sec-fetch-dest") === "document";
}

/** Headers that only browsers send by default, for an opened address or an image. */
function isBrowser({ headers }: Request): boolean {
  if (headers.get("upgrade-insecure-requests") === "1" || /\btext\/html\b/i.test(headers.get("accept") ?? ""))
    return true;
  const agent = headers.get("user-agent") ?? "";
  return agent.startsWith("Mozilla/") && !agent.includes("PowerShell");
}

/**
 * Whether only a cookie authenticates the request: browsers send it with requests that other sites cause, too. A key is sent only by a
 * client that knows it.
 */
function carriesSession(request: Request): boolean {
  return !carriesKey(request) && /(^|;)\s*lockstep_session=/.test(request.headers.get("cookie") ?? "");
}

function carriesKey({ headers }: Request): boolean {
  return /^bearer /i.test(headers.get("authorization") ?? "") || headers.has("x-api-key") || headers.has("api-key");
}

function isOwn(origin: string, request: Request): boolean {
  const host = request.headers.get("host") ?? new URL(request.url).host;
  return URL.parse(origin)?.host === host;
}
