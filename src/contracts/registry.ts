import type { ItemId } from "./ids.ts";
import type { EarlierMembers } from "./members.ts";

export const INGEST_STATUSES = ["Pending", "Crawled", "Indexed", "Error", "OutOfScope", "Gone"] as const;
/**
 * Pending: never fetched. Crawled: its document is stored, but not indexed yet. Indexed: it is indexed. Error: the last
 * fetch failed, earlier data stays. OutOfScope: must not or cannot be indexed (robots.txt, noindex, too large,
 * unsupported type, forbidden address), or is an alias of another item (`aliasOf`). Gone: 404 or 410 too often in a
 * row.
 */
export type IngestStatus = (typeof INGEST_STATUSES)[number];

/**
 * The record of one address: a row of IngestItems. Fields are named as in the specification; instants are ISO 8601 UTC
 * with six fraction digits, so they compare as text; "" for never, and for unknown texts.
 */
export interface IngestItem {
  /** `url_…` or `file_…`, derived from the normalised source. */
  readonly id: ItemId;
  readonly type: "url" | "file";
  /** The identity: ASCII, without fragment, tracking parameters and secrets. */
  readonly normalizedSource: string;
  /** For display: Unicode host, readable path. */
  readonly displaySource: string;
  /** The address as found, without secrets and tracking parameters: this is what is requested. */
  readonly foundSource: string;
  /** With its port, unless that is the default. */
  readonly sourceHost: string;
  /** Groups http and https, and variants of the query. Only groups. */
  readonly contentGroupId: string;
  readonly parentPageId: ItemId | "";
  /** The item that this address leads to, by a redirect or a canonical link. */
  readonly aliasOf: ItemId | "";
  readonly status: IngestStatus;
  /** The address was registered: the timer fetches it. Others are fetched when their site is crawled. */
  readonly watched: boolean;
  readonly includeImages: boolean;
  /** The title given at registration. */
  readonly title: string;
  readonly reindexRequested: boolean;
  /** Counts forced fetches; one is due while this is above `processedGeneration`. */
  readonly reindexGeneration: number;
  readonly processedGeneration: number;
  /** The `reindexGeneration` of the last user request; a response may have added one more (a new canonical link). */
  readonly requestedGeneration: number;
  readonly http: HttpState;
  readonly file: FileState;
  readonly content: ContentState;
  readonly linkage: {
    readonly lastIndexedDocId: string;
    readonly imageCount: number;
    /** Why the index cannot have the document as it is. */
    readonly indexError: string;
  };
  readonly scheduling: SchedulingState;
  readonly lock: { readonly lockedUntil: string; readonly lockedBy: string };
  /** What happened to it, newest last, at most 30. */
  readonly history: readonly ItemEvent[];
}

export interface HttpState {
  readonly etag: string;
  /** An instant; of records of earlier versions the header as it came. */
  readonly lastModified: string;
  readonly contentLength: number;
  /** 0 before the first answer. */
  readonly statusCode: number;
  readonly redirectChain: readonly string[];
  readonly robotsAllowed: boolean;
  readonly canonicalUrl: string;
  /** Where the Markdown is that the site offers for it, which is its document. */
  readonly variantUrl: string;
}

export interface FileState {
  readonly etag: string;
  readonly lastModified: string;
  readonly length: number;
  readonly contentType: string;
  /** The file system on which a local file was last seen; "" for other items. */
  readonly device: string;
}

export interface ContentState {
  /** `sha256:…` of the bytes that are indexed. */
  readonly contentHash: string;
  /** `sha256:…` of the text in them. */
  readonly textHash: string;
  readonly language: string;
  readonly mimeType: string;
  /** Extension of the document, without dot. */
  readonly documentType: string;
  /** The title found in the page. */
  readonly foundTitle: string;
  /** When the content last changed, and where that date comes from. */
  readonly modifiedAt: string;
  readonly modifiedFrom: DateOrigin | "";
  /** Revision of the reader that made the document: another revision reads everything again. */
  readonly readerRevision: string;
}

export type DateOrigin = "article:modified_time" | "dateModified" | "sitemap" | "Last-Modified";

