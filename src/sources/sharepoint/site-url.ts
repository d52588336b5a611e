import { BadInputError } from "../../contracts/errors.ts";
import { isLoopbackHost } from "../../lib/loopback.ts";

/** A SharePoint site, taken apart. */
export interface SiteAddress {
  /** As people write it, without a trailing slash. */
  readonly text: string;
  readonly origin: string;
  /** Decoded, without a trailing slash; "" for the root site. */
  readonly path: string;
  /** `{site}/_api/`, the folder all requests live in. */
  readonly api: string;
}

/** Throws BadInputError unless the text can be the address of a site. */
export function checkSiteUrl(text: string): void {
  parseSiteUrl(text);
}

export function parseSiteUrl(text: string): SiteAddress {
  const url = URL.parse(text.trim());
  if (!url || (url.protocol !== "https:" && url.protocol !== "http:")) {
    throw refuse(text, "must be an address such as https://contoso.sharepoint.com/sites/demo");
  }
  if (url.protocol === "http:" && !isLoopbackHost(url.hostname)) {
    throw refuse(text, "must begin with https:// (http:// is for this machine only)");
  }
  if (url.username || url.password) throw refuse(`${url.origin}…`, "must not contain a user name or password");
  if (url.search || url.hash) throw refuse(text, "must not contain '?' or '#'; give the address of the site alone");
  const pathname = url.pathname.replace(/\/+$/, "");
  return {
    text: `${url.origin}${pathname}`,
    origin: url.origin,
    path: decodePath(text, pathname),
    api: `${url.origin}${pathname}/_api/`,
  };
}

function decodePath(text: string, pathname: string): string {
  try {
    return decodeURIComponent(pathname);
  } catch {
    throw refuse(text, "contains a '%' that is not followed by two hexadecimal digits");
  }
}

function refuse(text: string, rule: string): BadInputError {
  return new BadInputError(`'site_url' ${rule}; got '${text.slice(0, 200)}'.`);
}
