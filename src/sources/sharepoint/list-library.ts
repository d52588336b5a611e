import { CancelledError, explain, RemoteError } from "../../contracts/errors.ts";
import type { Completeness, Sighting, Unreadable } from "../../contracts/source.ts";
import { folderExists, type LibraryPart, readLibrary } from "./find-library.ts";
import { decodePage, decodeRow, type ItemPage, itemFields, type Row } from "./library-codec.ts";
import { type CallContext, type RestClient, SharePointError } from "./rest-client.ts";
import type { SiteAddress } from "./site-url.ts";

export interface LibraryListing {
  readonly rest: RestClient;
  readonly site: SiteAddress;
  readonly part: LibraryPart;
  /** OData, "" for none. */
  readonly filter: string;
  readonly pageSize: number;
  readonly call: CallContext;
}

/**
 * Every file of the library, page by page; throws when not even the first page came. The listing is no snapshot:
 * an item that shows up twice counts once. Within a page its last row wins; on a later page it is passed over, and
 * what changed about it meanwhile is seen by the next listing.
 */
export async function* listLibrary(listing: LibraryListing): AsyncGenerator<Sighting | Unreadable, Completeness> {
  const seen = new Set<string>();
  const links = new Set<string>();
  let completeness: Completeness = "complete";
  let page = await firstPage(listing);
  for (;;) {
    for (const row of distinctRows(page, listing, seen)) {
      if (row.kind === "file") yield row.sighting;
      if (row.kind === "senseless") {
        yield row.unreadable;
        if (row.unreadable.path === "") completeness = "partial";
      }
    }
    if (!page.nextLink) break;
    try {
      page = await nextPage(listing, page.nextLink, links);
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

async function* endPartial(error: unknown, where: string): AsyncGenerator<Unreadable, "partial"> {
  if (error instanceof CancelledError) throw error;
  yield { kind: "unreadable", path: "", reason: `the listing is incomplete ${where}: ${explain(error)}` };
  return "partial";
}

async function firstPage(listing: LibraryListing): Promise<ItemPage> {
  const { rest, call } = listing;
  try {
    return decodePage(await rest.getJson(firstPageUrl(listing, { contentTag: true }), call));
  } catch (error) {
    if (!(error instanceof SharePointError) || error.status !== 400) throw error;
    // The content tag is a nicety a server may not have; if the filter is what it dislikes, it will say so again.
    return decodePage(await rest.getJson(firstPageUrl(listing, { contentTag: false }), call));
  }
}

function firstPageUrl(listing: LibraryListing, fields: { readonly contentTag: boolean }): string {
  const { site, part, filter, pageSize } = listing;
  const query = [`$select=${itemFields(fields)}`, "$expand=File", `$top=${pageSize}`];
  if (filter) query.push(`$filter=${encodeURIComponent(filter)}`);
  return `${site.api}web/lists(guid'${encodeURIComponent(part.library.listId)}')/items?${query.join("&")}`;
}

/** Links are followed as they are, and only to where our token belongs. */
async function nextPage(listing: LibraryListing, link: string, links: Set<string>): Promise<ItemPage> {
  if (links.has(link)) throw new RemoteError("SharePoint sends the same page again and again");
  links.add(link);
  const url = URL.parse(link, listing.site.api);
  if (url?.origin !== listing.site.origin) {
    throw new RemoteError(`SharePoint's link to the next page leads to another host (${url?.host ?? "unreadable"})`);
  }
  return decodePage(await listing.rest.getJson(url.href, listing.call));
}

/** Rows that were not on an earlier page, each id once with its last row. Rows without an id all come through. */
function distinctRows(page: ItemPage, listing: LibraryListing, seen: Set<string>): Iterable<Row> {
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
async function checkNothingMissing(listing: LibraryListing, rows: number): Promise<void> {
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
