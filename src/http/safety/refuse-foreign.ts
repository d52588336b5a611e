import { RefusedError } from "../grammar/failure.ts";

/**
 * A link, image or form on another site must not start a crawl or delete a domain, and a browser must not by guessing ahead.
 * Browsers say where a request comes from; clients that say nothing (curl, scripts) are not browsers and pass.
 */
export function refuseForeign(request: Request): void {
  const site = request.headers.get("sec-fetch-site");
  const origin = request.headers.get("origin");
  const foreign =
    site === null ? origin !== null && !isOwn(origin, request) : site !== "same-origin" && site !== "none";
  if (foreign) throw new RefusedError(403, "Request refused: it comes from another site.");
  const purpose = ["purpose", "sec-purpose", "x-moz", "x-purpose"].map((name) => request.headers.get(name) ?? "");
  if (purpose.some((value) => /prefetch|prerender|preview/i.test(value))) {
    throw new RefusedError(403, "Request refused: this address changes something and is not fetched ahead.");
  }
}

function isOwn(origin: string, request: Request): boolean {
  const host = request.headers.get("host") ?? new URL(request.url).host;
  return URL.parse(origin)?.host === host;
}