export interface SchedulingState {
  readonly firstSeen: string;
  readonly lastChecked: string;
  readonly lastChanged: string;
  readonly lastIndexed: string;
  /** Failed fetches in total. */
  readonly crawlAttempts: number;
  readonly errorMessage: string;
  readonly nextCrawlAt: string;
  /** A message waits in the queue; after this time it counts as lost. "" once a worker has taken it. */
  readonly queuedUntil: string;
  readonly crawlIntervalSeconds: number;
  /** Consecutive checks that found no change, failed, or got 404 or 410. */
  readonly unchangedCount: number;
  readonly failureCount: number;
  readonly goneCount: number;
  /**
   * What replaced the document recently (another item's id, or a word such as `type`), and how many consecutive checks
   * said so.
   */
  readonly movedTo: string;
  readonly movedCount: number;
  /** When `goneCount` or `movedCount` last rose: only checks at some distance count. */
  readonly countedAt: string;
}

export interface ItemEvent {
  readonly at: string;
  /** `registered`, `changed`, `unchanged`, `failed`, `gone`, `indexed`, … */
  readonly event: string;
  readonly detail: string;
}

/** The `errorMessage` of an item whose record could not be read; the next fetch writes it again. */
export const DAMAGED_RECORD = "Its record in the registry is damaged. The next fetch writes it again.";

/** Opaque; changes with every put. */
export type ItemVersion = string;

export interface ItemKeys {
  readonly partitionKey: string;
  readonly rowKey: string;
}

export interface RegisteredItem {
  readonly item: IngestItem;
  readonly version: ItemVersion;
}

export interface ItemQuery {
  readonly statuses?: readonly IngestStatus[];
  readonly host?: string;
  /** Only these items. */
  readonly among?: ReadonlySet<ItemId> | undefined;
  /** Part of an address or title, ignoring case. */
  readonly text?: string;
  readonly sort?: ItemSort;
  readonly descending?: boolean;
  readonly offset: number;
  /** Left out: all items, as one snapshot if the store supports that. */
  readonly limit?: number;
}

export const ITEM_SORTS = [
  "displaySource",
  "status",
  "nextCrawlAt",
  "lastChecked",
  "lastChanged",
  "firstSeen",
] as const;
export type ItemSort = (typeof ITEM_SORTS)[number];

export interface ItemPage {
  readonly items: readonly IngestItem[];
  readonly total: number;
}

export interface RegistrySummary {
  readonly total: number;
  readonly byStatus: Readonly<Record<IngestStatus, number>>;
  readonly due: number;
  /** Since when the longest waiting item is due; "" if none is. */
  readonly oldestDue: string;
  /** The oldest `lastChecked`. */
  readonly oldestChecked: string;
  /** Items fetched in the last 24 hours. */
  readonly checkedLastDay: number;
  readonly changedLastDay: number;
  readonly failedLastDay: number;
}

/**
 * The records of single addresses, shared by all processes that use the same database or storage account. Every write
 * names the version it is based on; of two concurrent writers one gets a ConflictError.
 */
export interface Registry {
  get(id: ItemId): Promise<RegisteredItem | undefined>;
  /** In the given order. */
  getMany(ids: readonly ItemId[]): Promise<readonly (RegisteredItem | undefined)[]>;
  /** `expected` null: a new item. ConflictError if the stored version is another one. */
  put(item: IngestItem, expected: ItemVersion | null): Promise<ItemVersion>;
  /** The item's keys in the specification's table, used in queue messages. */
  keysOf(item: IngestItem): Promise<ItemKeys>;
  /** ConflictError like put. Deleting a missing item is no error. */
  delete(id: ItemId, expected: ItemVersion): Promise<void>;
  /**
   * In pages: items whose `nextCrawlAt` is before `at`, that are watched or have a pending request, and that are not
   * locked then; longest waiting first if the store supports that. A request makes its item due and a failure delays
   * it: a pending request alone does not make it due.
   */
  due(at: string): AsyncIterable<readonly RegisteredItem[]>;
  /** In pages, in no particular order. */
  entries(filter?: {
    readonly statuses?: readonly IngestStatus[];
    readonly watched?: boolean;
  }): AsyncIterable<readonly RegisteredItem[]>;
  list(query: ItemQuery): Promise<ItemPage>;
  /** Counts all items, or only those in `among`. */
  summary(at: string, among?: ReadonlySet<ItemId>): Promise<RegistrySummary>;
  readonly earlierMembers: EarlierMembers;
  close(): Promise<void>;
}
