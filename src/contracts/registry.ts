import type { ItemId } from "./ids.ts";
import type { EarlierMembers } from "./members.ts";

export const INGEST_STATUSES = ["Pending", "Crawled", "Indexed", "Error", "OutOfScope", "Gone"] as const;
/**
 * Pending: never looked at. Crawled: its document is here, the index does not have it yet. Indexed: it has. Error: the last
 * look failed, what was known stays. OutOfScope: it must not or cannot be indexed (robots.txt, noindex, too large, of a type
 * nobody reads, an address that may not be asked), or is another item's address (`aliasOf`). Gone: 404 or 410 too often in a
 * row.
 */
export type IngestStatus = (typeof INGEST_STATUSES)[number];

/**
 * What is known of one address, whoever asked for it: the row of IngestItems. Fields are named as the specification names
 * them; instants are ISO 8601 UTC with six fraction digits, so they compare as text, "" for never, and texts are "" where nothing is known.
 */
export interface IngestItem {
  /** `url_…` or `file_…`, from the normalised source. */
  readonly id: ItemId;
  readonly type: "url" | "file";
  /** The identity: ASCII, without fragment, trackers and secrets. */
  readonly normalizedSource: string;
  /** The same for people: Unicode host, readable path. */
  readonly displaySource: string;
  /** The address as it was found, without secrets and trackers: this is what is asked for. */
  readonly foundSource: string;
  /** With its port, unless that is the usual one. */
  readonly sourceHost: string;
  /** Groups http and https, and variants of the query. Only groups. */
  readonly contentGroupId: string;
  readonly parentPageId: ItemId | "";
  /** The item that this address turned out to be, by a redirect or a canonical link. */
  readonly aliasOf: ItemId | "";
  readonly status: IngestStatus;
  /** Somebody asked for this very address: the timer looks after it. Others are looked at when their site is crawled. */
  readonly watched: boolean;
  readonly includeImages: boolean;
  /** What whoever registered it calls it. */
  readonly title: string;
  readonly reindexRequested: boolean;
  /** Counts the requests to look at it regardless; work is owed while it is above `processedGeneration`. */
  readonly reindexGeneration: number;
  readonly processedGeneration: number;
  /** The `reindexGeneration` of the last request that somebody made; an answer may have counted one more (a new canonical link). */
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
  /** The file system on which a file of this machine was last seen; "" where there is no such thing. */
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
  /** As the page calls itself. */
  readonly foundTitle: string;
  /** When the content was last changed, as far as anybody says; and who says so. */
  readonly modifiedAt: string;
  readonly modifiedFrom: DateOrigin | "";
  /** Of whatever made the document out of the answer: another one reads everything again. */
  readonly readerRevision: string;
}

export type DateOrigin = "article:modified_time" | "dateModified" | "sitemap" | "Last-Modified";

export interface SchedulingState {
  readonly firstSeen: string;
  readonly lastChecked: string;
  readonly lastChanged: string;
  readonly lastIndexed: string;
  /** Looks that failed, over all its time. */
  readonly crawlAttempts: number;
  readonly errorMessage: string;
  readonly nextCrawlAt: string;
  /** A message for it waits in the queue; believed until then, in case it got lost. "" once somebody has begun. */
  readonly queuedUntil: string;
  readonly crawlIntervalSeconds: number;
  /** Checks in a row that found nothing new, failed, and were answered 404 or 410. */
  readonly unchangedCount: number;
  readonly failureCount: number;
  readonly goneCount: number;
  /** What is there instead of a document since a short while (another item's id, or a word such as `type`), and checks in a row that said so. */
  readonly movedTo: string;
  readonly movedCount: number;
  /** When `goneCount` or `movedCount` last rose: they count checks that are apart. */
  readonly countedAt: string;
}

export interface ItemEvent {
  readonly at: string;
  /** `registered`, `changed`, `unchanged`, `failed`, `gone`, `indexed`, … */
  readonly event: string;
  readonly detail: string;
}

/** The `errorMessage` of an item whose record could not be read: little is known of it until it is looked at, which makes the record anew. */
export const DAMAGED_RECORD = "Its record in the registry is damaged. The next look at it makes it anew.";

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
  /** Only of these. */
  readonly among?: ReadonlySet<ItemId> | undefined;
  /** In its addresses or titles, whatever the case. */
  readonly text?: string;
  readonly sort?: ItemSort;
  readonly descending?: boolean;
  readonly offset: number;
  /** Left out: all there are, as they were at one moment where the store can tell. */
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
  /** The due item that has waited longest: since when; "" when none is due. */
  readonly oldestDue: string;
  /** The item whose last look is longest ago. */
  readonly oldestChecked: string;
  /** Of the items that were looked at in the last 24 hours. */
  readonly checkedLastDay: number;
  readonly changedLastDay: number;
  readonly failedLastDay: number;
}

/**
 * The ledger of single addresses, shared by all processes that see the same database or storage account. Every write names
 * the version it builds on, so of two that work on the same item one learns that it came too late.
 */
export interface Registry {
  get(id: ItemId): Promise<RegisteredItem | undefined>;
  /** In the order asked for. */
  getMany(ids: readonly ItemId[]): Promise<readonly (RegisteredItem | undefined)[]>;
  /** null: there is none yet. ConflictError unless that is the version there is. */
  put(item: IngestItem, expected: ItemVersion | null): Promise<ItemVersion>;
  /** Where the specification's table has the item, or would have it: what messages name. */
  keysOf(item: IngestItem): Promise<ItemKeys>;
  /** ConflictError like put. One that is gone already is fine. */
  delete(id: ItemId, expected: ItemVersion): Promise<void>;
  /**
   * Those whose `nextCrawlAt` has come at `at`, and that are watched or owe a request, and nobody's at that time; those that
   * have waited longest first where the store can tell. In pages. A request makes its item due, a failure puts it off: owed
   * alone is not due.
   */
  due(at: string): AsyncIterable<readonly RegisteredItem[]>;
  /** In pages, in no particular order. */
  entries(filter?: {
    readonly statuses?: readonly IngestStatus[];
    readonly watched?: boolean;
  }): AsyncIterable<readonly RegisteredItem[]>;
  list(query: ItemQuery): Promise<ItemPage>;
  /** Of all items, or of these. */
  summary(at: string, among?: ReadonlySet<ItemId>): Promise<RegistrySummary>;
  readonly earlierMembers: EarlierMembers;
  close(): Promise<void>;
}
