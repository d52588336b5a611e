import type { WordCounts } from "./answer.ts";
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
  /** Returns the text that this revision of the extractor made from these bytes before; undefined if there is none. */
  readonly cachedText?: (extractor: string) => Promise<ExtractedDocument | undefined>;
  /** Extraction has failed often enough: one more failure is permanent. */
  readonly isLastTry?: boolean;
  /** The backend has these bytes under this id, for another store: attach that file instead of uploading again. */
  readonly knownFileId?: FileId;
  /**
   * Force: text, sections, passages and vectors are made anew even if the index has them for these bytes. They replace those
   * wherever they are shown: in other documents with the same content, and in every kept generation.
   */
  readonly isAnew?: boolean;
}

/** Metadata that may change without the content: shown in results and searched, never embedded. */
export interface Label {
  readonly name: string;
  /** Below the source's root, `/`-separated. */
  readonly path: string;
  /** "" when unknown: a document keeps the one that it has. */
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
  /** File type that the bytes were read as; undefined if the index does not know. */
  readonly fileType?: string;
  /** Path and URL shown in results; undefined if the index does not know. */
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
  /** The extractor ran out of time or memory, or crashed. */
  readonly byReader?: boolean;
  /** The file does not have the hash that was given. */
  readonly isAltered?: boolean;
}

export interface SearchQuery {
  readonly text: string;
  /** 1 to 50. */
  readonly limit: number;
  readonly filter?: AttributeFilter;
  /** 0 to 1; hits below are left out. */
  readonly scoreThreshold?: number;
  /** Only documents that meet all of these conditions. */
  readonly scope?: SearchScope;
  /** As of this generation instead of the one that is shown; only where commits are atomic. */
  readonly generation?: number;
  /** As readers would find it after a change that is not visible yet; only where commits are atomic. */
  readonly preview?: Preview;
  /** Search by words, by vectors, or (undefined) by both. */
  readonly using?: "text" | "vectors";
  /** A passage that several documents share is a hit for each of them, as in the wire protocol. */
  readonly unfolded?: boolean;
  /** Ends the search with CancelledError. */
  readonly signal?: AbortSignal | undefined;
  /** Gets notes for the user about the result, one sentence each. */
  readonly tell?: (note: string) => void;
}

/** A draft that is not committed (by its `generationId`), or vectors that are not used yet (by the id of their space). */
export interface Preview {
  readonly draft?: string;
  readonly vectors?: number;
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
  /** Only from the embedded index. */
  readonly details?: HitDetails;
}

export interface HitDetails {
  /** Offsets of the query's words in `text`, in order, not overlapping. */
  readonly highlights: readonly { readonly start: number; readonly end: number }[];
  /** Parts of the score, each 0 to 1, before weighting. */
  readonly parts: { readonly text: number; readonly vector: number; readonly label: number };
  /** From the document itself: front matter, properties, first heading; "" when it has none. */
  readonly title: string;
  /** Below the source's root; "" for files attached over the wire. */
  readonly path: string;
  /** "" for files attached over the wire. */
  readonly url: string;
  /** ISO 8601 UTC, "" when unknown. */
  readonly modifiedAt: string;
  /** Page of a pdf, from 1; 0 if there are no pages. */
  readonly page: number;
  /** ISO 639-1, "" when the text is too short to tell. */
  readonly language: string;
  /** The generation that was searched: its number, and its UUID. */
  readonly generation: number;
  readonly generationId: string;
  /** The document's identity; the source is "" for a file that was attached over the wire. */
  readonly sourceId: string;
  readonly itemId: ItemId;
  /** Counts the passages of the document from 0. */
  readonly position: number;
  /** Other documents with (nearly) the same passage, which are not separate hits. */
  readonly alsoIn: readonly { readonly fileId: FileId; readonly name: string; readonly path: string }[];
}

