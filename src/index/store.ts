import type { Embedder } from "../contracts/embedder.ts";
import type { VectorStoreId } from "../contracts/ids.ts";
import type { SearchHit, SearchQuery } from "../contracts/search-index.ts";
import type { Schema, Sql, SqlDatabase, Values } from "../lib/sql/sql.ts";

/**
 * One vector store: its tables, which are the same in every database, and two indexes over its passages, which each database
 * implements. All methods take the Sql of the caller's transaction.
 */
export interface Store {
  readonly db: SqlDatabase;
  readonly texts: TextIndex;
  readonly vectors: VectorIndex;
  readonly spaces: SpaceKeeper;
  /** The folder that paths of documents are relative to; see storedPath. */
  readonly storageFolder: string;
  /** Searches the store on another thread; undefined: on this one. */
  readonly search?: (query: SearchQuery) => Promise<SearchHit[]>;
}

/** Words as analyze() returns them: folded, stemmed, in reading order. */
export type Words = readonly string[];

interface ChunkWords {
  readonly chunkId: number;
  readonly headings: Words;
  readonly text: Words;
}

export interface LabelWords {
  readonly documentId: number;
  readonly name: Words;
  readonly path: Words;
  readonly title: Words;
}

/** Consecutive words; `beginning`: the last one is a prefix (`reisekost` finds `reisekostenabrechnung`). */
export interface Phrase {
  readonly words: Words;
  readonly beginning: boolean;
}

export interface WordQuery {
  /** More of them rank higher. */
  readonly any: readonly Phrase[];
  /** Each must occur. */
  readonly all: readonly Phrase[];
}

/** A SELECT of ids, for `… IN (<sql>)`; its placeholders begin at $1. */
export interface Selection {
  readonly sql: string;
  readonly values: Values;
}

export interface TextMatch {
  readonly id: number;
  /** BM25, above 0. */
  readonly score: number;
}

/** Full-text index over passages and document labels. */
export interface TextIndex {
  addChunks(sql: Sql, chunks: readonly ChunkWords[]): Promise<void>;
  removeChunks(sql: Sql, chunkIds: readonly number[]): Promise<void>;
  addLabels(sql: Sql, labels: readonly LabelWords[]): Promise<void>;
  removeLabels(sql: Sql, documentIds: readonly number[]): Promise<void>;
  /** Returns chunks, best first; headings count more. `among`: only chunks of these bodies. */
  matchChunks(sql: Sql, query: WordQuery, limit: number, among?: Selection): Promise<TextMatch[]>;
  /** Returns documents by name, path and title, best first. `among`: only these documents. */
  matchLabels(sql: Sql, query: WordQuery, limit: number, among?: Selection): Promise<TextMatch[]>;
  /** Returns how many chunks have each word; words that do not occur are left out. */
  countWords(sql: Sql, words: readonly string[]): Promise<Map<string, number>>;
  /** Returns words of the store that share character trigrams with this one, most first: candidates for typos and compounds. */
  similarWords(sql: Sql, word: string, limit: number): Promise<string[]>;
  /**
   * Forgets words that no passage or label has any more, wherever they are still stored. In several transactions; costs what the
   * whole store has.
   */
  dropLostWords(db: SqlDatabase): Promise<void>;
}

export interface ChunkVector {
  readonly chunkId: number;
  readonly bodyId: number;
  /** Its length is 1, or 0 for a text without features. */
  readonly vector: Float32Array;
}

export interface VectorMatch {
  readonly chunkId: number;
  readonly bodyId: number;
  /** Cosine. */
  readonly similarity: number;
}

/** Vector index over passages, within one space. */
export interface VectorIndex {
  add(sql: Sql, spaceId: number, vectors: readonly ChunkVector[]): Promise<void>;
  /** Removes the chunks from every space. */
  remove(sql: Sql, chunkIds: readonly number[]): Promise<void>;
  /** Removes all vectors of a space. */
  drop(sql: Sql, spaceId: number): Promise<void>;
  /** Returns the nearest chunks, closest first. `among`: only chunks of these bodies. */
  nearest(
    sql: Sql,
    space: { readonly id: number; readonly dimensions: number },
    query: Float32Array,
    limit: number,
    among?: Selection,
  ): Promise<VectorMatch[]>;
  /** Returns the cosines of these chunks, in their order; 0 where there is no vector. */
  similarities(
    sql: Sql,
    space: { readonly id: number; readonly dimensions: number },
    query: Float32Array,
    chunkIds: readonly number[],
  ): Promise<number[]>;
}

/** The vectors made by one revision of one model. One space of a store is active: searches use it, and new text is added to it. */
export interface Space {
  readonly id: number;
  readonly embedder: Embedder;
}

export interface SpaceKeeper {
  /**
   * Returns the active space; creates the first one of an empty store. `adding`: how many passages the caller is about to add, which may be
   * so many that other vectors will replace theirs.
   */
  active(sql: Sql, adding?: number): Promise<Space>;
  /** Returns a space that may not be active yet; undefined if it is gone. */
  find(sql: Sql, spaceId: number): Promise<Space | undefined>;
  /**
   * See Index.refreshVectors. If it is killed, the active space stays active. `mayAnswer` is asked before another space becomes active;
   * if it may not, it stays for the next refresh.
   */
  refresh(
    store: Store,
    report: (line: string) => void,
    signal: AbortSignal,
    mayAnswer?: (spaceId: number) => Promise<boolean>,
  ): Promise<void>;
  /**
   * Forgets what was learnt from the store's texts; the next refresh learns it anew, and until then words alone answer. Returns
   * whether there was anything.
   */
  forgetLearnt(store: Store): Promise<boolean>;
}

/** Opens vector stores: a folder of SQLite files, or a PostgreSQL database with one schema per store. */
export interface StoreProvider {
  /**
   * Opens a store; creates its tables if they are missing. Returns the same object until the store is dropped; callers may keep
   * it. The provider frees its files and memory while no statement or transaction of its `db` is running.
   */
  open(id: VectorStoreId): Promise<Store>;
  /** Deletes the store and its contents. Succeeds if there is none. */
  drop(id: VectorStoreId): Promise<void>;
  /** Opens a set of tables beside the stores (`catalog`, `queue`); creates them if they are missing. */
  openTables(name: string, tables: (dialect: Sql["dialect"]) => Schema): Promise<SqlDatabase>;
  close(): Promise<void>;
}
