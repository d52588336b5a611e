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

/** A text as an OData string literal inside a URL: quotes doubled, then percent-encoded, quotes around it. */
export function odataLiteral(text: string): string {
  return `'${encodeURIComponent(text.toWellFormed().replaceAll("'", "''"))}'`;
}

/** Percent-encodes each segment and keeps the slashes. */
export function encodePath(path: string): string {
  return path
    .split("/")
    .map((segment) => encodeURIComponent(segment.toWellFormed()))
    .join("/");
}

/**
 * What follows `root` and its slash in `path`, or undefined when the path does not lie below the root.
 * SharePoint compares paths without case and we cut by position, so nothing is decoded or spelled anew.
 */
export function pathBelow(root: string, path: string): string | undefined {
  if (path.slice(0, root.length).toLowerCase() !== root.toLowerCase()) return undefined;
  if (path[root.length] !== "/" || path.length === root.length + 1) return undefined;
  return path.slice(root.length + 1);
}
