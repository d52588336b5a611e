import type { DomainId, ItemId } from "./ids.ts";

/** An entry as `files_metadata.json` has it. */
export type MetadataEntry = Readonly<Record<string, unknown>>;

/** The fields that decide whether an entry is still needed. */
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
 * Every embedded version of every item of a domain's own store, with users' properties. `Ledger.putEmbedded` adds
 * entries; `files_metadata.json` is an export of all of them that users may edit.
 */
export interface FilesMetadata {
  /**
   * Imports users' edits of the file, unless the ledger has newer data. Returns why it cannot be read; "" if it can, or
   * is missing.
   */
  readBack(domainId: DomainId): Promise<string>;
  /**
   * Writes the file if it differs from the ledger; sets an unreadable one aside first. Returns messages for the log.
   */
  write(domainId: DomainId): Promise<readonly string[]>;
  /** By file id, including users' edits of the file. */
  find(domainId: DomainId, fileIds: readonly string[]): Promise<ReadonlyMap<string, MetadataEntry>>;
  /**
   * In pages. `asEdited`: as after `readBack`, without writing anything; throws BadInputError if the file cannot be
   * read.
   */
  entries(domainId: DomainId, options?: { readonly asEdited?: boolean }): AsyncIterable<readonly EntrySummary[]>;
  /** Removes entries and writes the file. Returns messages for the log. */
  remove(domainId: DomainId, which: EntriesToRemove): Promise<readonly string[]>;
}

export type EntriesToRemove = { readonly fileIds: readonly string[] } | { readonly itemIds: readonly ItemId[] };
