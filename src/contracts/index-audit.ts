import type { FileId, ItemId } from "./ids.ts";
import type { DocumentFile, IndexedRef } from "./search-index.ts";

/** The part of an indexed document that differs from its bytes. */
export type AuditedPart = "document" | "label" | "text" | "sections" | "chunks" | "vectors" | "state" | "attributes";

export interface IndexDifference {
  readonly part: AuditedPart;
  /** A sentence for users, without the document's text. */
  readonly detail: string;
}

/** An indexed document compared with its bytes. */
export interface DocumentAudit {
  /** Empty: no differences. */
  readonly differences: readonly IndexDifference[];
  readonly chunks: number;
  readonly vectors: number;
  /** Vectors stored without a checksum: only their length and space were checked. */
  readonly unsummed: number;
}

/** Unneeded data in the store: an older version, a failed or unfinished one, a row without its upload. */
export interface IndexLeftover {
  readonly itemId: ItemId;
  readonly fileId: FileId;
  readonly detail: string;
}

/** Compares stored data with the given documents, without caches. Changes nothing. */
export interface IndexAudit {
  /** What is compared, for the certificate: `text, sections, chunks, vectors`. */
  readonly basis: string;
  /** `cachedText` returns the text that was extracted from these bytes in this run. */
  check(file: DocumentFile, signal: AbortSignal): Promise<DocumentAudit>;
  /** Compares only what needs no text: label, and vectors with their checksums. */
  checkStored(file: DocumentFile): Promise<DocumentAudit>;
  /**
   * Where the store may hold several files of one item: takes this one for its document if it is searchable and made of these
   * bytes. The others are leftovers then. Returns undefined if it is not.
   */
  prefer?(itemId: ItemId, fileId: FileId, sha256: string): IndexedRef | undefined;
  leftovers(): AsyncIterable<readonly IndexLeftover[]>;
}
