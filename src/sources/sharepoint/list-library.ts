import { CancelledError, explain, RemoteError } from "../../contracts/errors.ts";
import type { Completeness, Listing, Sighting, Unreadable } from "../../contracts/source.ts";
import { findLibrary, folderExists, type LibraryPart, placeOf, readLibrary } from "./find-library.ts";
import { decodeRow, itemFields, type Place, type Row, rowKey } from "./library-codec.ts";
import { readItems } from "./read-items.ts";
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
  /** For libraries of something else than files; asked once the library is found. */
  chooseReading?(part: LibraryPart): Promise<RowReading>;
}

/** What rows are asked for, and what they are. */
export interface RowReading {
  /** Columns beside those that every file has. */
  readonly columns: readonly string[];
  decode(row: unknown, place: Place): Row;
  /** The library may count rows that we are not shown, drafts for one: then being short of some is no proof of a loss. */
  readonly mayHideRows?: boolean;
}

const FILES: RowReading = { columns: [], decode: decodeRow };

/** A listing whose library was found. */
type OpenListing = LibraryListing & { readonly part: LibraryPart; readonly reading: RowReading };

/**
 * Every file of the library, page by page; throws when not even the first page came. The listing is no snapshot:
 * an item that shows up twice counts once. Within a page its last row wins; on a later page it is passed over, and
 * what changed about it meanwhile is seen by the next listing.
 */
export async function* listLibrary(wanted: LibraryListing): Listing {
  const seen = new Set<string>();
  let completeness: Completeness = "complete";
  const { listing, pages, first } = await openListing(wanted, seen);
  let step = first;
  while (!step.done) {
    const found = step.value;
    if (found.some((each) => each.kind === "unreadable" && each.path === "")) completeness = "partial";
    yield found;
    try {
      step = await pages.next();
    } catch (error) {
      return yield* endPartial(error, `after ${seen.size} rows`);
    }
  }
  try {
    await checkNothingMissing(listing, seen);
  } catch (error) {
    return yield* endPartial(error, `at the end`);
  }
  return completeness;
}

type Found = (Sighting | Unreadable)[];

interface Opened {
  readonly listing: OpenListing;
  readonly pages: AsyncGenerator<Found, void>;
  readonly first: IteratorResult<Found, void>;
}

async function openListing(wanted: LibraryListing, seen: Set<string>): Promise<Opened> {
  try {
    const part = await findLibrary(wanted.rest, wanted.site, wanted.urlPart, wanted.call);
    const listing = { ...wanted, part, reading: (await wanted.chooseReading?.(part)) ?? FILES };
    return { listing, ...(await openPages(listing, seen)) };
  } catch (error) {
    throw error instanceof RemoteError ? wanted.advise(error) : error;
  }
}

async function openPages(listing: OpenListing, seen: Set<string>): Promise<Omit<Opened, "listing">> {
  const open = async (options: { readonly contentTag: boolean }): Promise<Omit<Opened, "listing">> => {
    const query = {
      ...listing,
      listId: listing.part.library.listId,
      fields: itemFields({ ...options, ...listing.reading }),
    };
    const pages = readItems(query, (rows) => sightingsOf(rows, listing, seen));
    return { pages, first: await pages.next() };
  };
  try {
    return await open({ contentTag: true });
  } catch (error) {
    if (!(error instanceof SharePointError) || error.status !== 400) throw error;
    // The content tag is a nicety a server may not have; if the filter is what it dislikes, it will say so again.
    return await open({ contentTag: false });
  }
}

async function* endPartial(error: unknown, where: string): AsyncGenerator<Unreadable[], "partial"> {
  if (error instanceof CancelledError) throw error;
  yield [{ kind: "unreadable", path: "", reason: `the listing is incomplete ${where}: ${explain(error)}` }];
  return "partial";
}

function sightingsOf(rows: readonly unknown[], listing: OpenListing, seen: Set<string>): Found {
  const found: Found = [];
  for (const row of distinctRows(rows, listing, seen)) {
    if (row.kind === "file") found.push(row.sighting);
    else if (row.kind === "senseless") found.push(row.unreadable);
  }
  return found;
}

/** Rows that were not on an earlier page, each id once with its last row. Rows without an id all come through. */
function distinctRows(rows: readonly unknown[], listing: OpenListing, seen: Set<string>): Iterable<Row> {
  const place = placeOf(listing.site, listing.part);
  const distinct = new Map<string, Row>();
  for (const [at, value] of rows.entries()) {
    const row = listing.reading.decode(value, place);
    if (row.key && seen.has(row.key)) continue;
    distinct.set(row.key || `row ${at}`, row);
  }
  for (const [key, row] of distinct) if (row.key) seen.add(key);
  return distinct.values();
}

/** Throws when the library says it holds more than came, or when the folder we listed is no longer where it was. */
async function checkNothingMissing(listing: OpenListing, seen: ReadonlySet<string>): Promise<void> {
  const { rest, site, part, filter, call } = listing;
  const rows = seen.size;
  if (!filter && rows < part.library.itemCount) {
    // Counted anew: what was deleted while we listed is not missing.
    const now = await readLibrary(rest, site, part.library.path, call);
    if (!now) throw new RemoteError("the library is no longer there");
    if (rows < now.itemCount && !(await isAllWeAreShown(listing, seen))) {
      throw new RemoteError(`the library says it has ${now.itemCount} items, but only ${rows} were listed`);
    }
  }
  if (part.root !== part.library.path && !(await folderExists(rest, site, part.root, call))) {
    throw new RemoteError(`the folder '${part.root}' is no longer there`);
  }
}

/** A second look, from the other end: what was lost by chance, or cut off the same way again, shows up there. */
async function isAllWeAreShown(listing: OpenListing, seen: ReadonlySet<string>): Promise<boolean> {
  if (!listing.reading.mayHideRows || seen.size === 0) return false;
  const fields = "$select=Id,UniqueId&$orderby=Id%20desc";
  const isUnseen = (row: unknown): boolean => !seen.has(rowKey(row));
  const pages = readItems({ ...listing, listId: listing.part.library.listId, fields }, (rows) => rows.some(isUnseen));
  for await (const unseen of pages) if (unseen) return false;
  return true;
}
