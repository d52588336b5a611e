import type { DomainId, ItemId, SourceId } from "./ids.ts";

/**
 * The kind whose sources have members. Its type is stored with each of them; its folder shows whether a domain has any.
 */
export const MEMBERS_OF = { type: "web_sources", folder: "04_web" } as const;

/**
 * A web page, registered address or file in a source of a domain: why it is there, and what the domain's index has of
 * it.
 */
export interface Member {
  readonly domainId: DomainId;
  readonly sourceId: SourceId;
  readonly itemId: ItemId;
  /**
   * `asked`: this address was registered. `led`: a link or a registered address leads to it. `no`: it was removed, and
   * waits to leave the index.
   */
  readonly wanted: "asked" | "led" | "no";
  /** Consecutive complete crawls that found no link to it. */
  readonly unlinkedCount: number;
  readonly lastIndexedDocId: string;
  /** From the ledger; read-only here. */
  readonly lastIndexed: string;
  /** Hash of the indexed content. */
  readonly contentHash: string;
  /** The item's `processedGeneration` when it was indexed. */
  readonly indexedGeneration: number;
}

export type MemberKey = Pick<Member, "domainId" | "sourceId" | "itemId">;

/** Stored in the ledgers of their domains. */
export interface Members {
  /** In all domains. */
  of(item: ItemId): Promise<readonly Member[]>;
  /** Returns the members of many items; items without members are left out. */
  ofMany(items: readonly ItemId[]): Promise<ReadonlyMap<ItemId, readonly Member[]>>;
  /** In pages. */
  in(domain: DomainId, source: SourceId): AsyncIterable<readonly Member[]>;
  /** false: the ledger may have been lost, and no crawl has restored its members yet. */
  isWhole(domain: DomainId, source: SourceId): Promise<boolean>;
  /** Returns the items of all sources of the domain. */
  idsIn(domain: DomainId): Promise<ReadonlySet<ItemId>>;
  /**
   * Replaces each member by the result of `change`; undefined deletes it, the same object writes nothing. Users
   * register and remove addresses while index results are written, so `change` gets the current member within the
   * transaction. Of a key that is given twice, the second counts. Writes nothing for a deleted domain.
   */
  change<Key extends MemberKey>(
    keys: readonly Key[],
    change: (known: Member | undefined, key: Key) => Member | undefined,
  ): Promise<void>;
  forget(domain: DomainId, source: SourceId): Promise<void>;
}

/** As stored in the registry by earlier releases. */
export type EarlierMember = Omit<Member, "wanted">;

/** Members that an earlier release left in the registry. */
export interface EarlierMembers {
  isEmpty(): Promise<boolean>;
  /**
   * Passes those of these domains to `take`, in pages, and deletes each page when it returns; drops the table when none is
   * left. Those of other domains are not read: there may be many, and they may stay for good.
   */
  handOver(domains: Iterable<DomainId>, take: (members: readonly EarlierMember[]) => Promise<void>): Promise<void>;
}
