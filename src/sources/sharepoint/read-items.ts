import { RemoteError } from "../../contracts/errors.ts";
import { QUERY_THROTTLED, throwIfCancelled } from "./http.ts";
import { decodePage, type ItemPage } from "./library-codec.ts";
import { type CallContext, type RestClient, SharePointError } from "./rest-client.ts";
import type { SiteAddress } from "./site-url.ts";

/** A query of a list or library. */
export interface ItemsQuery {
  readonly rest: RestClient;
  readonly site: SiteAddress;
  readonly listId: string;
  /** `$select=…&$expand=…`, ready for the URL. */
  readonly fields: string;
  /** OData, "" for none. */
  readonly filter: string;
  /** At most 5000. */
  readonly pageSize: number;
  /** The order of ids; from the lowest by default. */
  readonly from?: "lowest" | "highest";
  readonly call: CallContext;
}

/** Converts the rows of a page at once, because the response is many times larger than what is kept of it. */
type TakeRows<T> = (rows: readonly unknown[]) => T;

/**
 * Yields the rows of all levels, page by page; the next page is requested while one is handled. A list too large for the
 * query is read in windows of ids instead, each with the whole filter; then rows may come a second time, so callers
 * count each id once. Throws when a page fails: the rows before it are not all.
 */
export async function* readItems<T>(query: ItemsQuery, take: TakeRows<T>): AsyncGenerator<T, void> {
  try {
    yield* readPages(query, take);
  } catch (error) {
    if (!isThresholdError(error)) throw error;
    yield* readWindows(query, take, error);
  }
}

/** The list view threshold: the query would scan more rows than SharePoint allows. */
export function isThresholdError(error: unknown): error is SharePointError {
  if (!(error instanceof SharePointError)) return false;
  return error.code === QUERY_THROTTLED || error.exception.endsWith("SPQueryThrottledException");
}

/** SharePoint scans at most 5000 rows per query, and a window of ids has at most as many rows as ids. */
const FULL_WINDOW = 5000;
const SMALLEST_WINDOW = 50;

async function* readWindows<T>(query: ItemsQuery, take: TakeRows<T>, cause: SharePointError): AsyncGenerator<T, void> {
  const span: Span = { after: 0, upTo: 0, size: FULL_WINDOW };
  // Read again at the end: items added meanwhile have higher ids.
  for (;;) {
    const highest = await highestId(query, cause);
    if (span.upTo >= highest) return;
    [span.after, span.upTo] = [span.upTo, highest];
    yield* readSpan(query, take, { ...span });
  }
}

/** The ids above `after`, up to and with `upTo`, in windows of at most `size`. */
interface Span {
  after: number;
  upTo: number;
  size: number;
}

async function* readSpan<T>(query: ItemsQuery, take: TakeRows<T>, left: Span): AsyncGenerator<T, void> {
  const isDown = query.from === "highest";
  while (left.after < left.upTo) {
    const after = isDown ? Math.max(left.after, left.upTo - left.size) : left.after;
    const upTo = isDown ? left.upTo : Math.min(left.upTo, left.after + left.size);
    try {
      yield* readPages({ ...query, filter: windowFilter(query.filter, after, upTo) }, take);
      if (isDown) left.upTo = after;
      else left.after = upTo;
    } catch (error) {
      if (!isThresholdError(error) || left.size <= SMALLEST_WINDOW) throw error;
      left.size = Math.max(SMALLEST_WINDOW, Math.floor(left.size / 2));
    }
  }
}

/**
 * Adds a window of ids to the filter. The window comes first: SharePoint scans only the rows that the first conditions
 * leave if they are about an indexed column, and the whole list otherwise.
 */
export function windowFilter(filter: string, after: number, upTo: number): string {
  const window = `Id gt ${after} and Id le ${upTo}`;
  return filter ? `${window} and (${filter})` : window;
}

/** Returns 0 for an empty list. Throws `cause`, the first error, when this query exceeds the threshold, too. */
async function highestId(query: ItemsQuery, cause: SharePointError): Promise<number> {
  const url = itemsUrl({ ...query, fields: "$select=Id", filter: "", pageSize: 1, from: "highest" });
  let rows: readonly unknown[];
  try {
    rows = decodePage(await query.rest.getJson(url, query.call)).rows;
  } catch (error) {
    throw isThresholdError(error) ? cause : error;
  }
  const id: unknown = (rows[0] as { Id?: unknown } | undefined)?.Id;
  if (rows.length > 0 && typeof id !== "number")
    throw new RemoteError("SharePoint did not tell the highest id", { cause });
  return typeof id === "number" ? id : 0;
}

async function* readPages<T>(query: ItemsQuery, take: TakeRows<T>): AsyncGenerator<T, void> {
  const links = new Set<string>();
  let page: ItemPage | undefined = decodePage(await query.rest.getJson(itemsUrl(query), query.call));
  while (page) {
    const next: Promise<ItemPage> | undefined = page.nextLink ? followLink(query, page.nextLink, links) : undefined;
    next?.catch(() => undefined);
    const taken = take(page.rows);
    page = undefined;
    yield taken;
    page = await next;
    // The page may have arrived before the signal was aborted.
    throwIfCancelled(query.call.signal);
  }
}

export function itemsUrl(query: ItemsQuery): string {
  const { site, listId, fields, filter, pageSize, from } = query;
  const options = [fields, ...(from === "highest" ? ["$orderby=Id%20desc"] : []), `$top=${pageSize}`];
  if (filter) options.push(`$filter=${encodeURIComponent(filter)}`);
  return `${site.api}web/lists(guid'${encodeURIComponent(listId)}')/items?${options.join("&")}`;
}

/** Follows a link unchanged, and only to the host that our token is for. */
async function followLink(query: ItemsQuery, link: string, links: Set<string>): Promise<ItemPage> {
  if (links.has(link)) throw new RemoteError("SharePoint sends the same page again and again");
  links.add(link);
  const url = URL.parse(link, query.site.api);
  if (url?.origin !== query.site.origin) {
    throw new RemoteError(`SharePoint's link to the next page leads to another host (${url?.host ?? "unreadable"})`);
  }
  return decodePage(await query.rest.getJson(url.href, query.call));
}
