import type { SourceConfig } from "./domain.ts";
import type { OtherStores, ScheduleStates } from "./domain-state.ts";
import type { FeedbackRows } from "./feedback.ts";
import type { FilesMetadata } from "./files-metadata.ts";
import type { DomainId, FileId, ItemId, SourceId, VectorStoreId } from "./ids.ts";
import type { Leases } from "./lease.ts";
import type { Manifest, ManifestEntry } from "./manifest.ts";
import type { Members } from "./members.ts";
import type { PlanDraft, StoredPlans } from "./plan.ts";
import type { CrawlHead, SiteMemory } from "./site-memory.ts";
import type { Fingerprint, Sighting } from "./source.ts";
import type { UploadJournals } from "./uploads.ts";

/** The item as last listed: a row of `sharepoint_map.csv`. */
export interface Seen {
  readonly listItemId: number;
  readonly name: string;
  readonly serverPath: string;
  readonly url: string;
  readonly rawUrl: string;
  readonly size: number;
  readonly modifiedAt: string;
  /** The source lists it as not to be indexed. Not in any map file. */
  readonly withheld?: boolean;
}

/** The item's file in the mirror: a row of `files_map.csv`, with fields that the map does not have. */
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
  /** Measured by us; null until hashed (or if `.lockstep/` was lost). */
  readonly observed: Observed | null;
}

export interface Observed {
  readonly size: number;
  readonly mtimeMs: number;
  readonly sha256: string;
}

/** The item's document in the index: a row of `vectorstore_map.csv`. */
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
  /** Hash of the bytes that were embedded; "" if unknown. */
  readonly sha256: string;
}

/**
 * Everything we know about one item. A facet is null until its step was reached. Facets may be read lazily, so copy an
 * entry by naming them, not by spreading it.
 */
export interface LedgerEntry {
  readonly itemId: ItemId;
  readonly seen: Seen | null;
  readonly mirrored: Mirrored | null;
  readonly indexed: Indexed | null;
}

/** State of the last complete listing, so that the next run is cheap. Losing it only costs time. */
export interface ListingCheckpoint {
  /** Digest of the settings that decide which items are wanted: the source's configuration, accepted types, size limit. */
  readonly policy: string;
  /** Cursor of the source's change feed before the listing; "" if it has none. */
  readonly cursor: string;
  /** The last full listing, and the number of runs by the feed since. */
  readonly listedAt: string;
  readonly runsByFeed: number;
  /** When the last run began that saw everything, by a listing or by the feed. */
  readonly checkedAt: string;
  /** Rows that the source counts but does not list. */
  readonly hiddenRows: number;
  /** Hash rotation: parts that are due, and the first of them. */
  readonly hashesOwed: number;
  readonly nextHashes: number;
}

/** The fields that show whether an item needs work: much cheaper to read than its entry. */
export interface ItemState {
  readonly itemId: ItemId;
  /** "" if nothing was fetched yet; null: the item has no place on disk. */
  readonly file: string | null;
  /** Measured by us; null until hashed. */
  readonly observed: Pick<Observed, "size" | "mtimeMs"> | null;
  /** The file matches the last listing and has no errors. */
  readonly isCurrent: boolean;
  readonly isListed: boolean;
}

/** The file of an item, and its size and time as measured by us. */
export interface MeasuredFile extends Pick<Observed, "size" | "mtimeMs"> {
  readonly file: string;
}

/** What the index should hold of one item: cheap likewise. */
export interface ItemLabel {
  readonly itemId: ItemId;
  readonly fileId: FileId | "";
  readonly vectorStoreId: VectorStoreId | "";
  readonly sha256: string;
  readonly embeddingError: string;
  readonly file: string;
  readonly url: string;
}

/**
 * The ledger of one source. A step writes through one open ledger; other steps may have theirs open at the same time.
 */
