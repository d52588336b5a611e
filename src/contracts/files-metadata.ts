import type { DomainId, ItemId } from "./ids.ts";

/** An entry as `files_metadata.json` has it. */
export type MetadataEntry = Readonly<Record<string, unknown>>;

/** What tells whether an entry is still needed. */
export interface EntrySummary {
  readonly fileId: string;
  readonly itemId: string;
  readonly name: string;
  readonly embeddedAt: string;
  /** Names of the user's properties. */
  readonly properties: readonly string[];
}

/**
 * Every version of every item that was embedded into a domain's own store, with the properties that users gave it. New ones come by
 * `Ledger.putEmbedded`; `files_metadata.json` is the export of all, which people may edit.
 */
export interface FilesMetadata {
  /** Takes over what somebody did to the file, where the ledger knows nothing newer. Returns why it cannot be read; "" where it can, or is not there. */
  readBack(domainId: DomainId): Promise<string>;
  /** Writes the file unless it says already what the ledger says; one that cannot be read is set aside first. Returns sentences for the log. */
  write(domainId: DomainId): Promise<readonly string[]>;
  /** By file id. What somebody did to the file counts. */
  find(domainId: DomainId, fileIds: readonly string[]): Promise<ReadonlyMap<string, MetadataEntry>>;
  /** In pages, in the order of the file; without what is no entry. */
  entries(domainId: DomainId): AsyncIterable<readonly EntrySummary[]>;
  /** How many elements the file has. */
  count(domainId: DomainId): Promise<number>;
  /** Forgets entries; the file has them until it is written. */
  remove(domainId: DomainId, which: { readonly fileIds: readonly string[] }): Promise<void>;
  remove(domainId: DomainId, which: { readonly itemIds: readonly ItemId[] }): Promise<void>;
}
