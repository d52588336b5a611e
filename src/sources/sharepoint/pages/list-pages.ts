import type { ItemId } from "../../../contracts/ids.ts";
import type { Listing } from "../../../contracts/source.ts";
import type { LibraryPart } from "../find-library.ts";
import { type LibraryListing, listLibrary } from "../list-library.ts";
import { withPublished } from "../published-version.ts";
import { decodePageRow, pageSighting } from "./page-codec.ts";
import { openPageLibrary, type PageLibrary } from "./page-library.ts";

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
  let found: PageLibrary | undefined;
  const listing = listLibrary({
    ...wanted,
    async chooseReading({ library }: LibraryPart) {
      found = await openPageLibrary({ rest, site }, library, call);
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
  for (; !step.done; step = await listing.next())
    yield await withPublished(step.value, drafts, { ...(found ?? { rest, site }), call }, pageSighting);
  return step.value;
}
