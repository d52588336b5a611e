import type { DomainId, ItemId, SourceId } from "./ids.ts";

/** The kind whose sources have members. It is kept with each of them, and where it has its folder tells whether a domain has any. */
export const MEMBERS_OF = { type: "web_sources", folder: "04_web" } as const;

/** A web page, a registered address or file in a source of a domain: why it is there, and what the index of that domain has of it. */
export interface Member {
  readonly domainId: DomainId;
  readonly sourceId: SourceId;
  readonly itemId: ItemId;
  /**
   * `asked`: somebody registered this very address. `led`: a link or a registered address leads to it. `no`: it was taken out, and
   * waits to leave the index.
   */
  readonly wanted: "asked" | "led" | "no";
  /** Complete crawls in a row that met no link to it. */
  readonly unlinkedCount: number;
  readonly lastIndexedDocId: string;
  /** As the ledger says; not to be changed here. */
  readonly lastIndexed: string;
  /** What was indexed. */
  readonly contentHash: string;
  /** The item's `processedGeneration` when it was indexed. */
  readonly indexedGeneration: number;
}

export type MemberKey = Pick<Member, "domainId" | "sourceId" | "itemId">;

/** In the ledgers of their domains. */
export interface Members {
  /** In all domains. */
  of(item: ItemId): Promise<readonly Member[]>;
  /** Likewise of many; for those that no domain has there is nothing. */
  ofMany(items: readonly ItemId[]): Promise<ReadonlyMap<ItemId, readonly Member[]>>;
  /** In pages. */
  in(domain: DomainId, source: SourceId): AsyncIterable<readonly Member[]>;
  /** false: the ledger may have been lost, and no crawl has brought back yet what the source had. */
  isWhole(domain: DomainId, source: SourceId): Promise<boolean>;
  /** Of all sources of the domain. */
  idsIn(domain: DomainId): Promise<ReadonlySet<ItemId>>;
  /**
   * Each becomes what `change` makes of it; undefined: there is none. People register and take out addresses while the index
   * is told of, so `change` sees what is there at that very moment. The same object: nothing to write. A key that is given twice
   * counts the second time. Of a domain that was deleted nothing is written.
   */
  change<Key extends MemberKey>(
    keys: readonly Key[],
    change: (known: Member | undefined, key: Key) => Member | undefined,
  ): Promise<void>;
  forget(domain: DomainId, source: SourceId): Promise<void>;
}

/** As earlier releases kept it in the registry. */
export type EarlierMember = Omit<Member, "wanted">;

/** What an earlier release left in the registry. */
export interface EarlierMembers {
  isEmpty(): Promise<boolean>;
  /** Gives `take` all of them in pages, and removes those that it returns. Nothing stays of where they were when none is left. */
  handOver(take: (members: readonly EarlierMember[]) => Promise<readonly EarlierMember[]>): Promise<void>;
}
