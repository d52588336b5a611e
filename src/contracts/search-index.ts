import type { FileId, ItemId, SourceId } from "./ids.ts";

/** At most 16 keys, as the wire protocol has them. */
export type Attributes = Readonly<Record<string, string | number | boolean>>;

/** A mirrored file on its way into the index. */
export interface DocumentFile {
  readonly itemId: ItemId;
  /** Absolute path of the bytes. */
  readonly path: string;
  readonly sha256: string;
  readonly bytes: number;
  readonly label: Label;
}

/** What may change without the content changing: shown in results and searched, never embedded. */
export interface Label {
  readonly name: string;
  /** Below the source's root, `/`-separated. */
  readonly path: string;
  readonly url: string;
  readonly fileType: string;
  readonly attributes: Attributes;
}

/** What the index holds of one item. Times are ISO 8601 UTC with six fraction digits. */
export interface IndexedRef {
  readonly itemId: ItemId;
  readonly fileId: FileId;
  /** "" when the index does not know (a foreign backend). */
  readonly sha256: string;
  /** What the bytes were read as; undefined when the index does not tell. */
  readonly fileType?: string;
  readonly uploadedAt: string;
  readonly embeddedAt: string;
}

export interface FailedRef {
  readonly itemId: ItemId;
  readonly reason: string;
  /** true: the same bytes will fail again (unsupported, broken). false: worth another try. */
  readonly permanent: boolean;
}

export interface SearchQuery {
  readonly text: string;
  /** 1 to 50. */
  readonly limit: number;
  readonly filter?: AttributeFilter;
  /** 0 to 1; hits below are left out. */
  readonly scoreThreshold?: number;
}

export type AttributeFilter =
  | {
      readonly type: "eq" | "ne" | "gt" | "gte" | "lt" | "lte";
      readonly key: string;
      readonly value: string | number | boolean;
    }
  | { readonly type: "in" | "nin"; readonly key: string; readonly value: readonly (string | number)[] }
  | { readonly type: "and" | "or"; readonly filters: readonly AttributeFilter[] };

export interface SearchHit {
  readonly fileId: FileId;
  readonly name: string;
  /** 0 to 1. */
  readonly score: number;
  readonly attributes: Attributes;
  /** "Travel > Hotels", "" when the backend does not tell. */
  readonly sectionPath: string;
  readonly text: string;
}

/** One vector store as the crawler sees it. */
export interface Index {
  /** atomic: a draft becomes visible in one moment. gradual: a reader may meet a duplicate while committing, never a hole. */
  readonly commits: "atomic" | "gradual";
  /** One open draft per source; opening one sweeps what a crashed run left of the last. */
  draft(source: SourceId): Promise<IndexDraft>;
  /** What is visible now of this source, in pages. */
  holdings(source: SourceId): AsyncIterable<readonly IndexedRef[]>;
  search(query: SearchQuery): Promise<SearchHit[]>;
}

export interface IndexDraft {
  /**
   * Nothing of an older version of the item survives the commit. Failures are reported by the commit: a permanent one
   * takes the old version away (nothing outdated is served), any other leaves it as it was.
   */
  put(file: DocumentFile, signal: AbortSignal): Promise<void>;
  /** Same bytes, new name or place: keeps the file id and embeds nothing. */
  relabel(itemId: ItemId, label: Label): Promise<void>;
  remove(itemId: ItemId): Promise<void>;
  commit(
    signal: AbortSignal,
  ): Promise<{ readonly ready: readonly IndexedRef[]; readonly failed: readonly FailedRef[] }>;
  discard(): Promise<void>;
}