/** A document that readers see. What the index does not know is "". */
export interface IndexedDocument {
  readonly fileId: FileId;
  /** "" for a file that others attached; its item id is the file id. */
  readonly sourceId: string;
  readonly itemId: ItemId;
  readonly name: string;
  readonly path: string;
  readonly url: string;
  /** As the document names itself. */
  readonly title: string;
  /** ISO 8601 UTC. */
  readonly modifiedAt: string;
  /** Extension without dot, lower-case. */
  readonly fileType: string;
  /** ISO 639-1. */
  readonly language: string;
}

/** Lengths are in characters (code points) of the text as it was indexed: headings and contents as Markdown. */
export interface TextPart {
  readonly text: string;
  readonly offset: number;
  /** The length of the whole text. */
  readonly total: number;
  /** The passage that was asked for, if the index knows it. */
  readonly passage?: CitedPassage;
}

export interface CitedPassage {
  readonly text: string;
  /** Page number; 0 if unknown or the document has no pages. */
  readonly page: number;
}

/** `passage`: begin so that this passage (its `position`) is within; an explicit `offset` comes before it. */
export interface TextRange {
  readonly offset?: number | undefined;
  readonly passage?: number | undefined;
  readonly limit: number;
}

/** Documents as readers see them now. Nothing is read but what is returned. */
export interface ReadableDocuments {
  /** Lists a page, in a fixed order. `after`: `next` of the page before; BadInputError if it is none. */
  list(page: {
    readonly after?: string | undefined;
    readonly limit: number;
  }): Promise<{ readonly documents: readonly IndexedDocument[]; readonly next?: string }>;
  /** undefined: readers see no such document. */
  find(fileId: FileId): Promise<IndexedDocument | undefined>;
  /** undefined: readers see no such document. */
  read(fileId: FileId, range: TextRange): Promise<TextPart | undefined>;
  /** Present if the index knows when documents were modified: the last ones, newest first. Looks at all of them. */
  recent?(limit: number): Promise<readonly IndexedDocument[]>;
  /** Present if it is cheap: changes whenever readers may see something else. */
  revision?(): Promise<string>;
}

/** One vector store as the crawler sees it. */
export interface Index {
  /** atomic: a draft becomes visible at once. gradual: readers may see duplicates during a commit, but nothing is ever missing. */
  readonly commits: "atomic" | "gradual";
  /**
   * Opens a draft of one source; cleans up what a crashed run left of the last one. `crawl` is the same for all commits of one
   * crawl, whose generations are kept or dropped together.
   */
  draft(source: SourceId, crawl?: string): Promise<IndexDraft>;
  /** Present if commits are atomic: drafts of several sources that become visible in one moment. */
  readonly crawlDrafts?: CrawlDrafts;
  /** Lists the documents of this source in the newest generation, in pages. */
  holdings(source: SourceId): AsyncIterable<readonly IndexedRef[]>;
  /** Returns the sources of the domain that have documents in the newest generation. */
  sources(): Promise<ReadonlySet<SourceId>>;
  /** For verify: compares what is stored of a source with what its bytes give. */
  openAudit?(source: SourceId): Promise<IndexAudit>;
  /** Present if commits are atomic. During a rollback, readers see an earlier generation than the newest. */
  readonly shown?: ShownDocuments;
  /** Counts the documents that readers see. Cheap: nothing is listed, and counts are cached. */
  count(): Promise<DocumentCount>;
  search(query: SearchQuery): Promise<SearchHit[]>;
  /** Present if the index knows how common words are: those of a question, among all passages of the store. */
  countWords?(text: string): Promise<WordCounts>;
  /** Present if the index knows titles: those of these documents, without those that have none. */
  titles?(files: readonly FileId[]): Promise<ReadonlyMap<FileId, string>>;
  /** Absent only where nothing is read. */
  readonly documents?: ReadableDocuments;
  /**
   * Present if stores may hold files of others: attaches those to another store too. Returns a message for each file that
   * could not be attached.
   */
  carryOthers?(into: VectorStoreId, signal: AbortSignal): Promise<readonly string[]>;
  /** Present if the index is on a local disk: reads a few rows of everything. Throws DamagedError if it cannot. */
  probe?(): Promise<void>;
  /** Present if the index retains removed documents: in case they return, or because a kept generation shows them. */
  readonly retained?: RetainedDocuments;
  /** Present if commits are atomic: the generations that are kept. */
  readonly generations?: Generations;
  /**
   * Re-embeds with the newest model while searches use the old vectors. Called after commits, from a job. Cheap if there is
   * nothing to do. `report` gets progress messages. `mayAnswer` is asked before searches use the new vectors: if it returns false,
   * they are kept, and the next refresh asks again.
   */
  refreshVectors?(
    report: (line: string) => void,
    signal: AbortSignal,
    mayAnswer?: (preview: Preview) => Promise<boolean>,
  ): Promise<void>;
}

