import type { FileId, ItemId, SourceId, VectorStoreId } from "./ids.ts";
import type { Fingerprint } from "./source.ts";

/** What the source said when it was last listed: a row of `sharepoint_map.csv`. */
export interface Seen {
  readonly listItemId: number;
  readonly name: string;
  readonly serverPath: string;
  readonly url: string;
  readonly rawUrl: string;
  readonly size: number;
  readonly modifiedAt: string;
}

/** What is on our disk: a row of `files_map.csv`, and what that file cannot hold. */
export interface Mirrored {
  readonly listItemId: number;
  readonly name: string;
  readonly serverPath: string;
  /** Below the `crawler/` folder, `/`-separated; "" means no bytes were ever fetched. */
  readonly file: string;
  /** The listed fingerprint the file on disk was fetched under. */
  readonly fingerprint: Fingerprint;
  /** ISO 8601 UTC; "" before the first download. */
  readonly downloadedAt: string;
  readonly sourceError: string;
  readonly processingError: string;
  /** What we measured ourselves; null until hashed (or when `.lockstep/` was lost). */
  readonly observed: Observed | null;
}

export interface Observed {
  readonly size: number;
  readonly mtimeMs: number;
  readonly sha256: string;
}

/** What the index holds: a row of `vectorstore_map.csv`. */
export interface Indexed {
  readonly fileId: FileId | "";
  readonly vectorStoreId: VectorStoreId | "";
  readonly file: string;
  readonly listItemId: number;
  readonly name: string;
  readonly size: number;
  readonly modifiedAt: string;
  readonly downloadedAt: string;
  readonly uploadedAt: string;
  readonly embeddedAt: string;
  readonly sourceError: string;
  readonly processingError: string;
  readonly embeddingError: string;
  /** Of the bytes that were embedded; "" when unknown. */
  readonly sha256: string;
}

/**
 * Everything we remember about one item. A facet that was never reached is null. Facets may be read lazily, so copy an
 * entry by naming them, not by spreading it.
 */
export interface LedgerEntry {
  readonly itemId: ItemId;
  readonly seen: Seen | null;
  readonly mirrored: Mirrored | null;
  readonly indexed: Indexed | null;
}

/** The memory of one source. All writes of one step go through one open ledger; other steps may have theirs open too. */
export interface Ledger {
  readonly sourceId: SourceId;
  get(item: ItemId): Promise<LedgerEntry | undefined>;
  /** In the order asked for; undefined where there is no entry. */
  getMany(items: readonly ItemId[]): Promise<readonly (LedgerEntry | undefined)[]>;
  /** Every item there is an entry for, in pages; much cheaper than the entries themselves. */
  items(): AsyncIterable<readonly ItemId[]>;
  /** Where the file of each item is, for items that have one, in pages; likewise. */
  files(): AsyncIterable<readonly { readonly itemId: ItemId; readonly file: string }[]>;
  /** In pages, in no particular order; safe against puts while iterating. */
  entries(): AsyncIterable<readonly LedgerEntry[]>;
  /**
   * Sets the facets given and leaves the others alone; null clears a facet, and an entry without facets is gone. Reads
   * see it at once; it is written with the next flush.
   */
  put(item: ItemId, facets: Partial<Omit<LedgerEntry, "itemId">>): void;
  /**
   * The same text means the same content, now and in a later run: a word each for seen, mirrored and indexed, more may
   * follow. "" when there are changes not settled yet, or when somebody else wrote meanwhile.
   */
  version(): string;
  /** After this, everything put so far survives a crash. */
  flush(): Promise<void>;
  /** Like flush, and the map files themselves now say so, for every step that opens them. */
  settle(): Promise<void>;
  /** Settles; the ledger must not be used afterwards. */
  close(): Promise<void>;
}
