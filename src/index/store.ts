import type { Embedder } from "../contracts/embedder.ts";
import type { VectorStoreId } from "../contracts/ids.ts";
import type { SearchHit, SearchQuery } from "../contracts/search-index.ts";
import type { Schema, Sql, SqlDatabase, Values } from "../lib/sql/sql.ts";

/**
 * One vector store: its tables, which are the same in every database, and the two indexes over its passages, which each
 * database has in its own way. Everything below takes the Sql of the transaction it is to be part of.
 */
export interface Store {
  readonly db: SqlDatabase;
  readonly texts: TextIndex;
  readonly vectors: VectorIndex;
  readonly spaces: SpaceKeeper;
  /** The folder that paths of documents are relative to; see stored-path.ts. */
  readonly storageFolder: string;
  /** Where the store is searched, when not on this thread. */
  readonly search?: (query: SearchQuery) => Promise<SearchHit[]>;
}

/** The words of something, as analyze() makes them: folded, stemmed, in reading order. */
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

/** Words one after the other; `beginning`: the last one may go on (`reisekost` finds `reisekostenabrechnung`). */
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

export interface Match {
  readonly id: number;
  /** BM25, above 0. */
  readonly score: number;
}

/** Finds passages and documents by their words. */
export interface TextIndex {
  addChunks(sql: Sql, chunks: readonly ChunkWords[]): Promise<void>;
  removeChunks(sql: Sql, chunkIds: readonly number[]): Promise<void>;
  addLabels(sql: Sql, labels: readonly LabelWords[]): Promise<void>;
  removeLabels(sql: Sql, documentIds: readonly number[]): Promise<void>;
  /** Chunks, best first; headings count more. `among`: only chunks of these bodies. */
  matchChunks(sql: Sql, query: WordQuery, limit: number, among?: Selection): Promise<Match[]>;
  /** Documents by name, path and title, best first. `among`: only these documents. */
  matchLabels(sql: Sql, query: WordQuery, limit: number, among?: Selection): Promise<Match[]>;
  /** How many chunks have the word, for each that any has; of words that do not occur nothing is said. */
  countWords(sql: Sql, words: readonly string[]): Promise<Map<string, number>>;
  /** Words of the store that share character triples with this one, most first: candidates for typos and compounds. */
  similarWords(sql: Sql, word: string, limit: number): Promise<string[]>;
}

export interface ChunkVector {
  readonly chunkId: number;
  readonly bodyId: number;
  /** Of length 1, or 0 for text without any feature. */
  readonly vector: Float32Array;
}

export interface Near {
  readonly chunkId: number;
  readonly bodyId: number;
  /** Cosine. */
  readonly similarity: number;
}

/** Finds passages by their vectors, within one space. */
export interface VectorIndex {
  add(sql: Sql, spaceId: number, vectors: readonly ChunkVector[]): Promise<void>;
  /** From every space. */
  remove(sql: Sql, chunkIds: readonly number[]): Promise<void>;
  /** Everything of a space. */
  drop(sql: Sql, spaceId: number): Promise<void>;
  /** The closest first. `among`: only chunks of these bodies. */
  nearest(
    sql: Sql,
    space: { readonly id: number; readonly dimensions: number },
    query: Float32Array,
    limit: number,
    among?: Selection,
  ): Promise<Near[]>;
  /** The cosines of these chunks, in their order; 0 where there is no vector. */
  similarities(
    sql: Sql,
    space: { readonly id: number; readonly dimensions: number },
    query: Float32Array,
    chunkIds: readonly number[],
  ): Promise<number[]>;
}

/** A set of vectors made by one revision of one model. One space of a store is active: it answers, and new text goes into it. */
export interface Space {
  readonly id: number;
  readonly embedder: Embedder;
}

export interface SpaceKeeper {
  /** The active space. Makes the first one in an empty store. */
  active(sql: Sql): Promise<Space>;
  /** See Index.refreshVectors. Whenever it is killed, the space that was active goes on answering. */
  refresh(store: Store, report: (line: string) => void, signal: AbortSignal): Promise<void>;
}

/** Where vector stores live: a folder of SQLite files, or a PostgreSQL database with a schema for each store. */
export interface StoreHouse {
  /**
   * Makes the tables when they are not there. The same object for the same store, until it is dropped; it may be kept for
   * any time. What it takes (files, memory) the house frees between uses: from the call of a statement or a transaction
   * of its `db` to its end the store is in use.
   */
  open(id: VectorStoreId): Promise<Store>;
  /** With everything in it. One that is not there is fine. */
  drop(id: VectorStoreId): Promise<void>;
  /** A set of tables beside the stores, made when they are not there: `catalog`, `queue`. */
  openTables(name: string, tables: (dialect: Sql["dialect"]) => Schema): Promise<SqlDatabase>;
  close(): Promise<void>;
}
