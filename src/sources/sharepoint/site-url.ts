import { BadInputError } from "../../contracts/errors.ts";
import { findSiteUrlProblem } from "../../lib/site-url.ts";

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
export function parseSiteUrl(text: string): SiteAddress {
  const problem = findSiteUrlProblem(text.trim());
  if (problem !== undefined) throw new BadInputError(`'site_url' ${problem}.`);
  const { origin, pathname } = new URL(text.trim());
  const path = pathname.replace(/\/+$/, "");
  return { text: origin + path, origin, path: decodeURIComponent(path), api: `${origin}${path}/_api/` };
}
