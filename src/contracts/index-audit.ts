import type { FileId, ItemId } from "./ids.ts";
import type { DocumentFile } from "./search-index.ts";

/** Where in the index a document is not what its bytes give. */
export type AuditedPart = "document" | "label" | "text" | "sections" | "chunks" | "vectors" | "state" | "attributes";

export interface IndexDifference {
  readonly part: AuditedPart;
  /** A sentence for people, without the document's text. */
  readonly detail: string;
}

/** What the index has of one document, compared with what its bytes give now. */
export interface DocumentAudit {
  /** Empty: it has just that. */
  readonly differences: readonly IndexDifference[];
  readonly chunks: number;
  readonly vectors: number;
  /** Vectors that were stored without a checksum: only their length and space were looked at. */
  readonly unsummed: number;
}

/** Something in the store that no document needs: an older version, a failed or unfinished one, a row without its upload. */
export interface IndexLeftover {
  readonly itemId: ItemId;
  readonly fileId: FileId;
  readonly detail: string;
}

/** Compares what is stored, all of it, with what is handed in; believes no cache. Changes nothing. */
export interface IndexAudit {
  /** What the comparison rests on, for the certificate: `text, sections, chunks, vectors`. */
  readonly basis: string;
  /** `keptText` has the text that was extracted from these very bytes in this run. */
  check(file: DocumentFile, signal: AbortSignal): Promise<DocumentAudit>;
  leftovers(): AsyncIterable<readonly IndexLeftover[]>;
  /**
   * The parts of this document are not taken again when it is put next, but made anew; documents with the same content follow.
   * Absent where every put makes everything anew.
   */
  disown?(itemId: ItemId): Promise<void>;
}
