import type { Finding } from "./finding.ts";
import type { ItemId, SourceId } from "./ids.ts";

/**
 * What a source says about an item's content without our reading it. Compare it only with other fingerprints, never
 * with bytes on disk.
 */
export interface Fingerprint {
  /** As listed; 0 if the source does not tell. SharePoint rewrites Office files, so the size on disk may differ. */
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
  /** The extension of what will be embedded, without dot, lower-case: a page is `aspx` at the source and `html` here. */
  readonly documentType: string;
  /**
   * How the item becomes a document. `document`: its bytes are one. `original`: its bytes are turned into one by the
   * process step. `row`: it has no bytes of its own, but is a row of the source's export, and processed from there.
   */
  readonly form: "document" | "original" | "row";
  /** Why it is listed but not to be indexed, like an unwanted type. */
  readonly withheld?: string;
  readonly fingerprint: Fingerprint;
  /** SHA-256 of its bytes, hex, if the source has read them: the file on disk must have it, too. */
  readonly contentHash?: string;
  /** The content version is a hash of the content: another date alone is no change, and only updates the label. */
  readonly dateIsLabel?: boolean;
}

/** Something that could not be read. Not gone: everything known at or below it is kept. */
export interface Unreadable {
  readonly kind: "unreadable";
  /** Path below the source's root that could not be read, as server paths spell it; "": anything may be missing. */
  readonly path: string;
  /** The item, if known: it is kept wherever it is. */
  readonly itemId?: ItemId;
  readonly reason: string;
}

/** The source says that an item is gone, or not for us any more: no complete listing is needed. */
export interface Departed {
  readonly kind: "departed";
  readonly itemId: ItemId;
  /** The item that replaces it: if that is listed, nothing is lost. */
  readonly successor?: ItemId;
  readonly reason: string;
}

/** Neither present nor gone for good: what is known of it stays; an unknown item is ignored. */
export interface Undecided {
  readonly kind: "undecided";
  readonly itemId: ItemId;
  readonly reason: string;
}

/** Whether an item that was not listed is deleted. */
export type Completeness = "complete" | "partial";

/** In pages: servers respond in pages, and a promise per item would be slow. */
export type Listed = Sighting | Unreadable | Departed | Undecided;
export type Listing = AsyncGenerator<readonly Listed[], Completeness>;

export type ItemRef = Pick<Sighting, "itemId" | "listItemId" | "name" | "path" | "serverPath" | "fingerprint">;

export type Fetched =
  | { readonly status: "fetched"; readonly body: AsyncIterable<Uint8Array> }
  | { readonly status: "gone" }
  | { readonly status: "refused"; readonly reason: string };

/** How many files of a source are no documents, by reason. */
export interface LeftOut {
  /** Their type is not accepted. */
  readonly type: number;
  /** Larger than the source takes. */
  readonly size: number;
  /** Links, files with impossible names and the like. */
  readonly other: number;
}

export interface Source {
  readonly id: SourceId;
  /**
   * Yields every item, page by page, then says whether it saw everything. Callers delete what was not listed only after
   * "complete". Throws when nothing could be listed at all (no connection, no right, no such library), and, with nothing more
   * listed, when the signal aborts before the end. Listings at once do not disturb each other.
   */
  list(signal: AbortSignal): Listing;
  /** The body throws unless it arrives whole; a short body is never mistaken for a short file. Never asked for a row. */
  fetch(item: ItemRef, signal: AbortSignal): Promise<Fetched>;
  /** For sources with rows: the one file that holds them all. */
  readonly table?: TableExport;
  /** Rows that the source counts but does not list. Call it after list() has ended. */
  readonly hiddenRows?: () => number;
  /** Erased items that it met and did not list: their keys and why. Call it after list() or since() has ended. */
  readonly skipped?: () => readonly { readonly key: string; readonly reason: string }[];
  /**
   * For sources that leave out files before they list them: how many. Call it after list() or since() has ended;
   * undefined if it did not look everywhere.
   */
  readonly leftOut?: () => LeftOut | undefined;
  /** Says why the file of that path, which is there, is not listed. undefined: it is listed, or not there. */
  readonly sayLeftOut?: (path: string, signal: AbortSignal) => Promise<string | undefined>;
  /** For sources with a change feed. */
  readonly feed?: ChangeFeed;
  /**
   * For sources that store the state of their items: called when the plan was carried out; in a dry run with a ledger
   * that discards it. Items that were not listed and are not in `staying` have left the mirror, and leave the index
   * next.
   */
  conclude?(outcome: ListingOutcome): Promise<void>;
  /** Releases open resources and writes nothing. Called at the end, also after a failed listing. */
  close?(): Promise<void>;
  /** Checks everything a crawl needs, step by step; never throws for what it finds. */
  diagnose(signal: AbortSignal): AsyncIterable<Finding>;
}

export interface ListingOutcome {
  /** The listing was complete: items that were not listed are deleted. */
  readonly complete: boolean;
  /** Items that were not listed and stay all the same: held, below something unreadable, or not to be removed just now. */
  readonly staying: ReadonlySet<ItemId>;
}

/** The rows of the last listing as one file. */
export interface TableExport {
  /** Its name below `01_originals/`. */
  readonly path: string;
  /**
   * Call it after list() has ended. Rows that were not listed but must stay are copied from `before`, the export of an
   * earlier run (an absolute path), by their list item ids. Rows of `without` are left out.
   */
  export(
    before: string | undefined,
    keep: ReadonlySet<number>,
    without?: ReadonlySet<number>,
  ): AsyncIterable<Uint8Array>;
}

/** Changes without a full listing. In doubt, the feed returns undefined. */
export interface ChangeFeed {
  /** Returns the current position of the feed. Taken before a listing, it is where the next since() begins. */
  cursor(signal: AbortSignal): Promise<string>;
  /** Returns undefined when it cannot tell (the cursor is too old, a folder moved, the counts disagree): list everything then. */
  since(
    cursor: string,
    isKnown: (item: ItemId) => Promise<boolean>,
    signal: AbortSignal,
  ): Promise<ChangesSince | undefined>;
}

export interface ChangesSince {
  /** Where the next since() begins. */
  readonly cursor: string;
  /** Items that are new or were touched, as they are now. */
  readonly touched: readonly Sighting[];
  readonly gone: readonly ItemId[];
  /** Rebuilds the sighting of an item that did not change from what the ledger remembers of it. */
  recall(item: RememberedItem): Sighting;
}

/** What the ledger remembers of the last sighting. */
export type RememberedItem = Pick<
  Sighting,
  "itemId" | "listItemId" | "name" | "serverPath" | "url" | "rawUrl" | "fingerprint"
>;
