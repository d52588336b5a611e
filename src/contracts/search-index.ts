import type { ExtractedDocument } from "./document.ts";
import type { FileId, ItemId, SourceId, VectorStoreId } from "./ids.ts";
import type { IndexAudit } from "./index-audit.ts";

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
  /** Its text, when this revision of the extractor made it already from these very bytes; undefined: it is to be made. */
  readonly cachedText?: (extractor: string) => Promise<ExtractedDocument | undefined>;
  /** Readers have failed at these bytes often enough: if this one does, too, that is for good. */
  readonly isLastTry?: boolean;
  /** The very same bytes are in the backend under this id (another store has them): attach that, do not upload again. */
  readonly knownFileId?: FileId;
}

/** What may change without the content changing: shown in results and searched, never embedded. */
export interface Label {
  readonly name: string;
  /** Below the source's root, `/`-separated. */
  readonly path: string;
  readonly url: string;
  readonly fileType: string;
  /** ISO 8601 UTC, as the source tells it; "" when unknown. */
  readonly modifiedAt: string;
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
  /** Path and address that its results show; undefined when the index does not tell. */
  readonly path?: string;
  readonly url?: string;
  readonly uploadedAt: string;
  readonly embeddedAt: string;
}

export interface FailedRef {
  readonly itemId: ItemId;
  readonly reason: string;
  /** true: the same bytes will fail again (unsupported, broken). false: worth another try. */
  readonly permanent: boolean;
  /** The reader ran out of time or memory, or died. */
  readonly byReader?: boolean;
  /** The file has not the hash that it was given with. */
  readonly isAltered?: boolean;
}

export interface SearchQuery {
  readonly text: string;
  /** 1 to 50. */
  readonly limit: number;
  readonly filter?: AttributeFilter;
  /** 0 to 1; hits below are left out. */
  readonly scoreThreshold?: number;
  /** Only documents that are all of this. */
  readonly scope?: SearchScope;
  /** As of this generation instead of the active one; only where commits are atomic. */
  readonly generation?: number;
  /** What to go by: words, vectors, or (when left out) both. */
  readonly using?: "text" | "vectors";
  /** true: a passage that several documents have is a hit for each of them, as the wire protocol has it. */
  readonly unfolded?: boolean;
  /** Ends the search, with CancelledError, when nobody waits for it any more. */
  readonly signal?: AbortSignal | undefined;
  /** Hears what whoever asked should know about the answer, one sentence each. */
  readonly tell?: (note: string) => void;
}

export interface SearchScope {
  readonly domainId?: string;
  readonly sourceId?: string;
  /** Documents whose path below the source's root begins so. */
  readonly pathPrefix?: string;
  /** Extensions without dot, lower-case. */
  readonly fileTypes?: readonly string[];
  /** Modified at or after, ISO 8601 UTC. */
  readonly modifiedFrom?: string;
  /** Modified before. */
  readonly modifiedBefore?: string;
  /** ISO 639-1 codes, as found in the text. */
  readonly languages?: readonly string[];
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
  /** What only our own index tells. */
  readonly details?: HitDetails;
}

export interface HitDetails {
  /** Where the words of the question are in `text`, as offsets, in order, not overlapping. */
  readonly highlights: readonly { readonly start: number; readonly end: number }[];
  /** What the score is made of, each 0 to 1 before it is weighed. */
  readonly parts: { readonly text: number; readonly vector: number; readonly label: number };
  /** Below the source's root; "" for files attached over the wire. */
  readonly path: string;
  /** "" for files attached over the wire. */
  readonly url: string;
  /** ISO 8601 UTC, "" when unknown. */
  readonly modifiedAt: string;
  /** Of a pdf, 1 for the first; 0 when there are none. */
  readonly page: number;
  /** ISO 639-1, "" when the text is too short to tell. */
  readonly language: string;
  /** The generation that was searched. */
  readonly generation: number;
  /** Other documents with (nearly) the same passage, which are not hits of their own. */
  readonly alsoIn: readonly { readonly fileId: FileId; readonly name: string; readonly path: string }[];
}

/** One vector store as the crawler sees it. */
export interface Index {
  /** atomic: a draft becomes visible in one moment. gradual: a reader may meet a duplicate while committing, never a hole. */
  readonly commits: "atomic" | "gradual";
  /**
   * One open draft per source; opening one sweeps what a crashed run left of the last. `crawl` is the same for all that one
   * crawl commits: where earlier states are kept, they count as one.
   */
  draft(source: SourceId, crawl?: string): Promise<IndexDraft>;
  /** What is visible now of this source, in pages. */
  holdings(source: SourceId): AsyncIterable<readonly IndexedRef[]>;
  /** The sources of the domain of which something is visible now. */
  sources(): Promise<ReadonlySet<SourceId>>;
  /** For verify: compares what is stored of a source with what its bytes give. */
  openAudit?(source: SourceId): Promise<IndexAudit>;
  /** How much a search can find now. Cheap: nothing is listed, and what did not change is not counted again. */
  count(): Promise<DocumentCount>;
  search(query: SearchQuery): Promise<SearchHit[]>;
  /**
   * Where stores also hold what others put into them: attaches that to another store, too. Tells what could not be
   * attached, one sentence each.
   */
  carryOthers?(into: VectorStoreId, signal: AbortSignal): Promise<readonly string[]>;
  /** Where it lies on a disk of ours: reads a little of everything, and throws DamagedError when it cannot. */
  probe?(): Promise<void>;
  /** Present if the index retains removed documents: in case they return, or because a kept generation shows them. */
  readonly retained?: RetainedDocuments;
  /** Where commits are atomic: the earlier states that are kept. */
  readonly generations?: Generations;
  /**
   * To be called after commits, from a job: brings the vectors to the newest model while the old ones answer. Cheap when
   * there is nothing to do. `report` hears what is being done, if it takes long.
   */
  refreshVectors?(report: (line: string) => void, signal: AbortSignal): Promise<void>;
}