/** Looks documents up, among those that readers are shown or in the newest generation: only a rollback makes them differ. */
export interface ShownDocuments {
  /** Returns those of these items that the newest generation has, or will have after the preview. */
  newest(source: SourceId, items: readonly ItemId[], preview?: Preview): Promise<readonly IndexedRef[]>;
  /** Returns the documents of the newest generation that have this file id, item id, path, URL or name, or of what it will be after the preview; at most 20. */
  called(name: string, source?: SourceId, preview?: Preview): Promise<SectionsFound["documents"]>;
  /** Returns those of these items that readers are shown. */
  of(source: SourceId, items: readonly ItemId[]): Promise<readonly IndexedRef[]>;
  /** Throws BadInputError for a generation that is not kept. */
  sections(wanted: SectionsWanted): Promise<SectionsFound>;
}

/** One page of the sections of a document. */
export interface SectionsWanted {
  /** A file id, item id, path, URL or name. */
  readonly called: string;
  readonly sourceId?: SourceId | undefined;
  /** As of this generation; undefined: as readers are shown them now. */
  readonly generation?: number | undefined;
  readonly offset: number;
  readonly limit: number;
}

export interface SectionsFound {
  /** The documents that are called so, at most 20. */
  readonly documents: readonly {
    readonly sourceId: string;
    readonly itemId: ItemId;
    readonly fileId: FileId;
    readonly path: string;
  }[];
  /** Those of the only document, in reading order; none if there are several. */
  readonly sections: readonly DocumentSection[];
  readonly total: number;
}

/** A heading with its content; a section without content has others below it. */
export interface DocumentSection {
  /** A UUID that follows from file id and position: documents with the same content have sections of their own. */
  readonly id: string;
  /** null: the root of the document, which has no heading. */
  readonly parentId: string | null;
  readonly position: number;
  readonly heading: string;
  /** 0 for the root, else 1 to 6. */
  readonly level: number;
  readonly content: string;
}

/** Documents that the newest generation does not have any more, and that are still in the store. */
export interface RetainedDocuments {
  /** Ends the grace period: the items are not retained for their return any more. Kept generations show them until they expire. */
  endGracePeriod(source: SourceId, items: readonly ItemId[]): Promise<void>;
  /** Deletes the remaining rows of the items, except of those that a kept generation shows, and returns these. A dry run only returns them. */
  purge(source: SourceId, items: readonly ItemId[], options?: { readonly dryRun: boolean }): Promise<readonly ItemId[]>;
  /** Lists, in pages, items that are retained but not visible. The items of a page may be purged before the next page is read. */
  listHidden(source: SourceId): AsyncIterable<readonly ItemId[]>;
  /**
   * Deletes the items from all generations, the shown and kept ones included, with everything that was made of them: texts, vectors, words that
   * occur nowhere else, what was learnt from them. Each kept generation that showed one says from then on how many were erased from
   * it. Repeatable after a kill. A dry run only counts.
   */
  erase(source: SourceId, items: readonly ItemId[], options: { readonly dryRun: boolean }): Promise<ErasedDocuments>;
  /** Returns what the items were ever called here, for finding where else they are named. */
  describe(source: SourceId, item: ItemId): Promise<readonly ItemTraces[]>;
  /** Yields the texts of all its versions, in pieces. */
  texts(source: SourceId, item: ItemId): AsyncIterable<string>;
  /** In pages: items of the domain in whose text or name these words occur, in any generation. */
  mentioning(text: string): AsyncIterable<readonly { readonly sourceId: SourceId; readonly itemId: ItemId }[]>;
  /** Documents of the store, of any domain, that were made of these bytes. */
  withContent(hashes: readonly string[]): Promise<readonly CopyOfDocument[]>;
  /** Deletes at once what no kept generation needs; commits do so little by little. Returns what that is; a dry run only counts it. */
  collectGarbage(options: GarbageOptions): Promise<Reclaimed>;
}

