import { CancelledError, explain } from "../../../contracts/errors.ts";
import type { ItemId } from "../../../contracts/ids.ts";
import type { Listed, Listing, Sighting } from "../../../contracts/source.ts";
import { forEachConcurrent } from "../../../lib/concurrency.ts";
import type { LibraryPart } from "../find-library.ts";
import { type LibraryListing, listLibrary } from "../list-library.ts";
import { decodePageRow, pageSighting } from "./page-codec.ts";
import { openPageLibrary, type PageLibrary, readPublishedVersion } from "./page-library.ts";

const AT_ONCE = 4;

/**
 * Every page that readers see, as they see it: an unpublished edit of a page changes nothing about it. `onFound` is told
 * the library before the first page of the listing.
 */
export async function* listPages(
  wanted: Omit<LibraryListing, "chooseReading">,
  onFound: (library: PageLibrary) => void,
): Listing {
  const { rest, site, call } = wanted;
  const drafts = new Set<ItemId>();
  const listing = listLibrary({
    ...wanted,
    async chooseReading({ library }: LibraryPart) {
      const found = await openPageLibrary({ rest, site, listId: library.listId }, call);
      onFound(found);
      return {
        columns: found.columns.listing,
        decode(value, place) {
          const { row, publication } = decodePageRow(value, place);
          if (row.kind === "file" && publication !== "published") drafts.add(row.sighting.itemId);
          return row;
        },
      };
    },
  });
  let step = await listing.next();
  for (; !step.done; step = await listing.next()) yield await withPublished(step.value, drafts, wanted);
  return step.value;
}

/** The few pages that somebody is working on are looked up one by one. */
async function withPublished(
  found: readonly Listed[],
  drafts: ReadonlySet<ItemId>,
  wanted: Omit<LibraryListing, "chooseReading">,
): Promise<readonly Listed[]> {
  const isDraft = (each: Listed): each is Sighting => each.kind === "sighting" && drafts.has(each.itemId);
  const published = new Map<ItemId, Listed>();
  await forEachConcurrent(found.filter(isDraft), AT_ONCE, async (sighting) => {
    published.set(sighting.itemId, await publishedSighting(sighting, wanted));
  });
  return found.map((each) => (isDraft(each) ? (published.get(each.itemId) ?? each) : each));
}

/** A page whose published version cannot be had is kept as it is known: it is neither gone nor what the draft says. */
async function publishedSighting(
  sighting: Sighting,
  { rest, site, call }: Omit<LibraryListing, "chooseReading">,
): Promise<Listed> {
  const { itemId, path } = sighting;
  try {
    return pageSighting(sighting, await readPublishedVersion({ rest, site }, itemId, call));
  } catch (error) {
    if (error instanceof CancelledError) throw error;
    return { kind: "unreadable", path, itemId, reason: `look up what is published of '${path}': ${explain(error)}` };
  }
}