/** Documents that were removed from the active generation and are still in the store. */
export interface RetainedDocuments {
  /** Ends the grace period: the items are not retained for their return any more. Kept generations show them until they expire. */
  endGracePeriod(source: SourceId, items: readonly ItemId[]): Promise<void>;
  /**
   * Deletes the items from all generations, for good. Returns those that the active generation shows: they are left alone.
   * ConflictError while the store is rolled back.
   */
  purge(source: SourceId, items: readonly ItemId[]): Promise<readonly ItemId[]>;
  /** Lists, in pages, items that are retained but not visible. The items of a page may be purged before the next page is read. */
  listHidden(source: SourceId): AsyncIterable<readonly ItemId[]>;
  /** Deletes at once what no kept generation needs; commits do so little by little. Returns what that is; a dry run only counts it. */
  collectGarbage(options: GarbageOptions): Promise<Reclaimed>;
}

export interface GarbageOptions {
  readonly dryRun: boolean;
  /** Called between two slices of the work. If it throws, the rest is left for the next run. */
  readonly checkpoint?: () => Promise<void>;
}

/** What no reader could see, in all domains of a store. */
export interface Reclaimed {
  readonly documents: number;
  /** Texts with their passages and vectors. `bytes` is the size of the passages. */
  readonly texts: number;
  readonly bytes: number;
}

export interface DocumentCount {
  /** Documents of the domain; where the index cannot tell them apart, all that the store has. */
  readonly documents: number;
  /** undefined: the index does not tell. A source that is not in it has none. */
  readonly bySource?: ReadonlyMap<SourceId, number>;
}

/** One state of a store that readers saw, or see. */
export interface Generation {
  /** 1 for the first that was committed. Files attached over the wire belong to every generation. */
  readonly number: number;
  /** ISO 8601 UTC. */
  readonly committedAt: string;
  /** Whose commit it was. */
  readonly domainId: string;
  readonly sourceId: string;
  /** What tells the crawl it belongs to from others; "" when it was committed by itself. */
  readonly crawl: string;
  /** That crawl committed more after it: a state between two of its sources. */
  readonly intermediate: boolean;
  readonly added: number;
  readonly removed: number;
  /** false: rolled back, and gone when the rollback is released. */
  readonly visible: boolean;
}

export interface GenerationChange {
  readonly kind: "added" | "changed" | "removed";
  readonly sourceId: string;
  readonly itemId: ItemId;
  readonly name: string;
  readonly path: string;
}

/** One version of a document, as far as a kept generation shows it. */
export interface DocumentVersion {
  readonly sourceId: string;
  readonly itemId: ItemId;
  readonly fileId: FileId;
  readonly name: string;
  readonly path: string;
  readonly url: string;
  /** The number of the generation that brought it. */
  readonly since: number;
  /** That of the one that ended it, by a newer version or a removal; null: none did. */
  readonly until: number | null;
  /** The active generation shows it. */
  readonly visible: boolean;
}

/** An item, or what somebody calls a document: its name, path, address, item id or file id. */
export type DocumentWanted = { readonly sourceId: SourceId; readonly itemId: ItemId } | { readonly called: string };

export interface GenerationState {
  /** The number readers see; 0 before the first commit. */
  readonly active: number;
  /** Rolled back: nothing is activated until it is released. */
  readonly pinned: boolean;
}

export interface Generations {
  state(): Promise<GenerationState>;
  /** What can still be searched or gone back to, newest first. */
  list(): Promise<readonly Generation[]>;
  /** Readers see generation `number` from now on, and commits are refused until release(). BadInputError unless it is kept. */
  rollback(number: number): Promise<void>;
  /** Ends a rollback: what is active stays so, what lies above is gone, and the next embed puts again whatever was rolled back. */
  release(): Promise<void>;
  /** What somebody who saw `from` would see differently in `to`, in pages. BadInputError unless both are kept. */
  difference(from: number, to: number): AsyncIterable<readonly GenerationChange[]>;
  /** What is known of a document, newest first; at most 20. */
  versions(wanted: DocumentWanted): Promise<readonly DocumentVersion[]>;
}

export interface IndexDraft {
  /**
   * Nothing of an older version of the item survives the commit. Failures are reported by the commit: a permanent one
   * takes the old version away (nothing outdated is served), any other leaves it as it was.
   */
  put(file: DocumentFile, signal: AbortSignal): Promise<void>;
  /** Same bytes, new name or place: keeps the file id and embeds nothing. */
  relabel(itemId: ItemId, label: Label): Promise<void>;
  /** `mayReturn`: the item is hidden, and its text and vectors are retained until `retained.purge`, however many generations pass. */
  remove(itemId: ItemId, options?: { readonly mayReturn: boolean }): Promise<void>;
  /**
   * A draft that would leave nothing visible of a domain that had documents is refused (ConflictError), and so is any
   * while the store is rolled back (which a put may say already); then readers stay where they are. `allowEmpty`: that is meant.
   */
  commit(
    signal: AbortSignal,
    options?: { readonly allowEmpty: boolean },
  ): Promise<{ readonly ready: readonly IndexedRef[]; readonly failed: readonly FailedRef[] }>;
  discard(): Promise<void>;
}
