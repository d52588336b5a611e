import type { PageQuery, Pages } from "../../inventory/inventory.ts";
import type { Answer } from "../routing/endpoint.ts";
import { type Listing, takePart } from "../routing/listing.ts";

export interface ListOptions {
  /** What is listed, in the plural: `files`. */
  readonly noun: string;
  /** The largest page that the backend sends. */
  readonly largestPage: number;
}

/** At most this many rows are scanned for a filter, or sorted by a column that the backend does not sort by. */
export const MAX_SCANNED_ROWS = 20_000;

/**
 * Returns a page of a list of the backend, reading no more than needed. The backend sorts by creation only, newest first; any
 * other order, and a filter, scan at most MAX_SCANNED_ROWS rows, and the answer says if there were more. Without a limit it is
 * the whole list.
 */
export async function listPart<T extends object>(
  pages: (query: PageQuery) => Pages<T>,
  listing: Listing,
  { noun, largestPage }: ListOptions,
): Promise<Answer<readonly T[]>> {
  const { limit, offset, sort, filter } = listing;
  const order = sort === "created_at" ? "asc" : "desc";
  const sorted = sort === undefined || sort === "created_at" || sort === "-created_at";
  const whole = limit === undefined && offset === 0;
  const size = limit ?? Number.POSITIVE_INFINITY;
  // One more row tells whether there is another page.
  const enough = sorted ? offset + size + 1 : Number.POSITIVE_INFINITY;
  const bound = limit === undefined || (sorted && filter === "") ? Number.POSITIVE_INFINITY : MAX_SCANNED_ROWS;
  const pageSize = filter === "" ? Math.min(largestPage, enough) : largestPage;
  const skip = sorted ? offset : 0;
  const { rows, found, end } = await scanPages(pages({ order, pageSize }), filter, { enough, bound, skip });
  const error = end === "bound" ? boundMessage(noun, sort, filter) : "";
  const answer = { ok: error === "", error };
  const inOrder = sorted ? rows : takePart(rows, { limit: undefined, offset: 0, sort, filter: "" }).rows;
  if (whole) return { ...answer, data: inOrder };
  const data = inOrder.slice(offset - skip, offset - skip + size);
  const total = end === "all" ? found : undefined;
  return { ...answer, data, page: { offset, limit: limit ?? data.length, total, more: found > offset + data.length } };
}

interface GatheredRows<T> {
  readonly rows: readonly T[];
  /** Including the skipped ones. */
  readonly found: number;
  /** Why it ended: no more rows, enough rows, or too many to scan. */
  readonly end: "all" | "enough" | "bound";
}

async function scanPages<T extends object>(
  pages: Pages<T>,
  filter: string,
  { enough, bound, skip }: { readonly enough: number; readonly bound: number; readonly skip: number },
): Promise<GatheredRows<T>> {
  const rows: T[] = [];
  let [scanned, found] = [0, 0];
  for await (const page of pages) {
    if (scanned >= bound) return { rows, found, end: "bound" };
    scanned += page.length;
    for (const row of takePart(page, { limit: undefined, offset: 0, sort: undefined, filter }).rows) {
      found++;
      if (found > skip) rows.push(row);
    }
    if (found >= enough) return { rows, found, end: "enough" };
  }
  return { rows, found, end: "all" };
}

function boundMessage(noun: string, sort: string | undefined, filter: string): string {
  const which = sort === "created_at" ? "oldest" : "newest";
  const what = filter === "" ? "were sorted" : "were searched";
  return `There are too many ${noun}: only the ${MAX_SCANNED_ROWS} ${which} ${what}.`;
}