export interface Ledger {
  readonly sourceId: SourceId;
  /** Map files that could not be read, one sentence each. They were set aside and count as empty. */
  readonly problems: readonly string[];
  /** Map files that a user edited or removed since they were written, one sentence each; their content was imported. */
  readonly edits: readonly string[];
  /** The files of a tree, with their history. Empty for other kinds. */
  readonly manifest: Manifest;
  /** For trees: the extractor revision of all texts; "" while some are missing. */
  readonly textsBy: string;
  noteTexts(revision: string): void;
  /** It was lost, and rebuilt when it was opened. */
  readonly wasLost: boolean;
  get(item: ItemId): Promise<LedgerEntry | undefined>;
  /** In the given order; undefined where there is no entry. */
  getMany(items: readonly ItemId[]): Promise<readonly (LedgerEntry | undefined)[]>;
  /**
   * In the given order: the file of each item that was last listed, and fetched, exactly as it is listed now; undefined for every
   * other. The file itself may be missing or altered. Much cheaper than the entries.
   */
  unchangedFiles(sightings: readonly Sighting[]): Promise<readonly (MeasuredFile | undefined)[]>;
  /** Ids of all entries, in pages; much cheaper than the entries. */
  items(): AsyncIterable<readonly ItemId[]>;
  /** Every item that is listed or has a file, in pages. */
  states(): AsyncIterable<readonly ItemState[]>;
  /** In the given order; undefined for an item that is not in the index. */
  labels(items: readonly ItemId[]): Promise<readonly (ItemLabel | undefined)[]>;
  /** Counts entries, entries with a file, and entries with a document in this store. */
  count(): Promise<{ readonly items: number; readonly files: number; readonly indexed: number }>;
  /** Counts entries with a file; ten times as fast as `count`. */
  countFiles(): Promise<number>;
  /** Returns those of these files that belong to an item. */
  filesAmong(files: Iterable<string>): Promise<ReadonlySet<string>>;
  /**
   * Returns items with a facet that changed after this revision, and items whose file is below one of these folders.
   */
  changedSince(revision: number, folders: readonly string[]): Promise<readonly ItemId[]>;
  /** In pages, in the order in which they were first put; safe against puts while iterating. */
  entries(): AsyncIterable<readonly LedgerEntry[]>;
  /**
   * Sets the given facets; null clears a facet, and an entry without facets is deleted. Reads see it at once; the next
   * flush writes it.
   */
  put(item: ItemId, facets: Partial<Omit<LedgerEntry, "itemId">>): void;
  /**
   * Sets the facet `indexed`. In the domain's own store, also adds the version to `files_metadata.json`, or updates its
   * name and path there.
   */
  putEmbedded(entry: LedgerEntry, indexed: Indexed): void;
  /** +1 with every transaction that changed something of the source. */
  readonly revision: number;
  /** undefined before the first listing. After a user edited a map file its policy is "", which matches no listing. */
  readonly listing: ListingCheckpoint | undefined;
  /** The next flush writes it. */
  noteListing(listing: ListingCheckpoint): void;
  /** The revision up to which the domain's own store is complete by these rules; 0 if unknown. */
  indexedUpTo(rules: string): number;
  noteIndexed(rules: string, revision: number): void;
  /** Writes everything put so far in one transaction. */
  flush(): Promise<void>;
  /** Flushes if the last flush was a while ago. For loops over many items: a kill loses the last few. */
  flushNowAndThen(): Promise<void>;
  /** Flushes, and writes the map files for kinds that keep them. The ledger must not be used afterwards. */
  close(): Promise<void>;
}

/** An acknowledged failure, as it was then. */
export interface AcknowledgedFailure {
  readonly itemId: ItemId;
  readonly step: "download" | "process" | "embed";
  readonly reason: string;
  /** Identifies the content that failed: its hash, or size and time as listed. */
  readonly content: string;
  readonly at: string;
}

/** Failures that are known, of all sources. Lost with the ledger: then they are new again. */
export interface Acknowledgements {
  /** None for a source that was never crawled. */
  of(source: LedgerSource): Promise<readonly AcknowledgedFailure[]>;
  /** Replaces earlier ones of the same items. */
  put(source: LedgerSource, failures: readonly AcknowledgedFailure[]): Promise<void>;
  /** Returns how many there were. */
  remove(source: LedgerSource, items: readonly ItemId[]): Promise<number>;
}

/** What the ledger remembers of an item, in all tables. */
export interface LedgerTraces {
  readonly rows: number;
  /** Names and addresses, present and earlier. */
  readonly names: readonly string[];
  /** Paths below the source's root. */
  readonly paths: readonly string[];
  /** Paths below the source's folder, or below `crawler/`. */
  readonly files: readonly string[];
  readonly fileIds: readonly FileId[];
  /** SHA-256 of what it is now, as far as that is known. */
  readonly hashes: readonly string[];
  /** And of its earlier versions. */
  readonly earlierHashes: readonly string[];
}

export interface ItemWithContent {
  readonly kind: string;
  readonly sourceId: string;
  readonly itemId: ItemId;
  readonly path: string;
}

export interface LedgerOptions {
  readonly readOnly: boolean;
  /** With readOnly, for dry runs: a snapshot whose puts are visible only here. Must be closed. */
  readonly isSnapshot?: boolean;
  /** Changes of this step are appended to the map files while it runs, for kinds that keep them. */
  readonly step?: "download" | "process" | "embed";
  /** Another store than the domain's own: its index rows are kept apart. */
  readonly vectorStoreId?: VectorStoreId | undefined;
}

/** A source of a domain. */
export interface LedgerSource {
  readonly domainId: DomainId;
  readonly config: Pick<SourceConfig, "kind" | "sourceType" | "sourceId">;
}