export interface ErasedDocuments {
  /** Versions of the items. */
  readonly documents: number;
  /** How many documents each kept generation lost. */
  readonly generations: readonly { readonly number: number; readonly documents: number }[];
}

export interface ItemTraces {
  readonly name: string;
  readonly path: string;
  readonly url: string;
  readonly fileId: FileId;
  readonly sha256: string;
}

export interface CopyOfDocument {
  /** "" for a file that was attached over the wire. */
  readonly domainId: string;
  readonly sourceId: string;
  readonly itemId: ItemId;
  readonly fileId: FileId;
  readonly name: string;
  readonly path: string;
}

export interface GarbageOptions {
  readonly dryRun?: boolean;
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
  /** Documents of the domain; all documents of the store if the index cannot tell them apart. */
  readonly documents: number;
  /** undefined if the index does not know. A source without an entry has none. */
  readonly bySource?: ReadonlyMap<SourceId, number>;
}

/** A committed state of a store. */
export interface Generation {
  /** 1 for the first that was committed; they only grow. Files attached over the wire belong to every generation. */
  readonly number: number;
  /** A UUID: unlike the number, no generation of another store, or of one that was made anew, has it. */
  readonly generationId: string;
  /** ISO 8601 UTC. */
  readonly committedAt: string;
  readonly domainId: string;
  /** The only source that changed; "" if there are several. */
  readonly sourceId: string;
  /** Id of the crawl; "" for a single commit. */
  readonly crawl: string;
  /** The crawl committed more sources after it. */
  readonly intermediate: boolean;
  readonly added: number;
  readonly removed: number;
  /** How many of its documents were erased since. */
  readonly erased: number;
  /** false: a rollback keeps it from readers until it is released. */
  readonly visible: boolean;
}

export interface GenerationChange {
  readonly kind: "added" | "changed" | "removed";
  readonly sourceId: string;
  readonly itemId: ItemId;
  readonly name: string;
  readonly path: string;
}

/** One version of a document that a kept generation shows. */
export interface DocumentVersion {
  readonly sourceId: string;
  readonly itemId: ItemId;
  readonly fileId: FileId;
  readonly name: string;
  readonly path: string;
  readonly url: string;
  /** Number of the generation that added it. */
  readonly since: number;
  /** Number of the generation that replaced or removed it; null: none. */
  readonly until: number | null;
  /** Readers see it. */
  readonly visible: boolean;
}

/** An item, or what a user calls a document: its name, path, URL, item id or file id. */
export type DocumentWanted = { readonly sourceId: SourceId; readonly itemId: ItemId } | { readonly called: string };

export interface GenerationState {
  /** The generation that readers see, and its UUID; 0 before the first commit. */
  readonly shown: number;
  readonly shownId: string;
  /** The generation that was committed last: what crawls build on. */
  readonly newest: number;
  readonly newestId: string;
  /** Rolled back: whatever is committed, readers see `shown` until release(). */
  readonly pinned: boolean;
}

export interface Generations {
  state(): Promise<GenerationState>;
  /** Lists the generations that can be searched or rolled back to, newest first. */
  list(): Promise<readonly Generation[]>;
  /** Shows readers generation `number` until release(), whatever is committed. Throws BadInputError unless it is kept. */
  rollback(number: number): Promise<void>;
  /** Shows readers the newest generation again, at once. */
  release(): Promise<void>;
  /** Lists the changes between two generations, in pages. Throws BadInputError unless both are kept. */
  difference(from: number, to: number): AsyncIterable<readonly GenerationChange[]>;
  /** Lists the versions of a document, newest first; at most 20. */
  versions(wanted: DocumentWanted): Promise<readonly DocumentVersion[]>;
}

