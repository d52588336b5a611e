import { RefusedError } from "../grammar/failure.ts";

/**
 * A link, image or form on another site must not start a crawl or delete a domain, and a browser must not by guessing ahead.
 * Browsers say where a request comes from; clients that say nothing (curl, scripts) are not browsers and pass, unless they are
 * signed in as browsers are.
 */
export function refuseForeign(request: Request): void {
  if (isForeign(request)) throw new RefusedError(403, "Request refused: it comes from another site.");
  const purpose = ["purpose", "sec-purpose", "x-moz", "x-purpose"].map((name) => request.headers.get(name) ?? "");
  if (purpose.some((value) => /prefetch|prerender|preview/i.test(value))) {
    throw new RefusedError(403, "Request refused: this address does something and is not fetched ahead.");
  }
}

/** For what only our own pages send: it has to say so. */
export function requireOwn(request: Request): void {
  refuseForeign(request);
  if (!saysOwn(request)) throw new RefusedError(403, "Request refused: it does not come from a page of this server.");
}

function isForeign(request: Request): boolean {
  const site = request.headers.get("sec-fetch-site");
  if (site !== null) return site !== "same-origin" && site !== "none";
  // Browsers leave out Sec-Fetch-Site where a server is reached without https, and Origin where they only fetch.
  const from = request.headers.get("origin") ?? request.headers.get("referer");
  return from === null ? carriesSession(request) : !isOwn(from, request);
}

/** Without https, browsers leave out Sec-Fetch-Site, and Origin where they only fetch; our pages then still name themselves as Referer. */
function saysOwn(request: Request): boolean {
  const site = request.headers.get("sec-fetch-site");
  if (site !== null) return site === "same-origin";
  const from = request.headers.get("origin") ?? request.headers.get("referer");
  return from !== null && isOwn(from, request);
}

/** A cookie goes along whoever caused the request, and so does a password for the proxy in front; a key is only sent by who knows it. */
function carriesSession({ headers }: Request): boolean {
  if (/^bearer /i.test(headers.get("authorization") ?? "") || headers.has("x-api-key") || headers.has("api-key"))
    return false;
  return /(^|;)\s*lockstep_session=/.test(headers.get("cookie") ?? "");
}

function isOwn(origin: string, request: Request): boolean {
  const host = request.headers.get("host") ?? new URL(request.url).host;
  return URL.parse(origin)?.host === host;
}
