import type { DomainId, ItemId, SourceId } from "./ids.ts";

/** The id of an item, or `sha256:…` of an id that contains names: the list of erased items has no names. */
export type ErasedKey = string;

/** An item that was erased, or is being erased, and is blocked from being crawled again. Ids and hashes only. */
export interface ErasedItem {
  readonly erasureId: string;
  /** The kind and id of its source. */
  readonly sourceType: string;
  readonly sourceId: SourceId;
  readonly item: ErasedKey;
  /** SHA-256 of the bytes of its versions. */
  readonly contentHashes: readonly string[];
  /** For files without ids: hashes of the paths at which it was found. */
  readonly pathHashes: readonly string[];
  readonly reason: string;
  /** `key:0123456789ab`, `terminal:anna` */
  readonly by: string;
  readonly startedAt: string;
  /** "" until every place was done. */
  readonly finishedAt: string;
}

/** Refuses erasing and purging. */
export interface Hold {
  /** "" for the whole domain. */
  readonly sourceId: SourceId | "";
  readonly item: ErasedKey;
  readonly reason: string;
  readonly by: string;
  readonly at: string;
}

export interface ErasureRecords {
  readonly erased: readonly ErasedItem[];
  readonly holds: readonly Hold[];
}

/** Erased items and holds of the domains. */
export interface ErasureStore {
  /** Empty for a domain without any. UnreadableError if they cannot be read: nothing may be crawled, purged or erased then. */
  read(domainId: DomainId): Promise<ErasureRecords>;
  /** One change at a time, among all processes. NotFoundError for a domain that does not exist. */
  change(domainId: DomainId, change: (records: ErasureRecords) => ErasureRecords): Promise<ErasureRecords>;
  /** Writes a receipt; returns its path below the storage folder. */
  putReceipt(domainId: DomainId, name: string, text: string): Promise<string>;
}

/** Erased items of one source, as its listing meets them. */
export interface BlockedItems {
  hasItem(item: ItemId): boolean;
  /** Below the root, as the tree spells it. */
  hasPath(path: string): boolean;
  /** SHA-256, hex. */
  hasContent(hash: string): boolean;
  /** Counts the item as skipped. */
  skipItem(item: ItemId): void;
  /** Counts a file of a tree. One that was recognised by its content is known by its path from now on. */
  skipFile(path: string, contentHash?: string): void;
}
