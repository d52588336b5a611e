import { BadInputError } from "../../contracts/errors.ts";
import { findSiteUrlProblem } from "../../lib/site-url.ts";

/** The parsed URL of a SharePoint site. */
export interface SiteAddress {
  /** As written, without trailing slash. */
  readonly text: string;
  readonly origin: string;
  /** Decoded, without a trailing slash; "" for the root site. */
  readonly path: string;
  /** `{site}/_api/`, the prefix of all requests. */
  readonly api: string;
}

/** Throws BadInputError for an invalid site URL. */
export function parseSiteUrl(text: string): SiteAddress {
  const problem = findSiteUrlProblem(text.trim());
  if (problem !== undefined) throw new BadInputError(`'site_url' ${problem}.`);
  const { origin, pathname } = new URL(text.trim());
  const path = pathname.replace(/\/+$/, "");
  return { text: origin + path, origin, path: decodeURIComponent(path), api: `${origin}${path}/_api/` };
}

/** Returns an OData string literal for a URL: quotes doubled, percent-encoded, in quotes. */
export function odataLiteral(text: string): string {
  return `'${encodeURIComponent(text.toWellFormed().replaceAll("'", "''"))}'`;
}

/** Percent-encodes each segment and keeps the slashes. */
export function encodePath(path: string): string {
  return encodeURIComponent(path.toWellFormed()).replaceAll("%2F", "/");
}

/**
 * Returns the part of `path` below `root`, or undefined if it is not below. Compares without case, as SharePoint does, and
 * cuts by position, so that spelling and encoding stay.
 */
export function pathBelow(root: string, path: string): string | undefined {
  if (path.slice(0, root.length).toLowerCase() !== root.toLowerCase()) return undefined;
  if (path[root.length] !== "/" || path.length === root.length + 1) return undefined;
  return path.slice(root.length + 1);
}
