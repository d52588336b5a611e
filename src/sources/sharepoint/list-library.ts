import { CancelledError, explain, RemoteError } from "../../contracts/errors.ts";
import type { Completeness, Listing, Sighting, Unreadable } from "../../contracts/source.ts";
import { confirmListing, keyOf } from "./confirm-listing.ts";
import { findLibrary, folderExists, type LibraryTarget, readLibrary, scopeOf } from "./find-library.ts";
import { decodeRow, itemFields, type LibraryScope, type Row } from "./library-codec.ts";
import { readItems } from "./read-items.ts";
import { type CallContext, type RestClient, SharePointError } from "./rest-client.ts";
import type { SiteAddress } from "./site-url.ts";

export interface LibraryListingOptions {
  readonly rest: RestClient;
  readonly site: SiteAddress;
  /** The library, or a folder of it. */
  readonly urlPart: string;
  /** OData, "" for none. */
  readonly filter: string;
  readonly pageSize: number;
  readonly call: CallContext;
  /** Adds advice to the error when nothing could be listed at all. */
  advise(error: RemoteError): RemoteError;
  /** For libraries of something else than files; called when the library is found. */
  chooseDecoder?(target: LibraryTarget): Promise<RowDecoder>;
  /** Called at the end of a complete listing with the number of rows that are counted but not shown to us. */
  onHidden?(rows: number): void;
}

/** Which columns are requested, and how rows are decoded. */
interface RowDecoder {
  /** Columns beside those that every file has. */
  readonly columns: readonly string[];
  decode(row: unknown, scope: LibraryScope): Row;
}

const FILES: RowDecoder = { columns: [], decode: decodeRow };

/** A listing whose library was found. */
type OpenListing = LibraryListingOptions & { readonly target: LibraryTarget; readonly decoder: RowDecoder };

/**
 * Lists every file of the library, page by page; throws when not even the first page came. The listing is no snapshot: an item
 * that appears twice counts once. Within a page its last row wins; on a later page it is skipped, and its change is
 * seen by the next listing.
 */
export async function* listLibrary(options: LibraryListingOptions): Listing {
  const seen = new Set<string>();
  let completeness: Completeness = "complete";
  const { listing, pages, first } = await openListing(options, seen);
  let step = first;
  while (!step.done) {
    const page = step.value;
    if (page.some((each) => each.kind === "unreadable" && each.path === "")) completeness = "partial";
    yield page;
    try {
      step = await pages.next();
    } catch (error) {
      return yield* endPartial(error, `after ${seen.size} rows`);
    }
  }
  try {
    const hidden = await checkNothingMissing(listing, seen);
    if (completeness === "complete") listing.onHidden?.(hidden);
  } catch (error) {
    return yield* endPartial(error, `at the end`);
  }
  return completeness;
}

type Page = (Sighting | Unreadable)[];

interface Opened {
  readonly listing: OpenListing;
  readonly pages: AsyncGenerator<Page, void>;
  readonly first: IteratorResult<Page, void>;
}

async function openListing(options: LibraryListingOptions, seen: Set<string>): Promise<Opened> {
  try {
    const target = await findLibrary(options.rest, options.site, options.urlPart, options.call);
    const listing = { ...options, target, decoder: (await options.chooseDecoder?.(target)) ?? FILES };
    return { listing, ...(await openPages(listing, seen)) };
  } catch (error) {
    throw error instanceof RemoteError ? options.advise(error) : error;
  }
}

async function openPages(listing: OpenListing, seen: Set<string>): Promise<Omit<Opened, "listing">> {
  const open = async (options: { readonly contentTag: boolean }): Promise<Omit<Opened, "listing">> => {
    const query = {
      ...listing,
      listId: listing.target.library.listId,
      fields: itemFields({ ...options, ...listing.decoder }),
    };
    const pages = readItems(query, (rows) => sightingsOf(rows, listing, seen));
    return { pages, first: await pages.next() };
  };
  try {
    return await open({ contentTag: true });
  } catch (error) {
    if (!(error instanceof SharePointError) || error.status !== 400) throw error;
    // Some servers have no content tag. If the 400 was about the filter, the second request fails, too.
    return await open({ contentTag: false });
  }
}

async function* endPartial(error: unknown, where: string): AsyncGenerator<Unreadable[], "partial"> {
  if (error instanceof CancelledError) throw error;
  yield [{ kind: "unreadable", path: "", reason: `the listing is incomplete ${where}: ${explain(error)}` }];
  return "partial";
}

function sightingsOf(rows: readonly unknown[], listing: OpenListing, seen: Set<string>): Page {
  const page: Page = [];
  for (const row of distinctRows(rows, listing, seen)) {
    if (row.kind === "file") page.push(row.sighting);
    else if (row.kind === "invalid") page.push(row.unreadable);
  }
  return page;
}

/** Returns the rows that were not on an earlier page, each id once with its last row, and all rows without an id. */
function distinctRows(rows: readonly unknown[], listing: OpenListing, seen: Set<string>): Iterable<Row> {
  const scope = scopeOf(listing.site, listing.target);
  const distinct = new Map<string, Row>();
  for (const [at, value] of rows.entries()) {
    const key = keyOf(value) || `row at ${at}`;
    if (seen.has(key)) continue;
    distinct.set(key, listing.decoder.decode(value, scope));
  }
  for (const key of distinct.keys()) seen.add(key);
  return distinct.values();
}

/** Returns how many rows are hidden. Throws when rows may be missing, or when the listed folder is no longer there. */
async function checkNothingMissing(listing: OpenListing, keys: ReadonlySet<string>): Promise<number> {
  const { rest, site, target, call } = listing;
  const { listId, path, itemCount } = target.library;
  const hidden = await confirmListing({
    what: "library",
    query: { ...listing, listId },
    keys,
    countBefore: itemCount,
    count: async () => (await readLibrary(rest, site, path, call))?.itemCount,
  });
  if (target.root !== path && !(await folderExists(rest, site, target.root, call))) {
    throw new RemoteError(`the folder '${target.root}' is no longer there`);
  }
  return hidden;
}
