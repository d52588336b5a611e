import type { ItemId, SourceId } from "./ids.ts";

/** What a source declares about an item's content without our reading it. Compared with itself, never with bytes on disk. */
export interface Fingerprint {
  /** As listed. SharePoint rewrites Office files, so the bytes on disk may differ. */
  readonly size: number;
  /** ISO 8601 UTC with six fraction digits, as the map files hold it. Compare with !==, never with >. */
  readonly modifiedAt: string;
  /** Changes with every touch of the item; "" when the source has none. */
  readonly etag: string;
  /** Changes with the content only; "" when the source does not tell. */
  readonly contentVersion: string;
}

/** One item as the source lists it now. */
export interface Sighting {
  readonly kind: "sighting";
  readonly itemId: ItemId;
  /** The number people see in SharePoint; 0 where the source has none. */
  readonly listItemId: number;
  readonly name: string;
  /** Path below the source's root, `/`-separated, exactly as the source spells it. */
  readonly path: string;
  /** Path from the host's root, as the source spells it (`/sites/demo/Shared Documents/a.docx`). */
  readonly serverPath: string;
  /** Percent-encoded address a person can open. */
  readonly url: string;
  /** The same address, not encoded. */
  readonly rawUrl: string;
  readonly fingerprint: Fingerprint;
}

/** Something that could not be looked at. Not gone: whatever is known at or below it is kept. */
export interface Unreadable {
  readonly kind: "unreadable";
  /** Path below the source's root that could not be read; "" means anything may be missing from the listing. */
  readonly path: string;
  /** The item this is about, when that much could be read: it is kept wherever it is known. */
  readonly itemId?: ItemId;
  readonly reason: string;
}

/** May absence from this listing mean deletion? */
export type Completeness = "complete" | "partial";

/** Pages: servers answer in them anyway, and a promise for every single item buys nothing. */
export type Listing = AsyncGenerator<readonly (Sighting | Unreadable)[], Completeness>;

export type ItemRef = Pick<Sighting, "itemId" | "name" | "path" | "serverPath" | "fingerprint">;

export type Fetched =
  | { readonly status: "fetched"; readonly body: AsyncIterable<Uint8Array> }
  | { readonly status: "gone" }
  | { readonly status: "refused"; readonly reason: string };

export interface Source {
  readonly id: SourceId;
  /**
   * Yields every item, page by page, then says whether it saw everything. Callers delete what was not listed only after
   * "complete". Throws when nothing could be listed at all (no connection, no right, no such library).
   */
  list(signal: AbortSignal): Listing;
  /** The body throws unless it arrives whole; a short body is never mistaken for a short file. */
  fetch(item: ItemRef, signal: AbortSignal): Promise<Fetched>;
}
