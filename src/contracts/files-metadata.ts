import type { DomainId, ItemId } from "./ids.ts";

/** An entry as `files_metadata.json` has it. */
export type MetadataEntry = Readonly<Record<string, unknown>>;

/** What tells whether an entry is still needed. */
export interface EntrySummary {
  /** "" for an element of the file that is no entry. */
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
  /**
   * In pages. `asEdited`: as they would be after `readBack`, of which nothing is written; throws BadInputError where the file cannot be
   * read.
   */
  entries(domainId: DomainId, options?: { readonly asEdited?: boolean }): AsyncIterable<readonly EntrySummary[]>;
  /** Takes entries out, and writes the file without them. Returns sentences for the log. */
  remove(domainId: DomainId, which: EntriesToRemove): Promise<readonly string[]>;
}

export type EntriesToRemove = { readonly fileIds: readonly string[] } | { readonly itemIds: readonly ItemId[] };