/** The drafts of crawls, of all processes that have the domain's store open. */
export interface CrawlDrafts {
  /** `crawl`: see Index.draft. */
  open(crawl: string): Promise<CrawlDraft>;
  /** Returns the ids of drafts of the domain that were neither committed nor swept; crawls may be filling them. `before`: only those that were begun before. */
  listOpen(before?: Date): Promise<readonly string[]>;
  /** How many documents an open draft brings or takes away; 0 if it is not open any more. Others may have taken up what it had. */
  count(generationId: string): Promise<number>;
  /** Deletes drafts whose crawls are dead. Until then their texts and vectors stay, and are reused. */
  sweep(generationIds: readonly string[]): Promise<void>;
}

/**
 * One generation that the sources of a crawl fill, one after the other. It is not the only one who changes them: an item that another
 * draft takes up leaves this one, so the last to write an item has it. If it is never committed, it changes nothing for readers.
 */
export interface CrawlDraft {
  /** A UUID, which the generation will have. */
  readonly generationId: string;
  source(source: SourceId): Promise<SourceDraft>;
  /** What is staged so far. */
  changes(): Promise<DraftChanges>;
  /**
   * Moves additions and changes into a draft of their own, which stays, with texts and vectors, until it is swept. A document that lost
   * its text is a change. What is left are removals, and additions with the content of what is removed: documents that moved from one
   * source to another.
   */
  hold(): Promise<HeldDraft>;
  /**
   * Makes what the sources staged visible, all of it or nothing. Returns the number of the generation, or null if nothing has changed.
   * Throws as IndexDraft.commit.
   */
  commit(signal: AbortSignal, options?: { readonly allowEmpty: boolean }): Promise<number | null>;
}

/** Documents that a draft brings, new or instead of others, and documents that it takes away. */
export interface DraftChanges {
  readonly brought: number;
  readonly removed: number;
}

export interface HeldDraft {
  readonly generationId: string;
  readonly documents: number;
}

/** The part of one source in the draft of a crawl, which makes it visible. `discard` takes the source out of that. */
export type SourceDraft = Omit<IndexDraft, "commit">;

export interface StoredDocument extends IndexedRef {
  readonly label: Omit<Label, "attributes">;
}

export interface IndexDraft {
  /**
   * Replaces the item's document at the commit, which also reports failures: a permanent failure removes the old version
   * (nothing outdated is served), any other leaves it as it is.
   */
  put(file: DocumentFile, signal: AbortSignal): Promise<void>;
  /** Same bytes, new name or path: keeps the file id and embeds nothing. */
  relabel(itemId: ItemId, label: Label): Promise<void>;
  /** `mayReturn`: the item is hidden, and its text and vectors are retained until `retained.purge`, however many generations pass. */
  remove(itemId: ItemId, options?: { readonly mayReturn: boolean }): Promise<void>;
  /**
   * Writes what was asked so far. Returns what failed of all of it; a later put of the item may still succeed. Where commits are gradual,
   * readers see what was put; what is replaced goes then, what is removed with the commit.
   */
  stage(signal: AbortSignal, options?: { readonly allowEmpty: boolean }): Promise<readonly FailedRef[]>;
  /** Returns the documents of these items in the store: before the commit as the draft has them, after it as the store has them by then (where commits are gradual: as this draft left them). */
  stored(items: readonly ItemId[]): Promise<readonly StoredDocument[]>;
  /**
   * Throws ConflictError, without any change for readers, if nothing of a domain that had documents would be left (unless
   * `allowEmpty`). `ready`: at least what was put since it was staged last.
   */
  commit(
    signal: AbortSignal,
    options?: { readonly allowEmpty: boolean },
  ): Promise<{ readonly ready: readonly IndexedRef[]; readonly failed: readonly FailedRef[] }>;
  discard(): Promise<void>;
}
