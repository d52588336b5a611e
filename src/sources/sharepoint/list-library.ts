import { CancelledError, explain, RemoteError } from "../../contracts/errors.ts";
import type { Completeness, Listing, Sighting, Unreadable } from "../../contracts/source.ts";
import { findLibrary, folderExists, type LibraryPart, readLibrary } from "./find-library.ts";
import { decodePage, decodeRow, type ItemPage, itemFields, type Row } from "./library-codec.ts";
import { type CallContext, type RestClient, SharePointError } from "./rest-client.ts";
import type { SiteAddress } from "./site-url.ts";

export interface LibraryListing {
  readonly rest: RestClient;
  readonly site: SiteAddress;
  /** The library, or a folder of it. */
  readonly urlPart: string;
  /** OData, "" for none. */
  readonly filter: string;
  readonly pageSize: number;
  readonly call: CallContext;
  /** What a person is told when nothing could be listed at all. */
  advise(error: RemoteError): RemoteError;
}

/** A listing whose library was found. */
type OpenListing = LibraryListing & { readonly part: LibraryPart };

/**
 * Every file of the library, page by page; throws when not even the first page came. The listing is no snapshot:
 * an item that shows up twice counts once. Within a page its last row wins; on a later page it is passed over, and
 * what changed about it meanwhile is seen by the next listing.
 */
export async function* listLibrary(wanted: LibraryListing): Listing {
  const seen = new Set<string>();
  const links = new Set<string>();
  let completeness: Completeness = "complete";
  const opened = await openListing(wanted);
  const { listing } = opened;
  let page: ItemPage | undefined = opened.page;
  while (page) {
    // The next page is on its way while the rows of this one are dealt with.
    const next: Promise<ItemPage> | undefined = page.nextLink ? nextPage(listing, page.nextLink, links) : undefined;
    next?.catch(() => undefined);
    const found = sightingsOf(page, listing, seen);
    if (found.some((each) => each.kind === "unreadable" && each.path === "")) completeness = "partial";
    // The answer itself is many times what we keep of it.
    page = undefined;
    yield found;
    try {
      page = await next;
    } catch (error) {
      return yield* endPartial(error, `after ${seen.size} rows`);
    }
  }
  try {
    await checkNothingMissing(listing, seen.size);
  } catch (error) {
    return yield* endPartial(error, `at the end`);
  }
  return completeness;
}

async function openListing(wanted: LibraryListing): Promise<{ listing: OpenListing; page: ItemPage }> {
  try {
    const part = await findLibrary(wanted.rest, wanted.site, wanted.urlPart, wanted.call);
    const listing = { ...wanted, part };
    return { listing, page: await firstPage(listing) };
  } catch (error) {
    throw error instanceof RemoteError ? wanted.advise(error) : error;
  }
}

async function* endPartial(error: unknown, where: string): AsyncGenerator<Unreadable[], "partial"> {
  if (error instanceof CancelledError) throw error;
  yield [{ kind: "unreadable", path: "", reason: `the listing is incomplete ${where}: ${explain(error)}` }];
  return "partial";
}

async function firstPage(listing: OpenListing): Promise<ItemPage> {
  const { rest, call } = listing;
  try {
    return decodePage(await rest.getJson(firstPageUrl(listing, { contentTag: true }), call));
  } catch (error) {
    if (!(error instanceof SharePointError) || error.status !== 400) throw error;
    // The content tag is a nicety a server may not have; if the filter is what it dislikes, it will say so again.
    return decodePage(await rest.getJson(firstPageUrl(listing, { contentTag: false }), call));
  }
}

function firstPageUrl(listing: OpenListing, fields: { readonly contentTag: boolean }): string {
  const { site, part, filter, pageSize } = listing;
  const query = [`$select=${itemFields(fields)}`, "$expand=File", `$top=${pageSize}`];
  if (filter) query.push(`$filter=${encodeURIComponent(filter)}`);
  return `${site.api}web/lists(guid'${encodeURIComponent(part.library.listId)}')/items?${query.join("&")}`;
}

/** Links are followed as they are, and only to where our token belongs. */
async function nextPage(listing: OpenListing, link: string, links: Set<string>): Promise<ItemPage> {
  if (links.has(link)) throw new RemoteError("SharePoint sends the same page again and again");
  links.add(link);
  const url = URL.parse(link, listing.site.api);
  if (url?.origin !== listing.site.origin) {
    throw new RemoteError(`SharePoint's link to the next page leads to another host (${url?.host ?? "unreadable"})`);
  }
  return decodePage(await listing.rest.getJson(url.href, listing.call));
}

function sightingsOf(page: ItemPage, listing: OpenListing, seen: Set<string>): (Sighting | Unreadable)[] {
  const found: (Sighting | Unreadable)[] = [];
  for (const row of distinctRows(page, listing, seen)) {
    if (row.kind === "file") found.push(row.sighting);
    else if (row.kind === "senseless") found.push(row.unreadable);
  }
  return found;
}

/** Rows that were not on an earlier page, each id once with its last row. Rows without an id all come through. */
function distinctRows(page: ItemPage, listing: OpenListing, seen: Set<string>): Iterable<Row> {
  const { site, part } = listing;
  const place = { origin: site.origin, library: part.library.path, root: part.root };
  const rows = new Map<string, Row>();
  for (const [at, value] of page.rows.entries()) {
    const row = decodeRow(value, place);
    if (row.key && seen.has(row.key)) continue;
    rows.set(row.key || `row ${at}`, row);
  }
  for (const [key, row] of rows) if (row.key) seen.add(key);
  return rows.values();
}

/** Throws when the library says it holds more than came, or when the folder we listed is no longer where it was. */
async function checkNothingMissing(listing: OpenListing, rows: number): Promise<void> {
  const { rest, site, part, filter, call } = listing;
  if (!filter && rows < part.library.itemCount) {
    // Counted anew: what was deleted while we listed is not missing.
    const now = await readLibrary(rest, site, part.library.path, call);
    if (!now) throw new RemoteError("the library is no longer there");
    if (rows < now.itemCount) {
      throw new RemoteError(`the library says it has ${now.itemCount} items, but only ${rows} were listed`);
    }
  }
  if (part.root !== part.library.path && !(await folderExists(rest, site, part.root, call))) {
    throw new RemoteError(`the folder '${part.root}' is no longer there`);
  }
}
