import type { SourceConfig } from "./domain.ts";
import type { OtherStores, ScheduleStates } from "./domain-state.ts";
import type { FilesMetadata } from "./files-metadata.ts";
import type { DomainId, FileId, ItemId, SourceId, VectorStoreId } from "./ids.ts";
import type { Leases } from "./lease.ts";
import type { Manifest, ManifestEntry } from "./manifest.ts";
import type { Members } from "./members.ts";
import type { Plan, PlanDraft, PlanState } from "./plan.ts";
import type { CrawlHead, SiteMemory } from "./site-memory.ts";
import type { Fingerprint } from "./source.ts";
import type { UploadJournals } from "./uploads.ts";

/** What the source said when it was last listed: a row of `sharepoint_map.csv`. */
export interface Seen {
  readonly listItemId: number;
  readonly name: string;
  readonly serverPath: string;
  readonly url: string;
  readonly rawUrl: string;
  readonly size: number;
  readonly modifiedAt: string;
  /** The source lists it and says that it is not to be taken. No map file has this. */
  readonly withheld?: boolean;
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

/** What a complete listing leaves so that the next look is cheap. Losing it costs time, and nothing else. */
export interface ListingCheckpoint {
  /** Of everything that decides what is wanted: the source's configuration, accepted types, size limit. */
  readonly policy: string;
  /** Where the source's change feed stood before the look; "" when it has none. */
  readonly mark: string;
  /** When everything was last listed, and how many runs have gone by the feed since. */
  readonly listedAt: string;
  readonly runsByFeed: number;
  /** Rows that the source counted and did not show. */
  readonly hiddenRows: number;
  /** Runs since the last integrity check that hashed files, and where it goes on. */
  readonly hashesOwed: number;
  readonly nextHashes: number;
}

/** Of one item, what tells whether anything is to be looked at: much cheaper to read than its entry. */
export interface ItemState {
  readonly itemId: ItemId;
  /** "" when no bytes were ever fetched; null: nothing of it belongs on disk. */
  readonly file: string | null;
  /** As it was measured; null until hashed. */
  readonly observed: Pick<Observed, "size" | "mtimeMs"> | null;
  /** The file is what the source last listed, and nothing went wrong with it. */
  readonly isCurrent: boolean;
  readonly isListed: boolean;
}

/** Of one item, what the index should hold: likewise. */
export interface ItemLabel {
  readonly itemId: ItemId;
  readonly fileId: FileId | "";
  readonly vectorStoreId: VectorStoreId | "";
  readonly sha256: string;
  readonly embeddingError: string;
  readonly file: string;
  readonly url: string;
}

/** The memory of one source. All writes of one step go through one open ledger; other steps may have theirs open too. */
export interface Ledger {
  readonly sourceId: SourceId;
  /** Map files that could not be read, one sentence each. They were set aside and count as empty. */
  readonly problems: readonly string[];
  /** Map files that somebody edited or took away since they were written, one sentence each; what they say was taken over. */
  readonly edits: readonly string[];
  /** Of a tree: its files, and what became of them. Nothing of other kinds. */
  readonly manifest: Manifest;
  /** Of a tree: the revision of the extractor that made the texts of all its files; "" while some are not made. */
  readonly textsBy: string;
  noteTexts(revision: string): void;
  /** It was lost, and built again of what was left when it was opened. */
  readonly wasLost: boolean;
  get(item: ItemId): Promise<LedgerEntry | undefined>;
  /** In the order asked for; undefined where there is no entry. */
  getMany(items: readonly ItemId[]): Promise<readonly (LedgerEntry | undefined)[]>;
  /** Every item there is an entry for, in pages; much cheaper than the entries themselves. */
  items(): AsyncIterable<readonly ItemId[]>;
  /** Every item that is listed or has a file, in pages. */
  states(): AsyncIterable<readonly ItemState[]>;
  /** Of those that have something in the index. */
  labels(items: readonly ItemId[]): Promise<readonly ItemLabel[]>;
  /** How many items there are entries for, how many have a file, and how many a document in this store. */
  count(): Promise<{ readonly items: number; readonly files: number; readonly indexed: number }>;
  /** How many have a file: it takes a tenth of the time. */
  countFiles(): Promise<number>;
  /** Which of these files an item has. */
  filesAmong(files: Iterable<string>): Promise<ReadonlySet<string>>;
  /** Items of which a facet changed after this revision; and those whose file lies below one of these folders of the source. */
  changedSince(revision: number, folders: readonly string[]): Promise<readonly ItemId[]>;
  /** In pages, in the order in which they were first put; safe against puts while iterating. */
  entries(): AsyncIterable<readonly LedgerEntry[]>;
  /**
   * Sets the facets given and leaves the others alone; null clears a facet, and an entry without facets is gone. Reads
   * see it at once; it is written with the next flush.
   */
  put(item: ItemId, facets: Partial<Omit<LedgerEntry, "itemId">>): void;
  /**
   * Likewise for the facet indexed; in the domain's own store, the version gets an entry of `files_metadata.json` with it, or the entry that
   * it has says its present name and place.
   */
  putEmbedded(entry: LedgerEntry, indexed: Indexed): void;
  /** +1 with every transaction that changed something of the source. */
  readonly revision: number;
  /** undefined before the first. When somebody edits a map file, its policy is "", which no listing has. */
  readonly listing: ListingCheckpoint | undefined;
  /** Written with the next flush. */
  noteListing(listing: ListingCheckpoint): void;
  /** Everything up to this revision was brought into the domain's own store, by these rules; 0 when that is not known of these. */
  indexedUpTo(rules: string): number;
  noteIndexed(rules: string, revision: number): void;
  /** One transaction: everything put so far survives a crash, or nothing of it is written. */
  flush(): Promise<void>;
  /** Flushes if the last time was a while ago. For loops over many items of which a kill may lose the last few. */
  flushNowAndThen(): Promise<void>;
  /** Flushes, and writes the map files where they are kept; the ledger must not be used afterwards. */
  close(): Promise<void>;
}

export interface LedgerOptions {
  readonly readOnly: boolean;
  /** With readOnly, for dry runs: what others write meanwhile is not seen, and what is put is seen here only. To be closed. */
  readonly isSnapshot?: boolean;
  /** What this step writes is appended to the map files while it runs, where they are kept. */
  readonly step?: "download" | "process" | "embed";
  /** Another store than the domain's own: what is indexed there is remembered apart. */
  readonly vectorStoreId?: VectorStoreId | undefined;
}

/** A source of a domain. */
export interface LedgerSource {
  readonly domainId: DomainId;
  readonly config: Pick<SourceConfig, "kind" | "sourceType" | "sourceId">;
}

/** Map files of a source that somebody kept. */
export interface ArchivedMaps {
  /** For people: where they are from. */
  readonly from: string;
  readonly files: readonly { readonly name: string; readonly content: AsyncIterable<Uint8Array> }[];
}

/** The ledgers of all domains. */
export interface Ledgers {
  /** What was embedded, with users' properties. */
  readonly metadata: FilesMetadata;
  /** Vector stores beside the domains' own. */
  readonly stores: OtherStores;
  readonly schedules: ScheduleStates;
  readonly uploads: UploadJournals;
  readonly leases: Leases;
  /** What somebody did to the map files of the source is taken over first, where the ledger knows nothing newer. */
  open(source: LedgerSource, options: LedgerOptions): Promise<Ledger>;
  /** For the plan of one run of one source. To be closed, and then it is gone. */
  openPlan(): PlanDraft;
  /** An earlier plan of this id is gone, of all sources of the domain. */
  dropPlan(domainId: DomainId, planId: string): Promise<void>;
  /** For a plan that is kept in the ledger under this id; another process can read it then. */
  storePlan(source: LedgerSource, planId: string): Promise<PlanDraft>;
  /** What is stored under this id is all there is, of all sources. */
  completePlan(domainId: DomainId, planId: string): Promise<void>;
  planState(domainId: DomainId, planId: string): Promise<PlanState>;
  /** undefined: there is no such plan. */
  findPlan(source: LedgerSource, planId: string): Promise<Plan | undefined>;
  /** The same text means the same content, now and later; "" when there is no ledger to rely on, or somebody edited a map file. */
  version(source: LedgerSource): Promise<string>;
  /** Which web pages and registered addresses the sources of all domains have. */
  readonly members: Members;
  /** What a web site remembers between crawls and during one; a dry run only reads it. */
  openSiteMemory(source: LedgerSource, head: CrawlHead, options: { readonly dryRun: boolean }): Promise<SiteMemory>;
  /** The three map files, whole, as they would be written now: by their names. */
  maps(source: LedgerSource): readonly { readonly name: string; content(): AsyncIterable<Uint8Array> }[];
  /**
   * Writes `manifest.json` of a tree unless it says what the ledger says, or has more than `upTo` entries. What somebody did to it
   * since it was written is taken over by whoever opens the ledger next.
   */
  exportManifest(source: LedgerSource, options?: { readonly upTo?: number }): Promise<void>;
  /** `manifest.json` with these entries: put into a source's folder, it is taken over like one that was edited. */
  encodeManifest(entries: readonly ManifestEntry[]): AsyncIterable<Uint8Array>;
  /** Nothing of the files of a tree is remembered any more; what is mirrored and indexed is. */
  forgetManifest(source: LedgerSource): Promise<void>;
  /** Of a dry run: the two map files as a download would leave them, under this id, until they are removed; undefined before the first crawl. */
  writeScratchMaps(source: LedgerSource, ledger: Ledger, id: string): Promise<{ remove(): Promise<void> } | undefined>;
  /** Stores that are not the domain's own and of which it is written down what is indexed there; also by an earlier release, for these sources. */
  indexedStores(domainId: DomainId, sources: readonly LedgerSource["config"][]): Promise<readonly VectorStoreId[]>;
  /** Forgets what is indexed in a store that is not the domain's own. */
  dropStore(source: LedgerSource, store: VectorStoreId): Promise<void>;
  /** Nothing of the source is remembered any more. */
  forget(source: LedgerSource): Promise<void>;
  /** The domain has another id now, and its folder, too. Nobody has leases of it any more. Doing it twice changes nothing. */
  renameDomain(ids: { readonly from: DomainId; readonly to: DomainId }): Promise<void>;
  /** Nothing of the domain is remembered any more; to be called before its folder goes. */
  forgetDomain(domainId: DomainId): Promise<void>;
  /** Lets go of the files of a domain, so that its folder can be moved. */
  release(domainId: DomainId): Promise<void>;
  close(): Promise<void>;
}