/** What can be said of a domain's documents without looking at its sources. */
export interface Freshness {
  /** When each source was last checked completely; no entry: never. */
  readonly checkedAt: ReadonlyMap<SourceId, string>;
  /** Items whose document may be outdated: an update failed, or they are not listed any more and their removal is held. */
  readonly behind: ReadonlySet<ItemId>;
}

/** Archived map files of a source. */
export interface ArchivedMaps {
  /** Where they come from, for messages. */
  readonly from: string;
  readonly files: readonly { readonly name: string; readonly content: AsyncIterable<Uint8Array> }[];
}

/** The ledgers of all domains. */
export interface Ledgers {
  /** Embedded versions, with users' properties. */
  readonly metadata: FilesMetadata;
  /** Vector stores that are not the domains' own. */
  readonly stores: OtherStores;
  readonly schedules: ScheduleStates;
  readonly acknowledgements: Acknowledgements;
  readonly feedback: FeedbackRows;
  readonly uploads: UploadJournals;
  readonly leases: Leases;
  /** Imports users' edits of the map files first, unless the ledger has newer data. */
  open(source: LedgerSource, options: LedgerOptions): Promise<Ledger>;
  /** Opens a plan for one run of one source; deleted on close. */
  openPlan(): PlanDraft;
  /** Plans of dry runs that later runs keep to. */
  readonly plans: StoredPlans;
  /**
   * Returns a version: the same text means the same content. "" if there is no usable ledger, or a map file was edited.
   */
  version(source: LedgerSource): Promise<string>;
  /** How fresh the index is, for these items of the domain. Cheap; {} before the first crawl. */
  freshness(domainId: DomainId, items: readonly ItemId[]): Promise<Freshness>;
  /** The web pages and registered addresses of all domains. */
  readonly members: Members;
  /** The memory of a web site's crawls; a dry run only reads it. */
  openSiteMemory(source: LedgerSource, head: CrawlHead, options: { readonly dryRun: boolean }): Promise<SiteMemory>;
  /** The three map files as they would be written now, by name. */
  maps(source: LedgerSource): readonly { readonly name: string; content(): AsyncIterable<Uint8Array> }[];
  /**
   * Writes `manifest.json` of a tree, unless it is up to date or has more than `upTo` entries. Users' edits of it are
   * imported when the ledger is opened next.
   */
  exportManifest(source: LedgerSource, options?: { readonly upTo?: number }): Promise<void>;
  /** Encodes `manifest.json` with these entries. In a source's folder it is imported like an edited one. */
  encodeManifest(entries: readonly ManifestEntry[]): AsyncIterable<Uint8Array>;
  /** Deletes the manifest of a tree; mirror and index rows stay. */
  forgetManifest(source: LedgerSource): Promise<void>;
  /**
   * For dry runs: writes the two map files as a download would leave them, under this id, until `remove`; undefined
   * before the first crawl.
   */
  writeScratchMaps(source: LedgerSource, ledger: Ledger, id: string): Promise<{ remove(): Promise<void> } | undefined>;
  /** Stores that are not the domain's own and have index rows, also rows of an earlier release for these sources. */
  indexedStores(domainId: DomainId, sources: readonly LedgerSource["config"][]): Promise<readonly VectorStoreId[]>;
  /** Deletes the index rows of a store that is not the domain's own. */
  dropStore(source: LedgerSource, store: VectorStoreId): Promise<void>;
  /** Everything that the ledger knows of an item; undefined: it has neither the source nor embedded versions of the domain. */
  traces(source: LedgerSource, item: ItemId): Promise<LedgerTraces | undefined>;
  /** Deletes every row of an item, and links and plans that name one of the words; exports are rewritten by whoever writes them. */
  eraseTraces(source: LedgerSource, item: ItemId, words: readonly string[]): Promise<number>;
  /** Items of the domain, of any source, that have one of these contents. */
  withContent(domainId: DomainId, hashes: readonly string[]): Promise<readonly ItemWithContent[]>;
  /** Whether another item of the domain has this name. */
  isNameShared(domainId: DomainId, name: string, item: ItemId): Promise<boolean>;
  /** Deletes everything of the source. */
  forget(source: LedgerSource): Promise<void>;
  /** Renames a domain whose folder has moved and of which no lease is held. Repeatable. */
  renameDomain(ids: { readonly from: DomainId; readonly to: DomainId }): Promise<void>;
  /** Deletes everything of the domain; call it before its folder is deleted. */
  forgetDomain(domainId: DomainId): Promise<void>;
  /** Closes the files of a domain, so that its folder can be moved. */
  release(domainId: DomainId): Promise<void>;
  close(): Promise<void>;
}
